"""Makes texts and names fit for the store."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import count

UNTITLED = "New chat"
TITLE_LENGTH = 200
_SURROGATES = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """Lone surrogates, which UTF-8 cannot hold, become U+FFFD; everything else stays, NUL included."""
    return _SURROGATES.sub("\ufffd", text)


def one_line(text: str) -> str:
    return " ".join(encodable(text).splitlines()).strip()


def fit_title(text: str) -> str:
    return one_line(text)[:TITLE_LENGTH].strip() or UNTITLED


def unique(name: str, taken: Container[str]) -> str:
    """The name, or where it is taken "name (2)" and so on."""
    if name not in taken:
        return name
    return next(numbered for number in count(2) if (numbered := f"{name} ({number})") not in taken)
