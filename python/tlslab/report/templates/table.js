// Tables: sort, filter, what differs, copy, CSV, and the columns that have no room.
const SPREAD = ["low", "high", "n"];
const MOST_LEVELS = 40;

class Grid {
  constructor(table) {
    this.table = table;
    this.heads = [...table.tHead.rows[0].cells];
    this.body = table.tBodies[0];
    this.rows = [...this.body.rows];
    this.order = this.rows;
    this.limit = Number(table.dataset.rows) || Infinity;
    this.sorted = { column: -1, direction: 0 };
    this.filters = new Map();
    this.onlyDifferent = false;
    this.heads.forEach((head, column) => this.makeSortable(head, column));
    this.reachAsHeads();
    for (const row of this.rows) this.makeOpenable(row);
    this.tools = element("div", "tools");
    this.addTools();
    table.closest(".scroll").before(this.tools);
    this.update();
  }

  // A column reaches as far as its head: the cells take its classes.
  reachAsHeads() {
    this.heads.forEach((head, column) => {
      const classes = [...head.classList].filter((name) => /^(r[2-4]|np)$/.test(name));
      if (classes.length) for (const row of this.rows) row.cells[column].classList.add(...classes);
    });
  }

  // Exact numbers, as in summary.json: a row for each that no filter hides, all columns.
  exact() {
    const rows = this.order.filter((row) => this.passes(row));
    return [this.heads.flatMap(columnNames), ...rows.map((row) => this.heads.flatMap((head, i) => values(head, row.cells[i])))];
  }

  addTools() {
    this.heads.forEach((head, column) => {
      if ("factor" in head.dataset) this.addFilter(head, column);
    });
    if (this.rows.some((row) => row.dataset.differs) || this.constantColumns(this.rows).length) this.addDifferent();
    const name = this.table.id.replace(/^grid-/, "");
    const takers = element("span", "push");
    takers.append(
      button("Copy", () => copy(asTabs(this.exact()), "Table")),
      button("CSV", () => download(`${name}.csv`, asCsv(this.exact()))),
    );
    this.tools.append(takers);
    if (this.rows.length > this.limit) {
      this.more = button("", () => {
        this.limit = this.limit === Infinity ? Number(this.table.dataset.rows) : Infinity;
        this.update();
      }, "more");
      this.table.closest(".scroll").after(this.more);
    }
  }

  addFilter(head, column) {
    const levels = [...new Set(this.rows.map((row) => shownText(row.cells[column])))].filter((level) => level && level !== "–");
    if (levels.length < 2 || levels.length > MOST_LEVELS || levels.length > 0.7 * this.rows.length) return;
    const label = element("label", "filter", `${head.textContent.trim() || "name"} `);
    const select = element("select");
    select.append(new Option("all", ""), ...levels.map((level) => new Option(level, level)));
    select.addEventListener("change", () => {
      if (select.value) this.filters.set(column, select.value);
      else this.filters.delete(column);
      this.update();
    });
    label.append(select);
    this.tools.append(label);
  }

  addDifferent() {
    const label = element("label", "filter");
    const box = element("input");
    box.type = "checkbox";
    box.addEventListener("change", () => {
      this.onlyDifferent = box.checked;
      this.update();
    });
    label.append(box, " Only what differs");
    this.tools.append(label);
  }

  makeSortable(head, column) {
    const sort = button("", () => this.sortBy(column), "sort");
    sort.append(...head.childNodes);
    if (!sort.textContent.trim()) sort.append(element("span", "quiet", "name"));
    head.append(sort);
  }

