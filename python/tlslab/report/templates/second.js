// A second run laid over this one. What its file says is data: numbers are checked, texts are texts.
const LARGEST_FILE = 30e6;
const LONGEST = 200;

// The scale of a drawing is found from the middles of its marks; those of bars and areas are not at
// their values.
const LAID_OVER = ["ranking", "line", "points"];
const NAMED = 3;

// The verdicts of cells whose estimates count.
const USABLE = ["valid", "at_least"];

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const list = (value) => (Array.isArray(value) ? value : []);
const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
// Control characters and those that turn the direction of writing have no place in a name.
const words = (value) =>
  typeof value === "string" ? value.slice(0, LONGEST).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ") : "";

function estimateOf(value) {
  if (number(value) !== undefined) return { value };
  if (!isObject(value) || number(value.value) === undefined) return undefined;
  return { value: value.value, low: number(value.low), high: number(value.high), bound: value.bound === true };
}

// The estimates of a cell by name, and whether they are lower bounds (CellSummary.is_bound).
function estimatesOf(cell) {
  const bounds = [...list(cell.lower_bounds)];
  if (cell.verdict === "at_least") bounds.push(...document.body.dataset.bounded.split(" "));
  const named = Object.entries(cell.estimates).map(([name, value]) => [name, estimateOf(value)]);
  return new Map(named.map(([name, found]) => [name, found && { ...found, bound: bounds.includes(name) }]));
}

// A machine in the words of the page's data-machine (model.machine).
function machineOf(environment) {
  const facts = isObject(environment.machine) ? environment.machine : {};
  const usable = facts.usable_processors ?? facts.processors;
  const used = Number.isInteger(usable) && `${usable} processor${usable === 1 ? "" : "s"}`;
  const named = [facts.processor, facts.architecture, used, facts.system, facts.virtual && "virtual"];
  return named.filter((each) => typeof each === "string").map((each) => words(each)).join(", ") || "an unknown machine";
}

async function readSecond(file) {
  if (file.size > LARGEST_FILE) throw new Error("the file is too large for a summary.json");
  let found;
  try {
    found = JSON.parse(await file.text());
  } catch {
    throw new Error("the file is not JSON");
  }
  if (!isObject(found) || !/^tlslab\.summary\/\d+$/.test(found.schema) || !Array.isArray(found.cells)) {
    throw new Error("the file is not a summary.json of tlslab");
  }
  const kind = words(found.experiment?.kind) || "matrix";
  const own = document.body.dataset.kind;
  if (kind !== own) throw new Error(`the file is of another kind of experiment: ${kind}, and this page of ${own}`);
  return found;
}

class Second {
  constructor(found) {
    this.found = found;
    const experiment = isObject(found.experiment) ? found.experiment : {};
    const environment = isObject(found.environment) ? found.environment : {};
    const target = isObject(environment.target) ? words(environment.target.name) : "";
    const begun = words(environment.created).slice(0, 16).replace("T", " ");
    this.name = [words(experiment.title), target, begun].filter(Boolean).join(", ");
    const machine = machineOf(environment);
    const own = document.body.dataset.machine;
    this.elsewhere = machine && own && machine !== own ? `, on another machine: ${machine}` : "";
    // Of fewer than five trials no interval is shown (report/few_trials.py).
    this.few = found.answer?.lacking?.few === true;
    this.cells = new Map();
    for (const cell of list(found.cells)) {
      if (!isObject(cell) || !isObject(cell.estimates) || !USABLE.includes(cell.verdict)) continue;
      this.cells.set(words(cell.key), estimatesOf(cell));
    }
    this.figures = byId(found.figures);
    this.tables = byId(found.tables);
    this.marks = 0;
    this.bare = [];
  }

  layOver() {
    document.querySelectorAll(".second").forEach((each) => each.remove());
    for (const table of document.querySelectorAll("table.data")) this.overTable(table);
    for (const figure of document.querySelectorAll("figure.chart")) this.overFigure(figure);
    return this.summary();
  }

  // How many values are marked, whether absolute ones say anything, and the figures without a mark.
  summary() {
    if (!this.marks && !this.bare.length) return "The second run shares nothing with this one";
    const more = this.bare.length - NAMED;
    const named = this.bare.slice(0, NAMED).join("; ") + (more > 0 ? `; and ${more} more` : "");
    const where = this.elsewhere && `${this.elsewhere}: its rates and costs are those of that machine`;
    return `${this.marks} values of the second run${where}${named ? `. Charts without them: ${named}` : ""}`;
  }

  overTable(table) {
    const heads = [...table.tHead.rows[0].cells];
    const known = this.tables.get(table.id.replace(/^grid-table-/, ""));
    for (const row of table.tBodies[0].rows) {
      const estimates = row.dataset.cell ? this.cells.get(row.dataset.cell) : known && rowOf(known, heads, row);
      if (!estimates) continue;
      heads.forEach((head, column) => {
        const cell = row.cells[column];
        const found = cell?.dataset.v ? estimateOf(estimates.get(head.dataset.name)) : undefined;
        if (found) this.addLine(cell, found);
      });
    }
  }

  addLine(cell, found) {
    const [own] = cell.dataset.v.split(" ").map(Number);
    const text = cell.querySelector("b").textContent;
    const least = text.startsWith("≥ ");
    const scale = own ? Number(text.replace(/^≥ /, "").replaceAll(",", "")) / own : 1;
    const nearest = [1, 100, 1e-6, 1e-3].find((each) => Math.abs(scale / each - 1) < 0.1) ?? 1;
    const times = own ? found.value / own : 0;
    // Of two lower bounds nothing is known of the ratio.
    const known = times > 0 && !(found.bound && least);
    const ratio = known ? ` (${found.bound ? "≥ " : least ? "≤ " : ""}${significant(times)}×)` : "";
    const made = element("small", "second", `◇ ${found.bound ? "≥ " : ""}${significant(found.value * nearest)}${ratio}`);
    made.title = `second run: ${this.spelled(found, nearest)}`;
    cell.append(made);
    this.marks += 1;
  }

