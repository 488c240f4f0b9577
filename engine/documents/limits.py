"""What may be read of a document, and what is said of one that cannot be."""

from __future__ import annotations

from engine.messages.prompts import MOST_TEXT

MOST_PAGES = 5_000


class Unreadable(Exception):
    """Its words follow the name of the file: "is encrypted; …"."""


def check_length(num_characters: int) -> None:
    """Raises Unreadable."""
    if num_characters > MOST_TEXT:
        raise Unreadable(f"holds more than {MOST_TEXT // 10**6} million characters; attach a part of it.")


def check_pages(number: int) -> None:
    """Raises Unreadable."""
    if number > MOST_PAGES:
        raise Unreadable(f"has more than {MOST_PAGES:,} pages; attach a part of it.")


def too_much() -> Unreadable:
    return Unreadable("holds too much to be read; attach a part of it.")


def damaged() -> Unreadable:
    return Unreadable("is damaged; download it again, or save it anew.")


def encrypted() -> Unreadable:
    return Unreadable("is encrypted; save it without a password, and attach that.")
