"""Obstacles to accessibility on an open page, found by axe-core."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

SERIOUS = ("serious", "critical")
EVERY = ("minor", "moderate", *SERIOUS)

_AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


@dataclass(frozen=True)
class Obstacle:
    """A rule of axe-core that an element breaks, its impact, the element, and what is wrong."""

    rule: str
    impact: str
    element: str
    what: str


# The first element of each look that has a visible text. A look is the colours and the sizes of an
# element and of everything around it: elements of the same look have the same contrast, and there
# are few looks. Judging the contrast of one element takes longer than finding all looks.
_LOOKS = """
() => {
  const known = new Map(), looks = new Map();
  const look = element => {
    if (element === null) return '';
    if (!known.has(element)) {
      const style = getComputedStyle(element);
      known.set(element, [
        element.localName, element.getAttribute('class'), style.color, style.fill,
        style.backgroundColor, style.backgroundImage, style.opacity, style.fontSize,
        style.fontWeight, look(element.parentElement),
      ].join('|'));
    }
    return known.get(element);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const element = text.parentElement;
    if (!text.data.trim() || !element.checkVisibility({visibilityProperty: true})) continue;
    if (!looks.has(look(element))) looks.set(look(element), element);
  }
  return [...looks.values()];
}
"""


def obstacles(page: Page, impacts: tuple[str, ...] = SERIOUS) -> list[Obstacle]:
    """The obstacles of these impacts, without those of contrast."""
    rules = "{rules: {'color-contrast': {enabled: false}}}"
    return [each for each in _violations(page, "document", rules) if each.impact in impacts]


def faint_texts(page: Page) -> list[Obstacle]:
    """The texts with too little contrast, one of each look."""
    return _violations(page, f"{{include: ({_LOOKS})()}}", "{runOnly: ['color-contrast']}")


def _violations(page: Page, where: str, rules: str) -> list[Obstacle]:
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE)
    # The two take half of the time: what holds, and a selector for each element.
    options = f"{{...{rules}, resultTypes: ['violations'], selectors: false}}"
    found: list[dict[str, Any]] = page.evaluate(
        f"axe.run({where}, {options}).then(all => all.violations)"
    )
    return [
        Obstacle(each["id"], each["impact"], node["html"][:200], node.get("failureSummary", ""))
        for each in found
        for node in each["nodes"][:3]
    ]
