// Draws one step of a story: what was there, what the request took, and when everything happened. All numbers are the
// server's.

const SVG = "http://www.w3.org/2000/svg";
const [LEFT, RIGHT, AXIS, ROOF] = [16, 384, 236, 160];

// Draws step `index` of the story, and returns what it shows in words.
export function draw(svg, story, index) {
  svg.replaceChildren();
  const step = story.steps[index];
  svg.toggleAttribute("hidden", !step);
  if (!step) return "Send some requests, and they are taken apart here.";
  const time = timeline(story);
  if (story.algorithm.endsWith("bucket")) drawBucket(svg, story, step);
  else drawCounts(svg, story, step);
  drawTimeline(svg, story, index, time);
  return words(story, step, index, time);
}

function add(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

// --- what is there: a bucket with a level ---

function drawBucket(svg, story, step) {
  const [x, y, width, height] = [24, 18, 90, 112];
  const leaky = story.algorithm === "leaky-bucket";
  // A token bucket shows what is left, a queue what waits in it.
  const shown = (picture) => (leaky ? story.capacity * 1000 - picture.level_milli : picture.level_milli);
  const share = (picture) => shown(picture) / (story.capacity * 1000);
  const top = (picture) => y + height * (1 - Math.min(1, share(picture)));
  add(svg, "rect", { class: "water", x, y: top(step.after), width, height: y + height - top(step.after) });
  add(svg, "line", { class: "before", x1: x - 6, x2: x + width + 6, y1: top(step.before), y2: top(step.before) });
  add(svg, "path", { class: "frame", d: `M${x} ${y} V${y + height} H${x + width} V${y}` });
  const units = leaky ? "waiting" : "tokens";
  const lines = [
    `${units} before: ${milli(shown(step.before))}`,
    leaky ? (step.allowed ? "the request joins the queue" : "the queue is full") : step.allowed ? "the request spends 1" : "1 is needed: nothing is spent",
    `${units} after: ${milli(shown(step.after))} of ${story.capacity}`,
    `${leaky ? "drains" : "refills"} ${story.limit} per ${duration(story.window_ns)}`,
  ];
  lines.forEach((line, i) => add(svg, "text", { x: 140, y: 40 + 24 * i }, line));
}

// --- what is there: places in a window ---

function drawCounts(svg, story, step) {
  const capacity = story.capacity;
  const cells = Math.min(capacity, 20);
  const [columns, size] = [Math.min(cells, 10), 28];
  const used = Math.round((step.after.used / capacity) * cells);
  for (let i = 0; i < cells; i += 1) {
    const [x, y] = [24 + (i % columns) * (size + 4), 16 + Math.floor(i / columns) * (size + 4)];
    add(svg, "rect", { class: i < used ? "used" : "free", x, y, width: size, height: size, rx: 4 });
  }
  const counted = { "fixed-window": "in this window", "sliding-log": "in the last " + duration(story.window_ns), "sliding-counter": "estimated in the last " + duration(story.window_ns) };
  const below = 16 + Math.ceil(cells / columns) * (size + 4) + 16;
  add(svg, "text", { x: 24, y: below }, `${step.after.used} of ${capacity} ${counted[story.algorithm]}`);
  add(svg, "text", { x: 24, y: below + 22 }, step.allowed ? "room for it: the request is counted" : "no room: the request is not counted");
}

// --- when: all requests on one axis ---

function timeline(story) {
  const at = story.steps.map((step) => BigInt(step.at_ns));
  const window = BigInt(story.window_ns);
  // Some of a window before the first request and after the last is part of the picture, however short it is.
  const margin = window / 4n || 1n;
  const start = at[0] - margin;
  const end = at[at.length - 1] + margin;
  const scale = (RIGHT - LEFT) / Number(end - start);
  const x = (nanos) => LEFT + Number(nanos - start) * scale;
  return { at, window, start, end, x };
}

function drawTimeline(svg, story, index, time) {
  const { at, x } = time;
  drawWindows(svg, story, story.steps[index], at[index], time);
  if (story.algorithm.endsWith("bucket")) drawLevel(svg, story, index, time);
  add(svg, "line", { class: "axis", x1: LEFT, x2: RIGHT, y1: AXIS, y2: AXIS });
  const places = at.map((nanos) => Math.round(x(nanos) / 11));
  story.steps.forEach((step, i) => {
    // Marks at one place are stacked, closer where there are many.
    const stack = places.filter((place) => place === places[i]).length;
    const below = places.slice(0, i).filter((place) => place === places[i]).length;
    mark(svg, step, x(at[i]), AXIS - 8 - below * Math.min(11, (AXIS - ROOF - 16) / stack), i > index);
  });
  add(svg, "line", { class: "now", x1: x(at[index]), x2: x(at[index]), y1: AXIS, y2: AXIS + 7 });
  const last = at.length - 1;
  label(svg, x(at[0]), "0 s");
  if (x(at[last]) - x(at[0]) > 40) label(svg, x(at[last]), duration(String(at[last] - at[0])));
}

function label(svg, x, text) {
  add(svg, "text", { class: "quiet", x, y: AXIS + 22, "text-anchor": "middle" }, text);
}

function mark(svg, step, x, y, later) {
  const kind = `mark ${step.allowed ? "allowed" : "refused"}${later ? " later" : ""}`;
  if (step.allowed) add(svg, "circle", { class: kind, cx: x, cy: y, r: 4.5 });
  else add(svg, "path", { class: kind, d: `M${x - 4} ${y - 4} l8 8 m0 -8 l-8 8` });
}

function drawWindows(svg, story, step, now, { window, start, end, x }) {
  const clip = (nanos) => Math.min(Math.max(x(nanos), LEFT), RIGHT);
  const shade = (from, to, kind) =>
    add(svg, "rect", { class: kind, x: clip(from), y: ROOF, width: Math.max(0, clip(to) - clip(from)), height: AXIS - ROOF });
  if (story.algorithm === "sliding-log") shade(now - window, now, "window");
  if (step.after.window_start_ns === null) return;
  const opened = BigInt(step.after.window_start_ns);
  shade(opened, opened + window, "window");
  if (story.algorithm === "sliding-counter") shade(now - window, opened, "earlier");
  for (let edge = start - (start % window) + window, drawn = 0; edge < end && drawn < 50; edge += window, drawn += 1) {
    add(svg, "line", { class: "edge", x1: x(edge), x2: x(edge), y1: ROOF, y2: AXIS });
  }
}

// The level as it was, request by request: up (or down) in between, and a step at each.
function drawLevel(svg, story, index, { at, x }) {
  const y = (picture) => AXIS - ((AXIS - ROOF) * picture.level_milli) / (story.capacity * 1000);
  const points = story.steps.slice(0, index + 1).flatMap((step, i) => [`${x(at[i])},${y(step.before)}`, `${x(at[i])},${y(step.after)}`]);
  add(svg, "polyline", { class: "level", points: points.join(" ") });
}

// --- in words ---

function words(story, step, index, { at }) {
  const head = `Request ${story.numbers?.[index] ?? index + 1}, ${since(at[index], at[0])}: `;
  if (!step.allowed) return `${head}refused. The same request passes after ${duration(step.retry_after_ns)}, and not earlier.`;
  const wait = step.delay_ns === "0" ? "" : ` after waiting ${duration(step.delay_ns)} for its turn`;
  const left = step.after.available;
  const edge = crossedEdge(story, index) ? " A new window has begun, and what was used before it is forgotten." : "";
  return `${head}allowed${wait}. ${left === 0 ? "Nothing is" : left === 1 ? "1 more is" : `${left} more are`} left now.${edge}`;
}

function crossedEdge(story, index) {
  if (story.algorithm !== "fixed-window" || index === 0) return false;
  return story.steps[index].after.window_start_ns !== story.steps[index - 1].after.window_start_ns;
}

function since(nanos, origin) {
  return nanos === origin ? "at the start" : `after ${duration(String(nanos - origin))}`;
}

function duration(nanos) {
  const millis = Number(BigInt(nanos) / 1000000n);
  if (millis === 0) return nanos === "0" ? "0 s" : "less than 1 ms";
  if (millis < 1000) return `${millis} ms`;
  return `${Math.ceil(millis / 10) / 100} s`;
}

function milli(value) {
  return String(Math.floor(value / 10) / 100);
}
