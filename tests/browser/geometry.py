"""Whether texts and marks of charts overlap or leave their chart, as the browser sets them."""

from dataclasses import dataclass

from playwright.sync_api import Page

# Boxes have the height of a line; letters touch only where boxes share more than this, in pixels.
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
    """A text or mark that leaves its chart, a text on another one or below a mark."""

    figure: str
    what: str
    text: str
    other: str


def text_faults(page: Page) -> list[Fault]:
    """All faults of the visible charts (`svg.fig`) of a page; an empty list is what is wanted."""
    return [Fault(*found) for found in page.evaluate(_SCRIPT, _SLACK)]
