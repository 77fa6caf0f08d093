// What all parts of the script use. Texts reach the page as text alone, never as markup.
const SVG = "http://www.w3.org/2000/svg";

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function button(text, action, className = "") {
  const made = element("button", className, text);
  made.type = "button";
  made.addEventListener("click", action);
  return made;
}

function report(text) {
  const place = document.getElementById("status");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(report.timer);
  report.timer = setTimeout(() => place.classList.remove("shown"), Math.max(2500, 60 * text.length));
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const place = element("textarea");
    place.value = text;
    document.body.append(place);
    place.select();
    document.execCommand("copy");
    place.remove();
  }
  report(`${what} copied`);
}

function download(name, text) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// A spreadsheet must not take a text of a server's for a formula.
const guarded = (text) => (/^[=+\-@\t\r]/.test(text) && !/^[+-]?[\d.]/.test(text) ? `'${text}` : text);
const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const asCsv = (rows) => rows.map((row) => row.map((cell) => quoted(guarded(cell))).join(",")).join("\r\n") + "\r\n";
const asTabs = (rows) => rows.map((row) => row.map((cell) => guarded(cell.replace(/\s+/g, " "))).join("\t")).join("\n");
