"""Marks of pages in the text of a document, and passages of documents, each with the place it was taken from.

The text of a document with pages has a line before each, `[Page 3]`. A passage is sent as a file of its own, whose name
says the document and the place: `Report.pdf, page 3`. Both are part of the prompt, so that they are stored with it, and
the target can tell where it read something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from engine.values.prompts import Attachment

_MARK = re.compile(r"^\[Page (\d{1,6})\]$", re.MULTILINE)
_NAMED = re.compile(r"(?P<document>.+), (?P<kind>page|line) (?P<number>\d+)")
_GAP = "\n\n[…]\n\n"


@dataclass(frozen=True, slots=True)
class Passage:
    document: str  # its name
    kind: str  # of place: "page", or "line" where there are no pages
    number: int
    text: str

    @property
    def attachment(self) -> Attachment:
        """The passage as it is sent."""
        return Attachment(f"{self.document}, {self.kind} {self.number}", self.text)


def with_pages(texts: Sequence[str]) -> str:
    """The text of a document with these pages. What looks like a mark in them is none."""
    return "\n\n".join(f"[Page {number}]\n" + _MARK.sub(r" \g<0>", text) for number, text in enumerate(texts, 1))


def pages(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of each page; none for a text without marks."""
    marks = _marks(text)
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    for mark, end in zip(marks, ends, strict=True):
        yield int(mark[1]), text[mark.end() : end].strip("\n")


def num_pages(text: str) -> int:
    """0: it has no marks."""
    return len(_marks(text))


def _marks(text: str) -> list[re.Match[str]]:
    """None in a text that does not begin with one."""
    return list(_MARK.finditer(text)) if _MARK.match(text) else []


def passage_of(attachment: Attachment) -> Passage | None:
    """None for a whole file."""
    named = _NAMED.fullmatch(attachment.name)
    return named and Passage(named["document"], named["kind"], int(named["number"]), attachment.text)


def is_prose(attachment: Attachment) -> bool:
    """True for a document with pages, whose lines are as long as its paragraphs."""
    passage = passage_of(attachment)
    return num_pages(attachment.text) > 0 or (passage is not None and passage.kind == "page")


def passages_of(attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
    return tuple(each for each in attachments if passage_of(each) is not None)


def by_document(attachments: Sequence[Attachment]) -> tuple[tuple[Attachment, int], ...]:
    """Each file, or the passages of one document as a file, with their number; 0: it is whole."""

    def document(attachment: Attachment) -> tuple[str, bool]:
        passage = passage_of(attachment)
        return (attachment.name, False) if passage is None else (passage.document, True)

    files: list[tuple[Attachment, int]] = []
    for (name, is_part), group in groupby(attachments, document):
        if is_part:
            parts = [part for each in group if (part := passage_of(each)) is not None]
            text = _GAP.join(f"[{part.kind.title()} {part.number}]\n{part.text}" for part in parts)
            files.append((Attachment(name, text), len(parts)))
        else:
            files += [(whole, 0) for whole in group]
    return tuple(files)
