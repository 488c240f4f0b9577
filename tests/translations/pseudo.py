"""A language that nobody speaks: English between ⟦ ⟧ and longer, to see what is not translated and what is cut off."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from app.text.languages import Language
from app.text.translation import Forms
from engine.values.sentences import in_english
from tests.translations import files
from tests.translations.collecting import Message

PSEUDO = "pseudo"  # where a code of a language may stand
SHARE = 0.4  # by which German and others are longer than English, on short labels
_KEPT = re.compile(r"((?:Ctrl|Shift)\+\w+|\{[^{}]*\}|%n|<[^<>]*>|&\w+;|`[^`]*`)")
_END = re.compile(r"(?:…|[.:?!]| {2}\([^()]+\))$")
_VOWEL = re.compile(r"[aeiouAEIOU]")
_MARKED = {"a": "á", "e": "é", "i": "í", "o": "ó", "u": "ú", "A": "Á", "E": "É", "I": "Í", "O": "Ó", "U": "Ú"}


def write_pseudo(language: Language, messages: Iterable[Message], folder: Path, share: float = SHARE) -> None:
    """As the translation into `language`, in a folder of its own."""
    files.write(language, {(each.context, each.source): _forms(each, language, share) for each in messages}, folder)


def pseudo(text: str, share: float = SHARE) -> str:
    """`⟦Sáváá áll⟧` of `Save all`: some vowels are doubled until it is longer by this share."""
    text, end = _parted(text)
    parts = _KEPT.split(text)
    wanted = round(share * sum(len(part) for part in parts[::2]))
    for place in range(0, len(parts), 2):
        marked = _VOWEL.sub(lambda found: _MARKED[found[0]], parts[place])
        num = min(wanted, sum(sign in _MARKED.values() for sign in marked))
        wanted -= num
        parts[place] = re.sub(f"[{''.join(_MARKED.values())}]", lambda found: found[0] * 2, marked, count=num)
    words = "".join(parts)
    inner = words.strip(" \n")
    start = words.index(inner) if inner else 0
    return f"{words[:start]}⟦{inner}⟧{words[start + len(inner) :]}{end}" if inner else words + end


def _parted(text: str) -> tuple[str, str]:
    """What other languages end with, too, stands behind the bracket."""
    found = _END.search(text)
    return (text, "") if found is None else (text[: found.start()], found[0])


def _forms(message: Message, language: Language, share: float) -> Forms:
    if not message.is_plural:
        return pseudo(message.source, share)
    return [pseudo(in_english(message.source, 1 if name == "one" else 2), share) for name in language.forms]
