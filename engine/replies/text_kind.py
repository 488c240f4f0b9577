"""What a reply mostly is, told from its text. A rough rule, for putting replies side by side that are alike."""

from __future__ import annotations

import re

from engine.messages.replies import TextKind

_CODE_SHARE = 0.4  # of the characters that are no spaces
_NUMBERS_SHARE = 0.3
_LIST_SHARE = 0.5  # of the lines with anything on them, outside code
_FEWEST_ITEMS = 3

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_ITEM = re.compile(r"\s*(?:[-*+•]\s|\d{1,9}[.)]\s|\|)")
_RULE = re.compile(r"[\s|:=*_-]+")  # between the parts of a text, or under the head of a table
_NUMBER_SIGNS = frozenset("0123456789+-*/=<>^%×÷±≤≥≈√∑∫")


def text_kind(text: str) -> TextKind:
    """Code where two fifths are in fences or more; lists where half of the lines outside are items or rows of a table
    and there are three at least; numbers where three in ten of the signs outside are digits or operators; else prose.
    """
    code, rest = _split_at_fences(text)
    num_code, num_rest = _num_signs(code), _num_signs(rest)
    if num_code and num_code >= _CODE_SHARE * (num_code + num_rest):
        return TextKind.CODE
    lines = [line for line in rest.split("\n") if line.strip() and not _RULE.fullmatch(line)]
    items = [line for line in lines if _ITEM.match(line)]
    words = "".join(_ITEM.sub("", line, count=1) for line in lines)  # the numbers of a list are no sums
    if sum(sign in _NUMBER_SIGNS for sign in words) >= _NUMBERS_SHARE * max(1, _num_signs(words)):
        return TextKind.NUMBERS
    if len(items) >= _FEWEST_ITEMS and len(items) >= _LIST_SHARE * len(lines):
        return TextKind.LISTS
    return TextKind.PROSE


def _split_at_fences(text: str) -> tuple[str, str]:
    """What is inside fences, and what is outside; one that is never closed goes on to the end."""
    inside: list[str] = []
    outside: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence and mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        else:
            (inside if fence else outside).append(line)
    return "\n".join(inside), "\n".join(outside)


def _num_signs(text: str) -> int:
    return len(text) - sum(map(text.count, " \n\t\r"))
