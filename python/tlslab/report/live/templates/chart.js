// Line charts of the last seconds. Each is as wide as its place, in pixels, so that its text keeps its size.
const HEIGHT = 150;
const EDGE = { left: 44, right: 8, top: 10, bottom: 22 };
// A chart reaches back for one of these times, in seconds.
const REACHES = [60, 120, 300, 600, 900];

function shape(name, attributes, className) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (className) made.setAttribute("class", className);
  return made;
}

// The least of 1, 2, 5 times a power of ten that is not below the value.
function rounded(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * (1 - 1e-9));
}

function short(value) {
  if (value >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (value >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
  return (+value.toPrecision(3)).toLocaleString("en");
}

// The lines of one figure, broken where nothing was measured and where another run started.
function path(points, key, x, y) {
  let text = "";
  let before = null;
  for (const point of points) {
    const value = point[key];
    if (value === null || value === undefined) {
      before = null;
      continue;
    }
    const joined = before && before.run === point.run && point.t - before.t < 3;
    text += `${joined ? "L" : "M"}${x(point.t).toFixed(1)} ${y(value).toFixed(1)}`;
    // A lone second is a dot: a line with round ends to where it starts.
    if (!joined) text += "h0";
    before = point;
  }
  return text;
}

class Chart {
  constructor(title, unit, lines) {
    Object.assign(this, { title, unit, lines });
    this.figure = element("figure");
    this.caption = element("figcaption");
    this.picture = shape("svg", { role: "img" }, "fig");
    this.figure.append(this.caption, this.picture);
    document.getElementById("figures").append(this.figure);
  }

  draw(points, now) {
    const lines = this.lines.filter((line) => points.some((point) => point[line.key] !== null));
    this.keys(lines, now);
    const width = Math.max(200, this.figure.clientWidth);
    const end = points.length ? points.at(-1).t : 0;
    const first = points.length ? points[0].t : 0;
    const reach = REACHES.find((each) => end - first <= each) ?? REACHES.at(-1);
    const shown = points.filter((point) => point.t >= end - reach);
    const values = shown.flatMap((point) => lines.map((line) => point[line.key] ?? 0));
    const top = rounded(Math.max(...values, this.least ?? 0));
    const x = (t) => EDGE.left + ((t - end + reach) / reach) * (width - EDGE.left - EDGE.right);
    const y = (value) => HEIGHT - EDGE.bottom - (value / top) * (HEIGHT - EDGE.top - EDGE.bottom);
    const made = [...this.axes(width, top, reach, x, y, end)];
    for (const line of lines) {
      const drawn = shape("path", { d: path(shown, line.key, x, y), "stroke-linecap": "round" }, `l${line.dashed ? " d" : ""}`);
      const group = shape("g", {}, line.colour);
      group.append(drawn);
      made.push(group);
    }
    this.picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.picture.setAttribute("height", HEIGHT);
    this.picture.setAttribute("aria-label", this.words(lines, points.at(-1)));
    this.picture.replaceChildren(...made);
  }

  *axes(width, top, reach, x, y, end) {
    const right = width - EDGE.right;
    for (const share of [0, 0.5, 1]) {
      const height = y(top * share);
      yield shape("path", { d: `M${EDGE.left} ${height}H${right}` }, share ? "gr" : "ax");
      const text = shape("text", { x: EDGE.left - 6, y: height + 4 }, "e");
      text.textContent = short(top * share);
      yield text;
    }
    for (const [back, where] of [[reach, ""], [reach / 2, "m"], [0, "e"]]) {
      const text = shape("text", { x: x(end - back), y: HEIGHT - 6 }, where);
      text.textContent = back ? `−${duration(back)}` : "now";
      yield text;
    }
  }

  keys(lines, now) {
    const kind = now.times[0].toUpperCase() + now.times.slice(1);
    const made = [element("h3", "", `${this.title.replace("{times}", kind)}${this.unit ? `, ${this.unit}` : ""}`)];
    for (const line of lines.length > 1 ? lines : []) {
      const key = element("span", "key");
      const sample = shape("svg", { width: 22, height: 8, viewBox: "0 0 22 8", "aria-hidden": "true" }, "fig");
      sample.style.width = "22px";
      const group = shape("g", {}, line.colour);
      group.append(shape("path", { d: "M1 4H21" }, `l${line.dashed ? " d" : ""}`));
      sample.append(group);
      key.append(sample, line.name);
      made.push(key);
    }
    this.caption.replaceChildren(...made);
  }

  words(lines, point) {
    const values = point ? lines.map((line) => `${line.name} ${short(point[line.key] ?? 0)}`) : [];
    return `${this.title.replace("{times} ", "")}: ${values.join(", ") || "nothing yet"}`;
  }
}

const CHARTS = [
  new Chart("Connections/s", "", [
    { key: "offered", name: "offered", colour: "mu", dashed: true },
    { key: "completed", name: "completed", colour: "c1" },
  ]),
  new Chart("{times} times", "ms", [
    { key: "p99_ms", name: "p99", colour: "c2" },
    { key: "p50_ms", name: "p50", colour: "c1" },
  ]),
  new Chart("In flight", "connections", [{ key: "in_flight", name: "in flight", colour: "c1" }]),
  new Chart("Processors", "", [
    { key: "server", name: "server", colour: "c1" },
    { key: "generator", name: "generator", colour: "c2" },
  ]),
  new Chart("Failed or unexpected", "connections/s", [{ key: "failed", name: "failed", colour: "c2" }]),
];
