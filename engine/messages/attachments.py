"""Text files that go along with a prompt: how they stand in it, and how they are found in it again.

Each is a fenced block that bears the file's name, before what the user wrote. A name without a dot gets `./` before it,
so that it cannot be taken for the name of a programming language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FENCE = re.compile(
    r"(?P<fence>`{3,})(?P<name>[^\s`][^\n`]*)\n(?P<text>.*?)^(?P=fence)[ \t]*(?:\n\n?|\Z)", re.DOTALL | re.MULTILINE
)
_UNFIT = re.compile(r"[\x00-\x1f\x7f`]+")
_TICKS = re.compile(r"`{3,}")


@dataclass(frozen=True, slots=True)
class Attachment:
    name: str
    text: str

    @property
    def num_bytes(self) -> int:
        return len(self.text.encode("utf-8", "replace"))


def join_prompt(attachments: Sequence[Attachment], words: str) -> str:
    """The prompt that the target gets."""
    return "\n\n".join([*map(_block, attachments), *([words] if words else [])])


def split_prompt(prompt: str) -> tuple[tuple[Attachment, ...], str]:
    """The files at the beginning of a prompt, and what the user wrote."""
    attachments = []
    at = 0
    while match := _FENCE.match(prompt, at):
        name = match["name"].strip()
        if "." not in name:
            break
        attachments.append(Attachment(name.removeprefix("./"), match["text"].removesuffix("\n")))
        at = match.end()
    return tuple(attachments), prompt[at:]


def _block(attachment: Attachment) -> str:
    name = _UNFIT.sub(" ", attachment.name).strip() or "file"
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in _TICKS.findall(attachment.text)), 3)
    text = attachment.text.removesuffix("\n")
    return f"{fence}{name if '.' in name else f'./{name}'}\n{text}\n{fence}"
