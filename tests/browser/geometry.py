"""Whether the texts of charts overlap or leave their chart, as the browser sets them."""

from dataclasses import dataclass

from playwright.sync_api import Page

# Boxes have the height of a line; letters touch only where boxes share more than this, in pixels.
_SLACK = 1.0

_SCRIPT = """
slack => [...document.querySelectorAll('svg.fig')].flatMap((svg, index) => {
  const name = `${svg.dataset.figure || index} at ${svg.getAttribute('width')}`;
  const frame = svg.getBoundingClientRect();
  if (!frame.width) return [];
  const texts = [...svg.querySelectorAll('text')].flatMap(text =>
    text.querySelector('tspan') ? [...text.querySelectorAll('tspan')] : [text]);
  const known = texts.map(text => {
    const title = text.querySelector('title');
    const words = text.textContent.slice(0, text.textContent.length -
      (title ? title.textContent.length : 0));
    return [words, text.getBoundingClientRect()];
  }).filter(([words, box]) => box.width > 0);
  const faults = [];
  known.forEach(([words, box], place) => {
    const out = box.left < frame.left - slack || box.right > frame.right + slack
      || box.top < frame.top - slack || box.bottom > frame.bottom + slack;
    if (out) faults.push([name, 'leaves', words, '']);
    known.slice(place + 1).forEach(([others, other]) => {
      const apart = box.right <= other.left + slack || other.right <= box.left + slack
        || box.bottom <= other.top + slack || other.bottom <= box.top + slack;
      if (!apart) faults.push([name, 'overlaps', words, others]);
    });
  });
  return faults;
})
"""


@dataclass(frozen=True)
class Fault:
    """A text that leaves its chart or lies on another one."""

    figure: str
    what: str
    text: str
    other: str


def text_faults(page: Page) -> list[Fault]:
    """All pairs of overlapping texts within each visible chart; texts that leave their chart."""
    return [Fault(*found) for found in page.evaluate(_SCRIPT, _SLACK)]
