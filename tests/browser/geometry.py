"""Finds texts and marks of charts that overlap or leave their chart, as the browser places them."""

from dataclasses import dataclass

from playwright.sync_api import Page

# Boxes have the height of a line. Letters touch only if boxes overlap by more than this (pixels).
_SLACK = 1.0

_SCRIPT = """
slack => [...document.querySelectorAll('svg.fig')].flatMap((svg, index) => {
  const name = `${svg.dataset.figure || index} at ${svg.getAttribute('width')}`;
  const frame = svg.getBoundingClientRect();
  if (!frame.width) return [];
  const words = text => [...text.childNodes].filter(n => n.nodeType === Node.TEXT_NODE)
    .map(n => n.data).join('');
  const known = kind => [...svg.querySelectorAll(kind)]
    .filter(each => !each.closest('defs') && !each.querySelector('tspan'))
    .map(each => [words(each) || `.${each.getAttribute('class')}`, each.getBoundingClientRect()])
    .filter(([, box]) => box.width || box.height);
  const out = ([, box]) => box.left < frame.left - slack || box.right > frame.right + slack
    || box.top < frame.top - slack || box.bottom > frame.bottom + slack;
  const over = ([, box], [, other]) => box.left < other.right - slack
    && other.left < box.right - slack && box.top < other.bottom - slack
    && other.top < box.bottom - slack;
  const texts = known('text, tspan');
  const marks = known('.p, .o, .w, .tr, .b, .l, .bd, .sg');
  return [
    ...[...texts, ...marks].filter(out).map(each => [name, 'leaves', each[0], '']),
    ...texts.flatMap((each, place) => texts.slice(place + 1).filter(other => over(each, other))
      .map(other => [name, 'overlaps', each[0], other[0]])),
    ...texts.flatMap(each => marks.filter(mark => over(each, mark))
      .map(mark => [name, 'is hidden by', each[0], mark[0]])),
  ];
})
"""


@dataclass(frozen=True)
class Fault:
    """A text or mark that leaves its chart, a text over another text, or a text under a mark."""

    figure: str
    what: str
    text: str
    other: str


def text_faults(page: Page) -> list[Fault]:
    """All faults of the visible charts (`svg.fig`) of a page; empty without a fault."""
    return [Fault(*found) for found in page.evaluate(_SCRIPT, _SLACK)]


_PAGE_SCRIPT = """
slack => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const known = [], faults = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest('svg, script, style, .skip, #status, option')) continue;
    if (!parent.checkVisibility({visibilityProperty: true})) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const cell = parent.closest('td, th')?.getBoundingClientRect();
    for (const box of range.getClientRects()) {
      let {left, right, top, bottom} = box;
      if (cell && (left < cell.left - slack || right > cell.right + slack)) {
        faults.push(['page', 'leaves', node.data.trim(), parent.closest('td, th').textContent]);
      }
      for (let each = parent; each !== document.body; each = each.parentElement) {
        if (getComputedStyle(each).overflowX === 'visible') continue;
        const clip = each.getBoundingClientRect();
        left = Math.max(left, clip.left); right = Math.min(right, clip.right);
        top = Math.max(top, clip.top); bottom = Math.min(bottom, clip.bottom);
      }
      if (right - left < 1 || bottom - top < 1) continue;
      if (left < -slack || right > innerWidth + slack) {
        faults.push(['page', 'leaves', node.data.trim(), 'the window']);
      }
      known.push({left, right, top: top + scrollY, bottom: bottom + scrollY, node});
    }
  }
  known.sort((a, b) => a.top - b.top);
  known.forEach((box, place) => {
    for (let next = place + 1; next < known.length; next += 1) {
      const other = known[next];
      if (other.top >= box.bottom - slack) break;
      // Lines of one text may touch; boxes of inline elements are as high as their line.
      const least = Math.min(box.bottom - box.top, other.bottom - other.top) * 0.3;
      const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
      const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
      if (box.node !== other.node && wide > slack && high > least) {
        faults.push(['page', 'overlaps', box.node.data.trim(), other.node.data.trim()]);
      }
    }
  });
  return faults;
}
"""


def page_faults(page: Page) -> list[Fault]:
    """Texts outside charts that overlap, leave their cell of a table, or leave the window."""
    return [Fault(*found) for found in page.evaluate(_PAGE_SCRIPT, _SLACK)]
