"""What may be read of a document, and what is said of one that cannot be."""

from __future__ import annotations

from engine.values.prompts import MOST_TEXT
from engine.values.sentences import Sentence, say

MOST_PAGES = 5_000


class Unreadable(Exception):
    """A refusal that begins with the name of the file, which the caller fills in: "{name} is encrypted; …"."""

    def __init__(self, template: str, /, **values: object) -> None:
        super().__init__(say(template, **values))

    @property
    def sentence(self) -> Sentence:
        sentence: Sentence = self.args[0]
        return sentence


def check_length(num_characters: int) -> None:
    """Raises Unreadable."""
    if num_characters > MOST_TEXT:
        raise Unreadable(
            "{name} contains more than {millions} million characters; attach a part of it.", millions=MOST_TEXT // 10**6
        )


def check_pages(number: int) -> None:
    """Raises Unreadable."""
    if number > MOST_PAGES:
        raise Unreadable("{name} has more than {most:,} pages; attach a part of it.", most=MOST_PAGES)


def too_much() -> Unreadable:
    return Unreadable("{name} contains too much to read; attach a part of it.")


def damaged() -> Unreadable:
    return Unreadable("{name} is damaged; download it again or save it again.")


def encrypted() -> Unreadable:
    return Unreadable("{name} is encrypted; save it without a password and attach that.")
