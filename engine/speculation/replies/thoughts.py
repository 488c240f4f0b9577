"""Divides the text of a reply, as it is written, into thoughts and the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from engine.speculation.model.chat.thinking import ThinkingTags
from engine.speculation.replies.text import overlap

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class PartKind(Enum):
    ANSWER = auto()
    THOUGHT = auto()
    OPENING = auto()  # not shown: a tag, and the spaces next to it
    CLOSING = auto()  # the same at the end
    CALL = auto()  # of a tool; see `calls.py`


@dataclass(slots=True)  # not frozen: after a pass, that takes twice as long to make
class ReplyPart:
    text: str
    kind: PartKind


def add_parts(parts: list[ReplyPart], more: Sequence[ReplyPart]) -> None:
    """Adds parts at the end, joined with a part of the same kind: a round is reported at once."""
    for part in more:
        if parts and parts[-1].kind is part.kind:
            parts[-1] = ReplyPart(parts[-1].text + part.text, part.kind)
        else:
            parts.append(part)


class ThoughtSplitter:
    """Releases parts as early as possible; together they are all of the text, in order. How the text is cut into pieces
    affects only how the parts are cut.

    A tag in a block of code, or right after a backtick, is text about tags. Spaces right after a tag belong to it, and
    so do those at the end of a thought.
    """

    def __init__(self, tags: ThinkingTags | None, is_inside: bool = False, has_begun: bool = False) -> None:
        """`tags`: without them all is answer. `is_inside`: the text begins in the middle of a thought; `has_begun`: it
        goes on with a reply."""
        self._tags = tags
        self.is_inside = is_inside
        self._awaits_lead = tags is not None and bool(tags.lead) and not is_inside and not has_begun
        self._drops_spaces = is_inside  # after a tag
        self._waiting = ""
        self._line = ""  # of the answer so far, from its last line break on; its beginning and its end
        self._fence = ""  # that a block of code was opened with

    def feed(self, text: str) -> list[ReplyPart]:
        if self._tags is None:
            return [ReplyPart(text, PartKind.ANSWER)] if text else []
        self._waiting += text
        return self._released(self._tags, is_last=False)

    def finish(self) -> list[ReplyPart]:
        return [] if self._tags is None else self._released(self._tags, is_last=True)

    def _released(self, tags: ThinkingTags, is_last: bool) -> list[ReplyPart]:
        parts: list[ReplyPart] = []
        while self._waiting:
            size, kind = self._next(tags, is_last)
            if not size:
                break
            text, self._waiting = self._waiting[:size], self._waiting[size:]
            parts.append(ReplyPart(text, kind))
        return parts

    def _next(self, tags: ThinkingTags, is_last: bool) -> tuple[int, PartKind]:
        """How many of the waiting characters can be released, and as what; 0: none before more is known."""
        text = self._waiting
        num_spaces = len(text) - len(text.lstrip())
        if self._drops_spaces and num_spaces:
            return num_spaces, PartKind.OPENING if self.is_inside else PartKind.CLOSING
        if self._awaits_lead:
            if text.lstrip().startswith(tags.lead):
                self._awaits_lead, self._drops_spaces = False, True
                return num_spaces + len(tags.lead), PartKind.CLOSING
            if tags.lead.startswith(text.lstrip()) and not is_last:
                return 0, PartKind.CLOSING
        self._awaits_lead = False
        tag = tags.close if self.is_inside else tags.open
        place = text.find(tag)
        end = place if place >= 0 else len(text) - (0 if is_last else overlap(text, tag))
        if self.is_inside:
            return self._next_of_thought(text[:end], tag if place >= 0 else "", is_last)
        if end:
            self._drops_spaces = False
            self._read(text[:end])
            return end, PartKind.ANSWER
        if place < 0:
            return 0, PartKind.ANSWER
        if self._fence or self._line.endswith("`"):
            self._read(tag)
            return len(tag), PartKind.ANSWER
        self.is_inside = self._drops_spaces = True
        return len(tag), PartKind.OPENING

    def _next_of_thought(self, before: str, tag: str, is_last: bool) -> tuple[int, PartKind]:
        """The next part of a thought. `before`: the text before the `tag` that follows; without one, none is there
        yet."""
        bare = before.rstrip()
        if bare:
            self._drops_spaces = False
            return len(bare), PartKind.THOUGHT
        if tag:
            self.is_inside, self._drops_spaces = False, True
            return len(before) + len(tag), PartKind.CLOSING
        return (len(self._waiting) if is_last else 0), PartKind.CLOSING

    def _read(self, answer: str) -> None:
        """Notes where blocks of code begin and end."""
        *lines, last = (self._line + answer).split("\n")
        for line in lines:
            found = _FENCE.match(line)
            if found and not self._fence:
                self._fence = found[1]
            elif found and found[1].startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence = ""
        self._line = last if len(last) <= 160 else last[:80] + last[-80:]
