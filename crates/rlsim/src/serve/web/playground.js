// Asks the simulator for a comparison, and shows its table and chart. What was asked stands in the address of the page.

const ALGORITHMS = ["fixed-window", "sliding-log", "sliding-counter", "token-bucket", "leaky-bucket"];
const FIELDS = ["pattern", "seconds", "clients", "seed", "limit"];

let running = false;

const element = (id) => document.getElementById(id);

function chosenAlgorithms() {
  return [...document.querySelectorAll("#compared input:checked")].map((box) => box.value);
}

function scenario() {
  const fields = Object.fromEntries(FIELDS.map((id) => [id, element(id).value]));
  return { ...fields, algorithms: chosenAlgorithms().join(",") };
}

function query({ pattern, seconds, clients, seed, limit, algorithms }) {
  const asked = new URLSearchParams({ limit, algorithms });
  if (pattern !== "upload") asked.set("generate", `${pattern} --duration ${seconds}s --clients ${clients} --seed ${seed}`);
  return asked;
}

async function run(event) {
  event?.preventDefault();
  const asked = scenario();
  const upload = asked.pattern === "upload" ? element("upload").files[0] : null;
  if (asked.pattern === "upload" && !upload) return say("Choose a file first.");
  if (asked.algorithms === "") return say("Choose at least one algorithm.");
  if (upload && upload.size > 1024 * 1024) return say("The file is larger than 1 MiB.");
  history.replaceState(null, "", "#" + new URLSearchParams(asked));
  if (running) return;
  running = true;
  element("run").setAttribute("aria-disabled", "true");
  say("Comparing…");
  try {
    const options = upload ? { method: "POST", body: upload } : {};
    show(await (await fetch(`/api/compare?${query(asked)}`, { ...options, cache: "no-store" })).json());
  } catch {
    say("The server did not answer in time.");
  } finally {
    running = false;
    element("run").setAttribute("aria-disabled", "false");
  }
}

function show(answer) {
  if (answer.error) {
    element("result").hidden = true;
    return say(answer.error);
  }
  const trace = answer.report.meta.trace;
  say(`${trace.events} requests of ${trace.clients} ${trace.clients === 1 ? "client" : "clients"}.`);
  element("table").textContent = answer.table;
  element("chart").src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(answer.svg);
  element("chart").alt = "Chart of the same numbers: " + answer.table;
  element("result").hidden = false;
}

function say(text) {
  element("outcome").textContent = text;
}

function offer(algorithm) {
  const box = document.createElement("input");
  box.type = "checkbox";
  box.value = algorithm;
  box.checked = true;
  const label = document.createElement("label");
  label.append(box, algorithm.replace("-", " "));
  return label;
}

// The scenario in the address, if there is one.
function restore() {
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const id of FIELDS.filter((id) => asked.has(id))) element(id).value = asked.get(id);
  if (element("pattern").value === "") element("pattern").selectedIndex = 0;
  if (asked.has("algorithms")) {
    const wanted = asked.get("algorithms").split(",");
    for (const box of document.querySelectorAll("#compared input")) box.checked = wanted.includes(box.value);
  }
  showUpload();
  if (asked.has("pattern") && asked.get("pattern") !== "upload") run();
}

function showUpload() {
  element("upload-row").hidden = element("pattern").value !== "upload";
}

element("compared").replaceChildren(...ALGORITHMS.map(offer));
element("playground").addEventListener("submit", run);
element("pattern").addEventListener("change", showUpload);
restore();