  // A value with its interval: `3,412 (95 %: 3,390 to 3,440)`, `≥ 3,412` for a lower bound.
  spelled({ value, low, high, bound }, scale = 1) {
    if (bound) return `≥ ${significant(value * scale)}`;
    const bare = this.few || low === undefined || high === undefined;
    return `${significant(value * scale)}${bare ? "" : ` (95 %: ${significant(low * scale)} to ${significant(high * scale)})`}`;
  }

  overFigure(figure) {
    const found = this.figures.get(figure.dataset.figure);
    if (!found) return;
    if (!LAID_OVER.includes(figure.dataset.kind)) {
      this.leaveBare(figure);
      return;
    }
    const short = new Map();
    for (const head of figure.querySelectorAll("tbody th[data-raw]")) short.set(head.dataset.raw, shownText(head));
    figure.classList.add("measuring");
    let drawn = 0;
    let outside = 0;
    for (const svg of figure.querySelectorAll("svg.fig")) {
      const counts = this.overDrawing(svg, found, short, figure.dataset.kind === "ranking");
      drawn += counts.drawn;
      outside = Math.max(outside, counts.outside);
    }
    figure.classList.remove("measuring");
    if (!drawn) {
      this.leaveBare(figure);
      return;
    }
    this.marks += drawn;
    const beyond = outside ? `; beyond the axis: ${outside} of its values` : "";
    figure.querySelector("figcaption").append(element("p", "second note", `◇ second run: ${this.name}${this.elsewhere}${beyond}`));
  }

  leaveBare(figure) {
    this.bare.push(figure.querySelector("figcaption").firstElementChild.textContent);
  }

  overDrawing(svg, found, short, lying) {
    const marks = [...svg.querySelectorAll("[data-x][data-y]")].map(placed);
    const counts = { drawn: 0, outside: 0 };
    for (const series of list(found.series)) {
      if (!isObject(series)) continue;
      const own = marks.filter((mark) => mark.name === (short.get(series.name) ?? series.name));
      const scale = scaleOf(own, lying) ?? (own.length ? scaleOf(marks, lying) : undefined);
      if (!scale) continue;
      list(series.x).forEach((x, index) => {
        const place = typeof x === "string" ? (short.get(x) ?? x) : String(x);
        const mark = own.find((each) => each.x === place);
        const [value, low, high, bound] = ["y", "low", "high", "bounds"].map((name) => list(series[name])[index]);
        const second = estimateOf({ value, low, high, bound });
        if (!mark || !second) return;
        const at = scale(second.value);
        const box = svg.viewBox.baseVal;
        const [cx, cy] = lying ? [at, mark.cy] : [mark.cx, at];
        if (!(cx >= 0 && cx <= box.width && cy >= 0 && cy <= box.height)) {
          counts.outside += 1;
          return;
        }
        svg.append(diamond(cx, cy, `second run, ${words(place)}: ${this.spelled(second)}`));
        counts.drawn += 1;
      });
    }
    return counts;
  }
}

function byId(items) {
  return new Map(list(items).filter(isObject).map((item) => [words(item.id), item]));
}

// The row of a second run's table with the same words in it, as values by the heads of columns.
function rowOf(table, heads, row) {
  const columns = list(table.columns).map(words);
  const own = heads.flatMap((head, index) => (row.cells[index] && !row.cells[index].dataset.v ? [[head.dataset.name, row.cells[index].dataset.raw ?? shownText(row.cells[index])]] : []));
  for (const each of list(table.rows)) {
    const found = new Map(columns.map((name, index) => [name, list(each)[index]]));
    if (own.every(([name, text]) => (found.get(name) ?? "–") === text || typeof found.get(name) === "object")) return found;
  }
  return undefined;
}

function placed(mark) {
  const box = mark.getBBox();
  const { name, x, y } = mark.dataset;
  return { name, x, y: Number(y), cx: box.x + box.width / 2, cy: box.y + box.height / 2 };
}

// From values to pixels, found from two marks that lie apart: linear, or else logarithmic.
function scaleOf(marks, lying) {
  const pixel = (mark) => (lying ? mark.cx : mark.cy);
  const known = marks.filter((mark) => Number.isFinite(mark.y)).sort((a, b) => a.y - b.y);
  const [first, last] = [known[0], known.at(-1)];
  if (!first || Math.abs(pixel(last) - pixel(first)) < 3) return undefined;
  for (const bend of [(value) => value, (value) => (value > 0 ? Math.log(value) : NaN)]) {
    const slope = (pixel(last) - pixel(first)) / (bend(last.y) - bend(first.y));
    const at = (value) => pixel(first) + slope * (bend(value) - bend(first.y));
    if (Number.isFinite(slope) && known.every((mark) => Math.abs(at(mark.y) - pixel(mark)) < 2.5)) return at;
  }
  return undefined;
}

function diamond(x, y, text) {
  const made = document.createElementNS(SVG, "path");
  made.setAttribute("class", "second");
  made.setAttribute("d", `M${x} ${y - 6}l6 6-6 6-6-6z`);
  const title = document.createElementNS(SVG, "title");
  title.textContent = text;
  made.append(title);
  return made;
}

function significant(value) {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en");
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}
