"""Prompts: the text files attached to one, the user's words, and a title made of them.

Each attached file is a fenced block before the user's words, with its name as the info string. A name without a dot
gets `./` in front, so that it is not taken for a programming language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FENCE = re.compile(
    r"(?P<fence>`{3,})(?P<name>[^\s`][^\n`]*)\n(?P<text>.*?)^(?P=fence)[ \t]*(?:\n\n?|\Z)", re.DOTALL | re.MULTILINE
)
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f`]+")
_TICKS = re.compile(r"`{3,}")

_TITLE_LENGTH = 60
_READ_PER_CHARACTER = 10  # of a line: blanks count, and a long text must not be split into all its words


@dataclass(frozen=True, slots=True)
class Attachment:
    name: str
    text: str

    @property
    def num_bytes(self) -> int:
        return len(self.text.encode("utf-8", "replace"))


def join_prompt(attachments: Sequence[Attachment], words: str) -> str:
    """The prompt as the target reads it."""
    return "\n\n".join([*map(_block, attachments), *([words] if words else [])])


def split_prompt(prompt: str) -> tuple[tuple[Attachment, ...], str]:
    """The attached files of a prompt, and the user's words."""
    attachments = []
    start = 0
    while match := _FENCE.match(prompt, start):
        name = match["name"].strip()
        if "." not in name:
            break
        attachments.append(Attachment(name.removeprefix("./"), match["text"].removesuffix("\n")))
        start = match.end()
    return tuple(attachments), prompt[start:]


def title_of(prompt: str) -> str:
    """For a conversation that begins with this prompt."""
    attachments, words = split_prompt(prompt)
    return shortened(words.strip() or ", ".join(attachment.name for attachment in attachments), _TITLE_LENGTH)


def shortened(text: str, length: int) -> str:
    """One line of about `length` characters, cut between words if possible."""
    line = " ".join(text.lstrip()[: _READ_PER_CHARACTER * length].split())
    return line if len(line) <= length else line[:length].rsplit(" ", 1)[0] + "…"


def _block(attachment: Attachment) -> str:
    name = _NOT_IN_NAMES.sub(" ", attachment.name).strip() or "file"
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in _TICKS.findall(attachment.text)), 3)
    text = attachment.text.removesuffix("\n")
    return f"{fence}{name if '.' in name else f'./{name}'}\n{text}\n{fence}"
