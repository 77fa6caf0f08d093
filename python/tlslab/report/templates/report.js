// Adds what needs a script: tools of tables and figures, folds that open for a link, a second run.
const grids = new Map([...document.querySelectorAll("table.data")].map((table) => [table, new Grid(table)]));

for (const figure of document.querySelectorAll("figure.chart")) {
  addFigureTools(figure, grids.get(figure.querySelector("table.data")));
}

for (const text of document.querySelectorAll("pre.copy")) {
  const frame = element("div", "copied");
  text.before(frame);
  frame.append(text, button("Copy", () => copy(text.textContent, "Text")));
}

function openLinked() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
  const fold = target.matches(".fold") && target.querySelector("details");
  if (fold) fold.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", openLinked);
openLinked();

// A link to the fold that is open already changes no hash.
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link && link.hash === location.hash) openLinked();
});

const folds = [...document.querySelectorAll(".fold > details")];
let closed = [];
addEventListener("beforeprint", () => {
  closed = folds.filter((fold) => !fold.open);
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of closed) fold.open = false;
});

const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(target.id).setAttribute("aria-current", "true");
    }
  },
  { rootMargin: "-10% 0px -80% 0px" },
);
for (const id of links.keys()) {
  const target = document.getElementById(id);
  if (target && id !== "details") watcher.observe(target);
}

async function laySecondOver(file) {
  try {
    const second = new Second(await readSecond(file));
    report(second.layOver());
  } catch (error) {
    report(`Not laid over: ${error.message}`);
  }
}

addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  const [file] = event.dataTransfer?.files ?? [];
  if (file) laySecondOver(file);
});
const chooser = document.getElementById("second");
chooser?.addEventListener("change", () => chooser.files.length && laySecondOver(chooser.files[0]));
