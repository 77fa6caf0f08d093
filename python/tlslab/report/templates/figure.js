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
  if (figure.querySelector(".fig .frame ~ g .tr, .fig [data-samples]")) {
    const trials = button("Trials", () => {
      const hide = figure.classList.toggle("without-trials");
      trials.setAttribute("aria-pressed", String(!hide));
    });
    trials.setAttribute("aria-pressed", "true");
    tools.append(trials);
  }
  const exact = () => (grid ? grid.exact() : drawnNumbers(figure));
  tools.append(
    button("Copy", () => copy(asTabs(exact()), "Numbers")),
    button("CSV", () => download(`${figure.id}.csv`, asCsv(exact()))),
  );
  grid?.tools.querySelector(".push").remove();
  figure.querySelector("figcaption").append(tools);
}

const shownDrawing = (figure) =>
  [...figure.querySelectorAll(".drawing")].find((each) => getComputedStyle(each).display !== "none");

// What a drawing holds itself, where the page has no table of its numbers.
function drawnNumbers(figure) {
  const rows = [...shownDrawing(figure).querySelectorAll("[data-x][data-y]")].flatMap((mark) => {
    const { name, x, y } = mark.dataset;
    const several = y.includes(" ");
    const places = several ? x.split(" ") : [x];
    return (several ? y.split(" ") : [y]).map((value, index) => [name ?? "", places[index] ?? "", value]);
  });
  return [["series", "x", "y"], ...rows];
}
