// The page follows one stream of events: `history` when it connects, then one update a second.
const KEPT = 900;
let points = [];
let last = null;
// The hosts of the last second of load.
let hosts = [];

const number = (value, digits = 0) =>
  value === null || value === undefined ? "–" : value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });
const precise = (value) => (value === null ? "–" : number(value, value < 10 ? 2 : value < 100 ? 1 : 0));
const place = (id) => document.getElementById(id);

function say(id, text) {
  const found = place(id);
  if (found.textContent !== text) found.textContent = text;
}

function duration(seconds) {
  const s = Math.round(seconds);
  if (s < 90) return `${s} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  return `${(s / 3600).toFixed(1)} h`;
}

function rows(table, heads, body) {
  const found = place(table);
  const made = body.map((cells) => {
    const row = element("tr");
    cells.forEach((cell, index) => {
      const made = element(index ? "td" : "th", index ? "" : "t", cell);
      if (!index) made.scope = "row";
      row.append(made);
    });
    return row;
  });
  const head = heads.map((text, index) => {
    const made = element("th", index ? "" : "t", text);
    made.scope = "col";
    return made;
  });
  found.tHead.rows[0].replaceChildren(...head);
  found.tBodies[0].replaceChildren(...made);
}

// What a tile says: its title, its value, and whether that is bad news.
function tilesOf(now) {
  const trouble = ["failed or unexpected", number(troubled(now)), troubled(now) > 0];
  if (now.ended) {
    return [["started", number(now.arrivals)], ["completed", number(now.completed)], ["requests", number(now.requests)], trouble];
  }
  const point = now.point;
  const shown = [];
  const of = (name, key, words) => shown.push([name, words(point ? point[key] : null)]);
  if (points.some((each) => each.offered !== null)) of("offered, connections/s", "offered", number);
  of("completed, connections/s", "completed", number);
  if (point && point.requests > 1.05 * point.completed) of("requests/s", "requests", number);
  of("in flight", "in_flight", number);
  of(`${now.times} time p50, ms`, "p50_ms", precise);
  of(`${now.times} time p99, ms`, "p99_ms", precise);
  shown.push(trouble);
  of("server, processors", "server", (value) => number(value, 2));
  of("generator, processors", "generator", (value) => number(value, 2));
  return shown;
}

function tiles(now) {
  place("tiles").replaceChildren(...tilesOf(now).map(([title, value, bad]) => {
    const tile = element("div");
    tile.append(element("dt", "", title), element("dd", bad ? "bad" : "", value));
    return tile;
  }));
}

const troubled = (now) => Object.values(now.failed).reduce((sum, count) => sum + count, now.unexpected);

function work(now) {
  const bar = place("progress");
  const parts = [];
  if (now.progress) {
    bar.hidden = false;
    bar.max = Math.max(1, now.progress.planned);
    bar.value = now.progress.done;
    parts.push(`${now.progress.done} of ${now.progress.planned}${now.progress.at_most ? " at most" : ""} done`);
  }
  if (now.left_s !== null) parts.push(`about ${duration(now.left_s)} left`);
  parts.push(`${duration(now.elapsed_s)} since the start`);
  say("left", parts.join(" · "));
}

function turn(now) {
  say("target", now.target);
  say("folder", now.folder);
  const cell = [now.cell, now.stage].filter(Boolean).join(": ");
  if (now.ended) {
    say("turn", `The run has ended: ${now.ended.words}`);
    place("ended").replaceChildren("Its report: ", element("code", "", now.ended.report));
    place("ended").hidden = !now.ended.report;
    report("The run has ended");
  } else if (cell) {
    say("turn", cell);
  }
}

function hostTable(now) {
  if (now.hosts.length) hosts = now.hosts;
  const gone = new Set(now.lost.map((lost) => lost.host));
  hosts = hosts.filter((host) => !gone.has(host.name));
  if (!hosts.length && !gone.size) return;
  place("hosts-part").hidden = false;
  const heads = ["host", "offered/s", "completed/s", "in flight", "p99 ms", "failed/s", "processors", "p50 ms", "requests/s"];
  const nothing = heads.slice(1).map(() => number(null));
  rows("hosts", heads, [
    ...hosts.map((host) => [
      host.name, number(host.offered), number(host.completed), number(host.in_flight), precise(host.p99_ms),
      number(host.failed), number(host.generator, 2), precise(host.p50_ms), number(host.requests),
    ]),
    ...now.lost.map((lost) => [lost.host, ...nothing]),
  ]);
  const marks = [
    ...hosts.map((host) => host.silent_s && `silent for ${duration(host.silent_s)}`),
    ...now.lost.map((lost) => `lost: ${lost.reason}`),
  ];
  marks.forEach((words, index) => {
    if (words) place("hosts").tBodies[0].rows[index].firstElementChild.append(element("small", "silent", words));
  });
  place("slowest").hidden = hosts.length < 2;
}

function tables(now) {
  hostTable(now);
  rows("outcomes", ["outcome", "connections"], [
    ["started", number(now.arrivals)],
    ["completed", number(now.completed)],
    ...Object.entries(now.failed).sort((a, b) => b[1] - a[1]).map(([name, count]) => [`failed: ${name.replaceAll("_", " ")}`, number(count)]),
    ...(now.unexpected ? [["unexpected handshake", number(now.unexpected)]] : []),
  ]);
  if (place("seconds").closest("details").open) seconds();
}

function seconds() {
  rows("seconds",
    ["second", "offered/s", "completed/s", "in flight", "p50 ms", "p99 ms", "failed/s", "server", "generator"],
    points.slice(-60).reverse().map((each) => [
      number(each.t), number(each.offered), number(each.completed), number(each.in_flight), precise(each.p50_ms),
      precise(each.p99_ms), number(each.failed), number(each.server, 2), number(each.generator, 2),
    ]));
}

function draw(now) {
  for (const chart of CHARTS) chart.draw(points, now);
}

function follow() {
  const stream = new EventSource("events");
  let ended = false;
  stream.addEventListener("history", (event) => {
    points = JSON.parse(event.data);
  });
  stream.addEventListener("now", (event) => {
    place("lost").hidden = true;
    const now = JSON.parse(event.data);
    last = now;
    if (now.point && (!points.length || points.at(-1).t !== now.point.t)) points.push(now.point);
    else if (now.point) points[points.length - 1] = now.point;
    points = points.slice(-KEPT);
    turn(now);
    work(now);
    tiles(now);
    tables(now);
    draw(now);
    if (now.ended) {
      ended = true;
      stream.close();
    }
  });
  stream.addEventListener("error", () => {
    place("lost").hidden = ended;
  });
}

new ResizeObserver(() => last && draw(last)).observe(place("figures"));
place("seconds").closest("details").addEventListener("toggle", seconds);
follow();
