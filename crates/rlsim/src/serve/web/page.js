// Sends requests, shows what came back, and steps through what the server says about them. Nothing is decided here.

import { draw } from "./picture.js";

const FIELDS = [
  "Retry-After",
  "RateLimit-Policy",
  "RateLimit",
  "RateLimit-Limit",
  "RateLimit-Remaining",
  "RateLimit-Reset",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Decided-By",
];

const SCENARIOS = {
  // Nanoseconds; each with the policy that it is about.
  edge: {
    policy: (algorithm) => `${algorithm}:5/10s`,
    at: [...Array(5).fill("9900000000"), ...Array(5).fill("10100000000")],
  },
  five: {
    policy: (algorithm) => (algorithm.endsWith("bucket") ? `${algorithm}:1/1s,burst=3` : `${algorithm}:3/3s`),
    at: ["500000000", "1200000000", "2500000000", "2600000000", "2700000000"],
  },
};

const element = (id) => document.getElementById(id);

let policies = [];
let chosen = null;
let client = "";
let requests = [];
let passesAt = null;
let sendLater = false;
let story = { steps: [] };
let asked = 0;
let step = 0;
let playing = null;
let ticking = null;

function newClient() {
  const bytes = crypto.getRandomValues(new Uint8Array(4));
  client = "demo-" + [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  element("client").textContent = client;
  requests = [];
  passesAt = null;
  sendLater = false;
  // What was still to be sent was the other client's.
  rest();
  element("squares").replaceChildren();
  element("answer").hidden = true;
  say("Nothing sent yet.");
  tellStory();
}

// A button that is disabled outright would lose the focus of whoever has just pressed it.
function enable(id, enabled) {
  element(id).setAttribute("aria-disabled", String(!enabled));
}

function say(text) {
  if (element("status").textContent !== text) element("status").textContent = text;
}

// --- sending ---

async function send() {
  const request = { number: requests.length + 1, square: addSquare(requests.length + 1), allowed: null, at: null };
  requests.push(request);
  const sentBy = client;
  let response;
  try {
    response = await fetch(chosen.path, { headers: { "X-API-Key": client }, cache: "no-store" });
  } catch {
    request.square.textContent = "?";
    say("The server does not answer.");
    return;
  }
  if (sentBy !== client) return;
  request.allowed = response.ok;
  request.status = response.status;
  request.at = response.headers.get("X-Decided-At");
  request.fields = FIELDS.map((name) => [name, response.headers.get(name)]).filter(([, value]) => value !== null);
  // Not every refusal is the limiter's: an overloaded server has no problem body.
  request.problem = response.ok ? null : await response.json().catch(() => null);
  // Refused by the limit of the address: the client's own state was not touched.
  request.counts = response.ok || (request.problem?.["violated-policies"] ?? []).includes("client");
  showSquare(request);
  showAnswer(request);
  const wait = response.headers.get("Retry-After");
  if (response.ok) {
    if (passesAt === null) say(`Request ${request.number} was allowed.`);
  } else if (wait === null) {
    say(`Request ${request.number} was answered with status ${request.status}, and without a time to wait.`);
  } else {
    passesAt = performance.now() + Number(wait) * 1000;
    countDown();
  }
  if (element("scenario").value === "yours") tellStory();
}

function addSquare(number) {
  const square = document.createElement("button");
  square.type = "button";
  square.className = "square waiting";
  square.textContent = String(number);
  square.setAttribute("aria-label", `Request ${number}: waiting`);
  const item = document.createElement("li");
  item.append(square);
  element("squares").append(item);
  return square;
}

function showSquare(request) {
  const answer = request.allowed ? "allowed" : "refused";
  request.square.className = `square ${answer}`;
  request.square.textContent = `${request.allowed ? "✓" : "✕"}${request.number}`;
  request.square.setAttribute("aria-label", `Request ${request.number}: ${answer}, status ${request.status}`);
  request.square.addEventListener("click", () => showAnswer(request));
}

function showAnswer(request) {
  for (const other of requests) other.square.setAttribute("aria-pressed", String(other === request));
  element("answer").hidden = false;
  element("answer-title").textContent = `Request ${request.number}: ${request.status} ${request.allowed ? "allowed" : "refused"}`;
  const rows = request.fields.flatMap(([name, value]) => {
    const term = document.createElement("dt");
    term.textContent = name;
    const text = document.createElement("dd");
    text.textContent = value;
    return [term, text];
  });
  element("headers").replaceChildren(...rows);
}

// --- waiting as long as Retry-After says ---

function countDown() {
  if (passesAt === null) return;
  const left = Math.ceil((passesAt - performance.now()) / 1000);
  if (left > 0) {
    say(`Refused. Retry-After: the next request may pass in ${left} s.${sendLater ? " It will be sent then." : ""}`);
    return;
  }
  passesAt = null;
  say("The wait is over: the next request may pass.");
  if (sendLater) {
    sendLater = false;
    send();
  }
}

function steady() {
  if (ticking !== null) return;
  enable("steady", false);
  let left = 8;
  const tick = () => {
    send();
    left -= 1;
    if (left === 0) rest();
  };
  ticking = setInterval(tick, 1000);
  tick();
}

function rest() {
  clearInterval(ticking);
  ticking = null;
  enable("steady", true);
}

// --- the picture ---

async function tellStory() {
  const scenario = SCENARIOS[element("scenario").value];
  const yours = requests.filter((request) => request.counts && request.at !== null).sort(byDecision).slice(-200);
  const policy = scenario ? scenario.policy(chosen.algorithm) : chosen.policy;
  const at = scenario ? scenario.at : yours.map((request) => request.at);
  const query = new URLSearchParams({ policy, at: at.join(",") });
  asked += 1;
  const mine = asked;
  // Without an answer the old picture stays.
  const response = await fetch(`/api/story?${query}`, { cache: "no-store" }).catch(() => null);
  if (!response?.ok) return;
  const told = await response.json();
  // Answers may overtake one another: only the newest counts.
  if (mine !== asked) return;
  story = told;
  // The server decides in the order in which requests arrive, which is not that of their squares.
  story.numbers = scenario ? null : yours.map((request) => request.number);
  step = scenario ? 0 : Math.max(0, story.steps.length - 1);
  show();
}

// Earlier decisions first; of one instant, those who got what there was.
function byDecision(one, other) {
  const [a, b] = [BigInt(one.at), BigInt(other.at)];
  return a < b ? -1 : a > b ? 1 : Number(other.allowed) - Number(one.allowed);
}

function show() {
  const { steps } = story;
  element("caption").textContent = draw(element("picture"), story, step);
  element("place").textContent = steps.length ? `${step + 1} of ${steps.length}` : "";
  enable("first", step > 0);
  enable("previous", step > 0);
  enable("next", step + 1 < steps.length);
  enable("play", steps.length > 1);
}

function go(to) {
  step = Math.min(Math.max(to, 0), Math.max(story.steps.length - 1, 0));
  show();
}

function play() {
  if (story.steps.length < 2) return;
  if (playing !== null) return stop();
  if (step + 1 >= story.steps.length) go(0);
  element("play").textContent = "Pause";
  playing = setInterval(() => (step + 1 < story.steps.length ? go(step + 1) : stop()), 900);
}

function stop() {
  clearInterval(playing);
  playing = null;
  element("play").textContent = "Play";
}

// --- start ---

function choose(policy) {
  chosen = policy;
  element("policy").textContent = policy.policy;
  newClient();
}

function offer(policy, index) {
  const radio = document.createElement("input");
  radio.type = "radio";
  radio.name = "algorithm";
  radio.value = policy.algorithm;
  radio.checked = index === 0;
  radio.addEventListener("change", () => choose(policy));
  const label = document.createElement("label");
  label.append(radio, policy.algorithm.replace("-", " "));
  return label;
}

async function start() {
  const all = await (await fetch("/api/policies")).json();
  // The first is the chosen one, under its own path; among the others its algorithm occurs again.
  policies = all.slice(1);
  const first = policies.findIndex((policy) => policy.algorithm === all[0].algorithm);
  if (first >= 0) policies.splice(first, 1);
  policies.unshift(all[0]);
  element("algorithms").replaceChildren(...policies.map(offer));
  choose(policies[0]);
  element("one").addEventListener("click", send);
  element("ten").addEventListener("click", () => Array.from({ length: 10 }, send));
  element("steady").addEventListener("click", steady);
  element("newcomer").addEventListener("click", newClient);
  element("later").addEventListener("click", () => {
    if (passesAt === null) return send();
    sendLater = true;
    countDown();
  });
  element("scenario").addEventListener("change", tellStory);
  element("first").addEventListener("click", () => go(0));
  element("previous").addEventListener("click", () => go(step - 1));
  element("next").addEventListener("click", () => go(step + 1));
  element("play").addEventListener("click", play);
  setInterval(countDown, 200);
  document.documentElement.dataset.ready = "true";
}

start();
