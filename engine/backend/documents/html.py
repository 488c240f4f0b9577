"""HTML as text. Nothing of it is run or fetched."""

from __future__ import annotations

from html.parser import HTMLParser

from engine.backend.documents.flow import Flow

_UNSEEN = frozenset({"script", "style", "template", "noscript", "svg", "math", "object", "iframe"})
_MAY_BE_OPEN = _UNSEEN - {"script", "style"}
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "div", "dl", "dt", "fieldset"}
    | {"figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "legend"}
    | {"li", "main", "nav", "ol", "p", "pre", "section", "summary", "title", "ul"}
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}


def read_html(text: str) -> str:
    """Raises Unreadable where it is too much."""
    reader = _read(text, _UNSEEN)
    if reader.hidden in _MAY_BE_OPEN:  # it is never closed, and would hide the rest
        reader = _read(text, _UNSEEN - {reader.hidden})
    return reader.flow.text


def _read(text: str, unseen: frozenset[str]) -> _Reader:
    reader = _Reader(unseen)
    reader.feed(text)
    reader.close()
    return reader


class _Reader(HTMLParser):
    def __init__(self, unseen: frozenset[str]) -> None:
        super().__init__(convert_charrefs=True)
        self._unseen = unseen
        self.flow = Flow()
        self.hidden = ""  # the element that is left out
        self._num_hidden = 0  # how deep it stands in itself
        self._prefix = ""
        self._is_exact = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.hidden:
            self._num_hidden += tag == self.hidden
        elif tag in self._unseen:
            self.hidden, self._num_hidden = tag, 1
        elif tag == "br":
            self.flow.add("\n") if self._is_exact else self._end()
        elif tag == "table":
            self.flow.begin_table()
        elif tag == "tr":
            self.flow.begin_row()
        elif tag in ("td", "th"):
            spanned = dict(attrs).get("colspan") or ""
            self.flow.begin_cell()
            self.flow.span(int(spanned) if spanned.isdecimal() and len(spanned) < 4 else 1)
        elif tag in _BLOCKS:
            begun = self._prefix if tag in ("p", "div") else ""
            if self._end():
                begun = ""
            self._prefix = _HEADINGS.get(tag, "- " if tag == "li" else begun)
            self._is_exact = tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if self.hidden:
            self._num_hidden -= tag == self.hidden
            self.hidden = self.hidden if self._num_hidden else ""
        elif tag == "table":
            self.flow.end_table()
        elif tag in _BLOCKS:
            self._end()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self._unseen:  # empty
            self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.flow.add(data)

    def _end(self) -> bool:
        """Returns False if there was no paragraph."""
        ended = self.flow.end_paragraph(self._prefix, self._is_exact)
        self._prefix, self._is_exact = "", False
        return ended
