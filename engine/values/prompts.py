"""Prompts: the files and pictures attached to one, the user's words, and a title made of them.

Each attached file is a fenced block before the user's words, with its name as the info string. A name without a dot
gets `./` in front, so that it is not taken for a programming language. An attached picture is an image of Markdown that
names the picture by its digest; its conversation holds the picture itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

_OPENED = re.compile(r"(?P<fence>`{3,})(?P<name>[^\s`][^\n`]{0,1000})\n")
_PICTURE = re.compile(r"!\[(?P<name>[^\[\]\n]{1,1000})\]\(picture:(?P<digest>[0-9a-f]{64})\)(?:\n\n?|\Z)")
NAMES_PICTURE = "](picture:"  # stands in every prompt that does
_CLOSED = re.compile(r"[ \t]*(?:\n\n?|\Z)")
_MOST_TRIED = 1000  # places that may close a fence; none is in what `join_prompt` encloses
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f`]+")
_TICKS = re.compile(r"`{3,}")

MOST_FILES = 10  # attached to one prompt
MOST_PASTED = 1_000_000  # characters of one text, the same as for an attached text file
MOST_TEXT = 4_000_000  # characters of a document
_TITLE_LENGTH = 60
_READ_PER_CHARACTER = 10  # of a line: blanks count, and a long text must not be split into all its words


@dataclass(frozen=True, slots=True)
class TokenCount:
    number: int | None  # None: the text is too long for the context
    about: int = 0  # the number then, estimated from a part of the text


@dataclass(frozen=True)  # without slots, for its cached properties
class Attachment:
    name: str
    text: str

    @cached_property
    def block(self) -> str:
        """The text that the target reads."""
        name = _NOT_IN_NAMES.sub(" ", self.name).strip() or "file"
        fence = "`" * max(3, *(len(ticks) + 1 for ticks in _TICKS.findall(self.text)), 3)
        text = self.text.removesuffix("\n")
        return f"{fence}{name if '.' in name else f'./{name}'}\n{text}\n{fence}"

    @cached_property
    def num_bytes(self) -> int:
        return len(self.text.encode("utf-8", "replace"))


@dataclass(frozen=True)
class AttachedPicture:
    """A picture as a prompt names it; `messages.pictures.Picture` is what it looks like."""

    name: str
    digest: str

    @property
    def block(self) -> str:
        """The text that stands in the prompt."""
        name = _NOT_IN_NAMES.sub(" ", self.name.translate({ord("["): "(", ord("]"): ")"})).strip() or "picture"
        return f"![{name}{NAMES_PICTURE}{self.digest})"


def join_prompt(attachments: Sequence[Attachment | AttachedPicture], words: str) -> str:
    """The prompt as the target reads it."""
    return "\n\n".join([*(each.block for each in attachments), *([words] if words else [])])


def split_prompt(prompt: str) -> tuple[tuple[Attachment | AttachedPicture, ...], str]:
    """What is attached to a prompt, and the user's words."""
    attachments: list[Attachment | AttachedPicture] = []
    start = 0
    while True:
        if pictured := _PICTURE.match(prompt, start):
            attachments.append(AttachedPicture(pictured["name"].strip(), pictured["digest"]))
            start = pictured.end()
            continue
        opened = _OPENED.match(prompt, start)
        name = opened["name"].strip() if opened else ""
        closed = _closed(prompt, opened["fence"], opened.end()) if opened else None
        if opened is None or "." not in name or closed is None:
            return tuple(attachments), prompt[start:]
        text = prompt[opened.end() : closed.start() - len(opened["fence"])]
        attachments.append(Attachment(name.removeprefix("./"), text.removesuffix("\n")))
        start = closed.end()


def split_pictures(prompt: str) -> tuple[tuple[AttachedPicture, ...], str]:
    """The attached pictures of a prompt, and all else that it says, as the target reads it."""
    if NAMES_PICTURE not in prompt:  # as in nearly all
        return (), prompt
    attachments, words = split_prompt(prompt)
    pictures = tuple(each for each in attachments if isinstance(each, AttachedPicture))
    return pictures, join_prompt([each for each in attachments if isinstance(each, Attachment)], words)


def pictures_in(prompts: Iterable[str]) -> list[str]:
    """The digests of the pictures that they name, each once."""
    return list(dict.fromkeys(each.digest for prompt in prompts for each in split_pictures(prompt)[0]))


def with_names(prompt: str, form: str = "{}") -> str:
    """The prompt as people read it, with the names of its pictures, in this form, in place of their blocks."""
    if NAMES_PICTURE not in prompt:
        return prompt
    attachments, words = split_prompt(prompt)
    blocks = [each.block if isinstance(each, Attachment) else form.format(each.name) for each in attachments]
    return "\n\n".join([*blocks, *([words] if words else [])])


def _closed(prompt: str, fence: str, begin: int) -> re.Match[str] | None:
    """What follows the fence that ends the text beginning there."""
    place = begin - 1
    for _ in range(_MOST_TRIED):
        place = prompt.find("\n" + fence, place, begin + MOST_TEXT + 2)
        if place < 0:
            return None
        place += 1 + len(fence)
        if found := _CLOSED.match(prompt, place):
            return found
        place -= len(fence)
    return None


def title_of(prompt: str) -> str:
    """A title for a conversation that begins with this prompt."""
    attachments, words = split_prompt(prompt)
    return shortened(words.strip() or ", ".join(attachment.name for attachment in attachments), _TITLE_LENGTH)


def shortened(text: str, length: int) -> str:
    """One line of about `length` characters, cut between words if possible."""
    line = " ".join(text.lstrip()[: _READ_PER_CHARACTER * length].split())
    return line if len(line) <= length else line[:length].rsplit(" ", 1)[0] + "…"
