r"""Finds formulas in the Markdown of a reply: LaTeX between `$…$` or `\(…\)`, in a line of text, and between `$$…$$` or
`\[…\]` or in a closed fence of the language `math`, displayed on lines of its own.

Dollar signs of money are text, by Pandoc's rule: no space after the opening one, none before the closing one, and no
digit after that; nor may words follow an amount. In HTML a formula is its source, as it was written, between
two signs that are no letters: views put a drawing there, or the source.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape, unescape
from typing import TYPE_CHECKING

from app.text.unseen import STAND_IN

if TYPE_CHECKING:  # slow to import
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

LONGEST_SOURCE = 2_000  # characters; a longer formula is text
LANGUAGE = "math"  # of fences; `latex` is code, which users may want to copy
# Signs that are no letters, by Unicode's own word: a reply that has them loses them, see `without_places`.
_BEGIN, _END = "\ufded", "\ufdee"
PLACE = _BEGIN  # of a formula that is drawn
_NO_PLACES = str.maketrans({_BEGIN: STAND_IN, _END: STAND_IN})
_IN_HTML = re.compile(f"{_BEGIN}([^{_BEGIN}{_END}]*){_END}")
_SIGN = re.compile(r"\\.|\$\$?", re.DOTALL)
_AMOUNT = re.compile(r"\d[^\\]*\s[A-Za-z]{2,}\s[^\\]*\Z")  # `$10 or 20$`: words, which LaTeX would take for products
_CLOSINGS = {"$$": "$$", r"\(": r"\)", r"\[": r"\]"}
_OPENING_LINES = ("$$", r"\[")
_FENCES = ("```", "~~~")


@dataclass(frozen=True, slots=True)
class Formula:
    source: str  # as it was written, with its signs

    @property
    def is_displayed(self) -> bool:
        """True if the formula stands on lines of its own."""
        return self.source.startswith((*_OPENING_LINES, *_FENCES))

    @property
    def latex(self) -> str:
        if self.source.startswith(_FENCES):
            return "\n".join(self.source.split("\n")[1:-1])
        size = 2 if self.source[:2] in _CLOSINGS else 1
        return self.source[size:-size]


def enable(parser: MarkdownIt) -> None:
    """Makes tokens of the type `formula`, with the source as their content."""
    may_end = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("table", "formula_lines", _formula_lines, {"alt": may_end})
    parser.inline.ruler.before("escape", "formula", _formula)


def without_places(text: str) -> str:
    """Keeps the length of the text."""
    return text.translate(_NO_PLACES)


def of_fence(token: Token) -> Formula | None:
    """The LaTeX of a closed fence."""
    if token.type != "fence" or token.info.strip().lower() != LANGUAGE or token.map is None:
        return None
    lines, mark = token.content.splitlines(), token.markup[:3]
    source = "\n".join([mark + LANGUAGE, *lines, mark])
    is_closed = token.map[1] - token.map[0] == len(lines) + 2
    return Formula(source) if is_closed and token.content.strip() and len(source) <= LONGEST_SOURCE else None


def in_html(source: str) -> str:
    return f"{_BEGIN}{escape(source)}{_END}"


def of_html(html: str) -> tuple[Formula, ...]:
    return tuple(Formula(unescape(source)) for source in _IN_HTML.findall(html)) if _BEGIN in html else ()


def with_drawings(html: str, drawn: Container[Formula]) -> str:
    """The HTML with `PLACE` for each drawn formula, and with the source of others."""

    def shown(found: re.Match[str]) -> str:
        return PLACE if Formula(unescape(found[1])) in drawn else found[1].replace("\n", "<br>")

    return _IN_HTML.sub(shown, html) if _BEGIN in html else html


def without_formulas(text: str) -> str:
    """Inline text without its LaTeX."""
    parts, at = [], 0
    for begin, end in sorted(_formulas(text).items()):
        if begin >= at:
            parts.append(text[at:begin])
            at = end
    return "".join([*parts, text[at:]])


def _formula(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    end = _formulas(state.src).get(state.pos, state.posMax + 1)
    if end > state.posMax:
        return False
    if not silent:
        state.push("formula", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


@lru_cache(maxsize=4)
def _formulas(text: str) -> Mapping[int, int]:
    """The beginnings and ends of formulas in a line or paragraph, some nested."""
    found: dict[int, int] = {}
    next_at: dict[str, int] = {}  # of each sign
    following = ("", 0)  # the next sign of dollars
    for sign in reversed(list(_SIGN.finditer(text))):
        opening, begin = sign[0], sign.start()
        if opening == "$":
            end = following[1] + 1 if following[0] == "$" and _is_pandocs(text, begin, following[1]) else 0
        else:
            end = next_at.get(_CLOSINGS.get(opening, ""), -2) + 2
        if end and end - begin <= LONGEST_SOURCE and _is_latex(text[begin + len(opening) : end - len(opening)]):
            found[begin] = end
        next_at[opening] = begin
        following = (opening, begin) if opening[0] == "$" else following
    return found


def _is_pandocs(text: str, opening: int, closing: int) -> bool:
    inside, after = text[opening + 1 : closing], text[closing + 1 : closing + 2]
    if not inside or inside[0].isspace() or inside[-1].isspace() or after.isdigit():
        return False
    return _AMOUNT.match(inside) is None


def _is_latex(text: str) -> bool:
    return bool(text.strip()) and "`" not in text  # which would be half of code


def _formula_lines(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Makes a displayed formula a paragraph, even if its lines look like lists or headings. An unclosed one ends at an
    empty line, as in TeX, so that its end is known when that line comes."""
    if state.is_code_block(first):
        return False
    line = _line(state, first)
    opening = line[:2]
    if opening not in _OPENING_LINES:
        return False
    head, closing, rest = line[2:].partition(_CLOSINGS[opening])
    if closing and (rest.strip() or not head.strip()):  # a line of text
        return False
    if silent:
        return True
    last = first + 1
    while not closing and last < end and not state.isEmpty(last) and state.sCount[last] >= state.blkIndent:
        closing = _CLOSINGS[opening] if _CLOSINGS[opening] in _line(state, last) else ""
        last += 1
    state.line = last
    state.push("paragraph_open", "p", 1).map = [first, last]
    inline = state.push("inline", "", 0)
    inline.content, inline.map = state.getLines(first, last, state.blkIndent, False).strip(), [first, last]
    inline.children = []
    state.push("paragraph_close", "p", -1)
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]