  sortBy(column) {
    const number = !this.heads[column].classList.contains("t");
    const same = this.sorted.column === column;
    const directions = number ? [-1, 1, 0] : [1, -1, 0];
    const direction = same ? directions[(directions.indexOf(this.sorted.direction) + 1) % 3] : directions[0];
    this.sorted = { column, direction };
    const keyed = this.rows.map((row) => [sortKey(row.cells[column], number), row]);
    if (direction) keyed.sort(([a], [b]) => compare(a, b, direction));
    this.order = keyed.map(([, row]) => row);
    for (const [index, head] of this.heads.entries()) {
      if (index === column && direction) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
    this.update();
  }

  passes(row) {
    if (this.onlyDifferent && row.dataset.differs === "no") return false;
    return [...this.filters].every(([column, level]) => shownText(row.cells[column]) === level);
  }

  constantColumns(rows) {
    if (rows.length < 2) return [];
    return this.heads.flatMap((_, column) => {
      const texts = new Set(rows.map((row) => row.cells[column].textContent));
      return column > 0 && texts.size === 1 ? [column] : [];
    });
  }

  update() {
    this.body.querySelectorAll("tr.detail").forEach((row) => row.remove());
    this.body.append(...this.order);
    const passing = this.order.filter((row) => this.passes(row));
    for (const row of this.order) {
      row.hidden = !passing.includes(row);
      row.classList.remove("beyond");
      row.querySelector(".open")?.setAttribute("aria-expanded", "false");
    }
    passing.slice(this.limit).forEach((row) => row.classList.add("beyond"));
    const same = this.onlyDifferent ? this.constantColumns(passing) : [];
    for (const row of [this.table.tHead.rows[0], ...this.order]) {
      [...row.cells].forEach((cell, column) => cell.classList.toggle("same", same.includes(column)));
    }
    if (this.more) {
      this.more.hidden = passing.length <= Number(this.table.dataset.rows);
      this.more.textContent = this.limit === Infinity ? "Show fewer" : `Show all ${passing.length}`;
    }
  }

  makeOpenable(row) {
    const toggle = button("", () => this.toggle(row), "open");
    toggle.setAttribute("aria-expanded", "false");
    toggle.setAttribute("aria-label", `More of ${shownText(row.cells[0])}`);
    row.cells[0].prepend(toggle);
    row.addEventListener("click", (event) => {
      if (!event.target.closest("a, button, input, select") && !getSelection().toString()) this.toggle(row);
    });
  }

  toggle(row) {
    const next = row.nextElementSibling;
    const open = next?.classList.contains("detail");
    row.querySelector(".open").setAttribute("aria-expanded", String(!open));
    if (open) next.remove();
    else row.after(this.detail(row));
  }

  detail(row) {
    const made = element("tr", "detail");
    const place = element("td");
    place.colSpan = this.heads.filter((head) => getComputedStyle(head).display !== "none").length;
    const found = element("dl", "pairs");
    const add = (name, text, className) => found.append(element("dt", "", name), element("dd", className, text));
    if (row.dataset.why) add("why", row.dataset.why);
    const hints = new Map();
    this.heads.forEach((head, column) => {
      const cell = row.cells[column];
      const unit = head.querySelector(".unit")?.textContent ?? "";
      const name = head.textContent.replace(/\s+/g, " ").trim();
      const short = unit ? name.slice(0, -unit.length).trim() : name;
      if (column && getComputedStyle(head).display === "none" && shownText(cell) !== "–") add(short, inWords(cell, unit));
      const shared = row.title || (cell.dataset.v ? head.title : "");
      const hint = cell.hasAttribute("title") ? cell.title : shared;
      if (hint) hints.set(hint, [...(hints.get(hint) ?? []), short || "name"]);
    });
    const usual = [...hints].filter(([, names]) => names.length > 2).sort(([, a], [, b]) => b.length - a.length)[0]?.[0];
    for (const [hint, names] of hints) add(hint === usual ? "method" : names.join(", "), hint, "note");
    if (!found.childElementCount) add("Nothing more is known of this row.", "");
    place.append(found);
    made.append(place);
    return made;
  }
}

// A cell in one line: the value with its unit, then what stands below it.
function inWords(cell, unit) {
  const [value, ...below] = lines(cell);
  const between = unit && !unit.startsWith("/") ? " " : "";
  return `${value}${between}${unit}${below.length ? ` (${below.join("; ")})` : ""}`;
}

function columnNames(head) {
  const { name } = head.dataset;
  const joint = /\s/.test(name) ? " " : "_";
  const parts = "spread" in head.dataset ? SPREAD.map((part) => name + joint + part) : [];
  return [name, ...parts, ...("trials" in head.dataset ? [`${name}${joint}trials`] : [])];
}

function values(head, cell) {
  const numbers = (cell.dataset.v ?? "").split(" ").map((number) => (number === "-" ? "" : number));
  const key = cell.cellIndex === 0 ? cell.parentElement.dataset.cell : undefined;
  const text = cell.dataset.v ? numbers[0] : (cell.dataset.raw ?? key ?? shownText(cell)).replace(/^–$/, "");
  const spread = "spread" in head.dataset ? SPREAD.map((_, index) => numbers[index + 1] ?? "") : [];
  return [text, ...spread, ...("trials" in head.dataset ? [cell.dataset.s ?? ""] : [])];
}

const shownText = (cell) => (cell.querySelector("b, i") ?? cell).textContent.trim();
const lines = (cell) => [...cell.querySelectorAll("b, small, .verdict")].map((line) => line.textContent);

function sortKey(cell, number) {
  if (!number) return shownText(cell);
  const value = Number.parseFloat((cell.dataset.v ?? "").split(" ")[0]);
  return Number.isNaN(value) ? undefined : value;
}

// What has no value comes last in either direction.
function compare(a, b, direction) {
  if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
  return direction * (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
}
