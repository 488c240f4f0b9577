"""Invisible signs that change how a text is read: what turns its direction, what has no width, and what
commands a terminal. They are shown as what they are; what is kept and copied has them as they were.

Left alone is what writing needs: joiners in words of scripts that have them and in emoji, marks of direction in texts
that have Arabic or Hebrew letters, selectors of variants, and the tags of flags.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable

from engine.values.sentences import shortened

_CONTROLS = r"\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # without tab and the ends of lines
_UNSEEN = (
    r"\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
_VARIANTS = r"\ufe00-\ufe0f\U000e0100-\U000e01ef"
# A flag with its tags, several selectors of a variant (where one is all that writing needs), and the others.
_FOUND = re.compile(rf"\U0001f3f4[\U000e0020-\U000e007e]{{1,8}}\U000e007f|[{_VARIANTS}]{{2,}}|[{_CONTROLS}{_UNSEEN}]+")
_JOINERS = frozenset("\u200b\u200c\u200d")
_DIRECTIONS = frozenset("\u200e\u200f\u061c")
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_MOST_NAMED = 3  # signs of a run
_LONGEST_TAG = 60  # letters
_LINE = 300  # letters of a line, more than any screen has room for
_SENTENCE = 1_000  # letters
_LINES = 1_500  # letters of a tooltip
_WIDTH = 90  # letters of its lines; half as many of those that are twice as wide
_WIDE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]{4}")
STAND_IN = "\ufffd"
APART, APART_END = "\u2066", "\u2069"  # around what reads from left to right; those of a text itself are shown by marks
MARK = "‹U+"  # how the mark of such signs begins
_NAMES = {0x0: "null", 0x7: "bell", 0x8: "backspace", 0xD: "return", 0x1B: "escape", 0x7F: "delete"}


def shown(text: str, before: str = "") -> str:
    """The text with a mark for each run of such characters: `‹U+202E›`. For `before`, see `ending`."""
    return replaced(text, mark_of, before)


def has_right_to_left(text: str) -> bool:
    return _RIGHT_TO_LEFT.search(text) is not None


def ending(text: str) -> str:
    """The part of a text that affects how the next one is shown: a right-to-left letter, and the last one."""
    found = _RIGHT_TO_LEFT.search(text)
    return ("" if found is None else found[0]) + text[-1:]


def one_line(text: str) -> str:
    """The text on one line, for names in lists, labels and titles."""
    return " ".join(shown(shortened(text, _LINE)).splitlines())


def sentence(text: str) -> str:
    """Someone else's text, shown inside a sentence."""
    return shown(shortened(text, _SENTENCE))


def in_tip(text: str) -> str:
    """The text for a tooltip, which names such characters."""
    return replaced(shortened(text, _LINES), lambda signs: f"‹{names_of(signs)}›")


def wrapped(*paragraphs: str) -> str:
    """Lines for a tooltip, which is plain text and does not wrap by itself."""
    lines = (
        textwrap.fill(part, _WIDTH // 2 if _WIDE.search(part) else _WIDTH)
        for paragraph in paragraphs
        for part in paragraph.split("\n")
    )
    return "\n".join(lines)


def replaced(text: str, how: Callable[[str], str], before: str = "") -> str:
    """Passes each run of such characters to `how`."""
    if _FOUND.search(text) is None:  # nearly always
        return text
    whole = before + text
    has_direction = _RIGHT_TO_LEFT.search(whole) is not None

    def written(found: re.Match[str]) -> str:
        signs = found[0]
        place = len(before) + found.start()
        if signs[0] == "\U0001f3f4" or (len(signs) == 1 and _is_needed(signs, whole, place, has_direction)):
            return signs
        if unicodedata.category(signs[0]) == "Mn" and signs[0] != "\u034f":  # the first selector is all that is needed
            return signs[0] + how(signs[1:])
        return how(signs)

    return _FOUND.sub(written, text)


def mark_of(signs: str) -> str:
    """Their code points."""
    distinct = list(dict.fromkeys(signs))
    numbers = " ".join(f"U+{ord(sign):04X}" for sign in distinct[:_MOST_NAMED])
    more = " …" if len(distinct) > _MOST_NAMED else ""
    return f"‹{numbers}{more}{f' ×{len(signs)}' if len(signs) > 1 else ''}›"


def utf16_length(text: str) -> int:
    """The number of characters as Qt counts them."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def stand_ins(text: str) -> str:
    """Stand-ins that keep the length in UTF-16 units, for code, where offsets count."""
    return replaced(text, lambda signs: STAND_IN * utf16_length(signs))


def names_of(signs: str) -> str:
    """Their code points and names: `U+202E right-to-left override`."""
    named = (f"U+{ord(sign):04X} {_name(sign)}" for sign in list(dict.fromkeys(signs))[:_MOST_NAMED])
    return ", ".join(named) + (f", … ×{len(signs)}" if len(signs) > 1 else "")


def _name(sign: str) -> str:
    return _NAMES.get(ord(sign)) or unicodedata.name(sign, "control").lower()


def _is_needed(sign: str, text: str, place: int, has_direction: bool) -> bool:
    if sign in _DIRECTIONS:
        return has_direction
    while text.endswith(">", 0, place):  # of tags, where the text is HTML
        begin = text.rfind("<", max(0, place - _LONGEST_TAG), place)
        if begin < 0:
            break
        place = begin
    before = text[place - 1] if place else " "
    return sign in _JOINERS and before > "\u0590" and not "\u2000" <= before <= "\u206f"
