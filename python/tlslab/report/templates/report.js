// Draws the figures in the page's own colours, and again when these change.
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const config = { displayModeBar: false, scrollZoom: false };
  const root = document.documentElement;

  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

  function trace(given) {
    const main = colour(given.meta);
    const drawn = structuredClone(given);
    if (drawn.type === "bar") {
      drawn.marker = { ...drawn.marker, color: main, line: { width: 0 } };
      for (const error of [drawn.error_x, drawn.error_y]) if (error) error.color = colour("ink");
    } else {
      drawn.fillcolor = drawn.stackgroup ? main : `${main}33`;
      drawn.line = { ...drawn.line, color: main };
      drawn.marker = { ...drawn.marker, color: main };
      if (drawn.error_y) drawn.error_y.color = main;
    }
    return drawn;
  }

  function layout(given) {
    const drawn = structuredClone(given);
    drawn.font = { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("soft") };
    drawn.paper_bgcolor = drawn.plot_bgcolor = "rgba(0,0,0,0)";
    drawn.hoverlabel = { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } };
    drawn.dragmode = false;
    for (const [name, axis] of Object.entries(drawn)) {
      if (!/^[xy]axis/.test(name)) continue;
      Object.assign(axis, { gridcolor: colour("grid"), zerolinecolor: colour("grid"), automargin: true, fixedrange: true });
      if (axis.categoryarray) Object.assign(axis, { showgrid: false, tickfont: { color: colour("ink"), size: 13 } });
    }
    for (const note of drawn.annotations ?? []) note.font = { size: 11, color: colour("ink") };
    for (const shape of drawn.shapes ?? []) shape.line.color = colour("soft");
    return drawn;
  }

  function draw() {
    for (const [id, figure] of Object.entries(figures)) {
      const place = document.getElementById(id);
      if (place && place.offsetParent !== null) {
        const width = place.clientWidth;
        Plotly.react(place, figure.data.map(trace), { ...layout(figure.layout), width }, config);
      }
    }
  }

  function choose(setting) {
    for (const place of document.querySelectorAll(".cpu-setting")) {
      place.classList.toggle("chosen", place.dataset.setting === setting);
    }
    draw();
  }

  root.classList.add("js");
  for (const id of ["rate", "cost", "cpu"]) {
    for (const place of document.querySelectorAll(`[id$="-${id}"].chart`)) {
      if (!(place.id in figures)) (place.closest("figure") ?? place.parentElement).remove();
    }
  }
  if (!document.querySelector(".cpu-setting")) document.getElementById("cpu")?.remove();
  const select = document.getElementById("cpu-setting");
  select?.addEventListener("change", () => choose(select.value));
  choose(select ? select.value : document.querySelector(".cpu-setting")?.dataset.setting);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  matchMedia("print").addEventListener("change", draw);
  let pending;
  addEventListener("resize", () => {
    clearTimeout(pending);
    pending = setTimeout(draw, 150);
  });
})();
