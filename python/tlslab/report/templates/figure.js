// Figures: logarithmic or linear, single trials or none, the numbers as text.
function addFigureTools(figure, grid) {
  const tools = element("div", "tools");
  const other = figure.querySelector(".axis-other");
  if (other) {
    const label = () => (shownDrawing(figure)?.hasAttribute("data-log") ? "Linear axis" : "Logarithmic axis");
    const axis = button("", () => {
      if (figure.dataset.axis === "other") delete figure.dataset.axis;
      else figure.dataset.axis = "other";
      axis.textContent = label();
    });
    axis.textContent = other.hasAttribute("data-log") ? "Logarithmic axis" : "Linear axis";
    tools.append(axis);
  }
  if (figure.querySelector(".fig .tr:not(.nt)")) {
    const trials = button("Trials", () => {
      const hide = figure.classList.toggle("without-trials");
      trials.setAttribute("aria-pressed", String(!hide));
    });
    trials.setAttribute("aria-pressed", "true");
    tools.append(trials);
  }
  const exact = () => (grid ? grid.exact() : numbersOf(figure));
  tools.append(
    button("Copy", () => copy(asTabs(exact()), "Numbers")),
    button("CSV", () => download(`${figure.id}.csv`, asCsv(exact()))),
  );
  grid?.tools.querySelector(".push").remove();
  figure.querySelector("figcaption").append(tools);
}

const shownDrawing = (figure) =>
  [...figure.querySelectorAll(".drawing")].find((each) => getComputedStyle(each).display !== "none");

// The exact numbers of a figure without a table of them, as a table would give them.
const numbersOf = (figure) => figure.dataset.numbers.split("\n").map((row) => row.split("\t"));
