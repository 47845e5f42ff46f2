"""A page as a browser would read it."""

from html.parser import HTMLParser

VOID = {
    "meta",
    "img",
    "br",
    "hr",
    "link",
    "input",
    "path",
    "rect",
    "use",
    "line",
    "circle",
    "image",
    "polygon",
}


class Page(HTMLParser):
    """Collects the elements and texts of a page, and checks that they nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())
