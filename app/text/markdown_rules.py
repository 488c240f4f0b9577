"""What models write beyond CommonMark: emphasis beside Chinese, Japanese and Korean, a few tags of HTML, details, and
tables whose cells have bars in their code."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import table
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

BREAK, TAG = "html_break", "html_tag"  # types of inline tokens
# The tags that are kept, and what they are shown as; all without attributes, so that nothing can be opened by them.
_TAGS = {
    **{name: name for name in ("b", "i", "u", "s", "em", "strong", "sub", "sup", "small")},
    **{"del": "s", "ins": "u", "kbd": "code", "code": "code", "mark": "b"},
}
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TAG = re.compile(rf"<(/?)({'|'.join(_TAGS)})>", re.IGNORECASE)
_DETAILS = re.compile(
    r"(?:</?details(?:\s+open(?:=\"\w*\")?)?>|</?summary>|<summary>(?P<words>(?:(?!</?summary>).)*)</summary>|\s)+$",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_BAR = "\ufddc"  # stands for a bar in the code of a cell, while a table is parsed
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u303f\u3040-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\ufe30-\ufe4f\uff00-\uffef\U0001b000-\U0001b2ff\U00020000-\U0003ffff]"
)
_MOST_CELLS = 2_500  # of a table; rows beyond are plain text
_MOST_COLUMNS = 64


def enable(parser: MarkdownIt) -> None:
    """Adds the rules to a parser that was just made."""
    parser.inline = InlineParser()
    parser.configure("commonmark").enable(["table", "strikethrough"])
    parser.block.ruler.at("table", _narrow_table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.before("html_block", "details", _details, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.inline.ruler.before("html_inline", TAG, _tag)


class InlineParser(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: MutableMapping[str, Any], tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _State(StateInline):
    def __init__(self, src: str, md: MarkdownIt, env: MutableMapping[str, Any], tokens: list[Token]) -> None:
        super().__init__(src, md, env, tokens)
        self.lowered = src.lower()
        self.opened = Counter[str]()  # tags that are not closed yet

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N803 (the parser's own names)
        """Beside letters and signs of these languages, which put no spaces between words, only white space decides
        whether emphasis begins or ends."""
        found = super().scanDelims(start, canSplitWord)
        end = start + found.length
        before, after = self.src[max(0, start - 1) : start], self.src[end : end + 1]
        if not canSplitWord or not (_CJK.match(before) or _CJK.match(after)):
            return found
        return Scanned(bool(after.strip()), bool(before.strip()), found.length)


def _tag(state: StateInline, silent: bool) -> bool:
    """A line break, or a known tag that is opened and closed within the same text."""
    if state.src[state.pos] != "<":
        return False
    assert isinstance(state, _State)
    is_break = _BREAK.match(state.src, state.pos)
    found = is_break or _TAG.match(state.src, state.pos)
    if found is None or (not is_break and not _has_partner(state, found)):
        return False
    if not silent:
        token = state.push(BREAK if is_break else TAG, "", 0)
        if not is_break:
            name = found[2].lower()
            token.content = f"<{found[1]}{_TAGS[name]}>"
            state.opened[name] += -1 if found[1] else 1
    state.pos = found.end()
    return True


def _has_partner(state: _State, found: re.Match[str]) -> bool:
    name = found[2].lower()
    return state.opened[name] > 0 if found[1] else state.lowered.rfind(f"</{name}>", found.end(), state.posMax) >= 0


def _details(state: StateBlock, first: int, _end: int, silent: bool) -> bool:
    """Lines that only open or close details: the summary is a heading, what is inside follows."""
    if state.is_code_block(first) or not _line(state, first).startswith("<"):
        return False
    found = _DETAILS.match(_line(state, first))
    if found is None:
        return False
    if silent:
        return True
    state.line = first + 1
    words = (found["words"] or "").strip()
    if words:
        state.push("heading_open", "h4", 1).map = [first, first + 1]
        inline = state.push("inline", "", 0)
        inline.content, inline.map, inline.children = words, [first, first + 1], []
        state.push("heading_close", "h4", -1)
    return True


def _narrow_table(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Parses a table, unless it has too many columns to read; only its first rows."""
    num_columns = state.src.count("|", state.bMarks[first], state.eMarks[first]) or 1
    last = min(end, first + 2 + _MOST_CELLS // num_columns)
    if num_columns > _MOST_COLUMNS:
        return False
    source, before = state.src, len(state.tokens)
    state.src = _with_bars(state, first, last)
    try:
        is_table = table(state, first, last, silent)
    finally:
        is_changed, state.src = state.src != source, source
    for token in state.tokens[before:] if is_changed else ():
        token.content = token.content.replace(_BAR, "|")
    return is_table


def _with_bars(state: StateBlock, first: int, last: int) -> str:
    """The source, with another sign for bars in code where a row has as many cells as the table only without them."""
    if last < first + 2 or "`" not in state.src[state.bMarks[first] : state.eMarks[last - 1]]:
        return state.src
    num_cells = _num_cells(_line(state, first + 1))
    changed = [*_changed_rows(state, (first, *range(first + 2, last)), num_cells)]
    parts, at = [], 0
    for begin, row in changed:
        parts += [state.src[at:begin], row]
        at = begin + len(row)
    return "".join([*parts, state.src[at:]]) if changed else state.src


def _changed_rows(state: StateBlock, numbers: tuple[int, ...], num_cells: int) -> Iterator[tuple[int, str]]:
    """Where each row begins that is changed, and what it becomes."""
    for number in numbers:
        row = _line(state, number)
        if not row.strip():
            return
        if "`" in row and _num_cells(row) != num_cells:
            masked = _CODE.sub(lambda found: re.sub(r"(?<!\\)\|", _BAR, found[0]), row)
            if _num_cells(masked) == num_cells:
                yield state.bMarks[number] + state.tShift[number], masked


def _num_cells(row: str) -> int:
    return len(re.split(r"(?<!\\)\|", row.strip().removeprefix("|").removesuffix("|")))


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]
