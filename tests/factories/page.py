"""A page as tests read it, and texts that would harm a page that does not escape them."""

from html.parser import HTMLParser

HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</script><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "\x1b[2J\u202egnirts",
)


class Page(HTMLParser):
    """Elements, attributes and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self._hidden = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._hidden = tag in ("script", "style")
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts.append(data)

    @property
    def text(self) -> str:
        """The visible text."""
        return " ".join(" ".join(self.texts).split())
