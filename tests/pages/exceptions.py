"""What `python -m tests.pages` finds and lets pass, each with its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Allowed:
    """A finding of this kind at a widget whose words fit the pattern."""

    kind: str
    widget: str
    reason: str


EXCEPTIONS: tuple[Allowed, ...] = (
    Allowed(
        "outside its window",
        "CopyButton “Copy”",
        "Below a reply its empty margin stands out to the left, so that its icon is in line with the text above.",
    ),
    Allowed(
        "outside its window",
        "FoldButton “.*”",
        "Its empty margin stands out to the left of a reply, so that its icon is in line with the text above.",
    ),
)


def is_excepted(kind: str, widget: str) -> bool:
    return any(each.kind == kind and re.fullmatch(each.widget, widget) for each in EXCEPTIONS)
