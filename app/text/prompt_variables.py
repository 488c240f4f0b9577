"""Variables in the prompts of the library: `{language}` is asked for, `{language:French}` is there to be changed, and
`{clipboard}` is what was copied last. `{{word}}` stands for `{word}` itself; other braces are text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

CLIPBOARD = "clipboard"
MOST_VARIABLES = 100  # that are filled in; more stay as they are written
_INNER = r"[^\W\d_][\w\- ]{0,39}"
_VARIABLE = re.compile(rf"\{{\{{({_INNER}(?::[^{{}}\n]*)?)\}}\}}|\{{({_INNER})(?::([^{{}}\n]*))?\}}")


@dataclass(frozen=True, slots=True)
class PromptPiece:
    """A part of a prompt as it is put into the message box."""

    text: str
    name: str = ""  # of the variable in whose place it stands
    is_open: bool = False  # it stands for a value that the user is to give


def has_clipboard(text: str) -> bool:
    """Whether what was copied is to be put in."""
    return any(piece.name == CLIPBOARD for piece in pieces(text))


def pieces(text: str, clipboard: str = "") -> tuple[PromptPiece, ...]:
    """The prompt, part by part. What was copied is asked for where there is nothing."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return tuple(piece for piece in _pieces(text, clipboard) if piece.text or piece.name)


def _pieces(text: str, clipboard: str) -> Iterator[PromptPiece]:
    place = 0
    for found in islice(_VARIABLE.finditer(text), MOST_VARIABLES):
        yield PromptPiece(text[place : found.start()])
        place = found.end()
        plain, name, default = found.groups()
        if plain is not None:
            yield PromptPiece(f"{{{plain}}}")
        elif name == CLIPBOARD and clipboard:
            yield PromptPiece(clipboard, name)
        elif default is None or not default.strip():
            yield PromptPiece(f"{{{name}}}", name, is_open=True)
        else:
            yield PromptPiece(default.strip(), name)
    yield PromptPiece(text[place:])
