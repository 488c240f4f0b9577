"""The user guide for its window: the file in `docs/`, which the bundle and the wheel carry beside the program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

FOLDER = Path(str(files("resources"))).parent / "docs"
FILE = FOLDER / "guide.md"


@dataclass(frozen=True, slots=True)
class Guide:
    html: str  # links lead to its own headings (`#…`) or to the network
    sections: tuple[tuple[str, str], ...]  # titles and the names that links use, in order


def read_guide(path: Path = FILE) -> Guide:
    """Leaves out its list of contents, which the window shows beside it. Raises OSError."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(path.read_text(encoding="utf-8"))
    kinds = [token.type for token in tokens]
    del tokens[kinds.index("bullet_list_open") : kinds.index("bullet_list_close") + 1]
    sections = []
    for token, inner in pairwise(tokens):
        if token.type == "heading_open":
            name = _name(inner.content)
            token.attrSet("id", name)
            if token.tag == "h2":
                sections.append((inner.content, name))
        elif token.type == "table_open":
            token.attrs |= {"cellspacing": "0", "cellpadding": "7"}
        elif inner.children and inner.children[0].type == "image":
            token.attrSet("style", "line-height: 100%")
        for child in inner.children or ():
            address = str(child.attrs.get("href", ""))
            if child.type == "link_open" and not address.startswith(("#", "http")):
                del child.attrs["href"]  # a file that is only in the source
    return Guide(parser.renderer.render(tokens, parser.options, {}), tuple(sections))


def _name(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
