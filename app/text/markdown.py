"""Turns the Markdown of a reply into blocks that widgets can show, while the reply is being written.

A top-level block is complete once another one has begun on a complete line below it; only the text from the start of
the last block on is parsed again. Link definitions alone change finished blocks, so a text that contains any is parsed
once more, whole, when it is finished.

The text of a model is not trusted: raw HTML is shown as text, images become links, and links open http, https and
mailto only. What of a block that is no code goes beyond `LONGEST_BLOCK` or `MOST_LINES` is cut off as plain text, in
pieces, and so is a block with more signs or cells than a reader takes in: no step takes longer than a frame or two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from app.text import formulas
from app.text.long_blocks import parts
from app.text.markdown_html import formula_html, html_of_blocks, marks_of_code, plain_html
from app.text.origin_marks import MarkedSource

if TYPE_CHECKING:  # slow to import, and not needed before the first reply
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

PROSE_PIECE = 2_000  # characters of HTML after which a new prose block begins, so that no widget becomes slow
SLICE = 4_000  # characters of a finished text that are parsed at once …
_LINES_OF_SLICE = 400
_FIRST_SLICE = 1_000  # … and shown at once, too, unless …
_SHORT = 2_000  # … there are no more
LONGEST_BLOCK = 16_000  # characters of Markdown
_MOST_READ_AGAIN = 12_000  # characters, for links that are defined at their end
MOST_LINES = 800  # of a block
_MOST_SIGNS = 1_500  # in a block, that may begin a link or emphasis
_MOST_LOOKED_AT = 1_000_000  # characters, for the ends of all links in a paragraph
_LONGEST_LINE = 50_000  # characters of code
_MOST_TABS = 500  # in a line of code
_SIGNS = "[*_~`<&!\\"
PLAIN_PIECE = 4_000  # characters of a block that is shown as plain text


@dataclass(frozen=True, slots=True)
class ProseBlock:
    html: str  # of one or several top-level blocks, in the subset that QTextDocument knows
    joined: bool = False  # continues the list or table of the block before
    is_table: bool = False  # alone: it scrolls sideways where it is wide


@dataclass(frozen=True, slots=True)
class CodeBlock:
    language: str  # as the model named it, lower case; may be empty
    code: str  # without the last line break
    marks: str = ""  # who guessed it, see `app.text.origin_marks`; as long as the code, or empty


Block = ProseBlock | CodeBlock


def parse(text: str, marks: str = "") -> tuple[Block, ...]:
    """The blocks of a finished text, coloured by origin if `marks` are given for its characters."""
    *_, (blocks, _) = parsing(text, marks)
    return blocks


def parsing(text: str, marks: str = "") -> Iterator[tuple[tuple[Block, ...], bool]]:
    """Yields the blocks so far, slice by slice, and whether they are all."""
    stream = MarkdownStream()
    begin, size = 0, len(text) if len(text) <= _SHORT else _FIRST_SLICE
    while begin < len(text):
        end = _end_of_slice(text, begin, size)
        blocks = stream.feed(text[begin:end], marks[begin:end])
        if len(text) > _SHORT:  # else the end is soon found, too
            yield blocks, False
        begin, size = end, SLICE
    yield stream.finish(), True


def _end_of_slice(text: str, begin: int, size: int) -> int:
    end = begin
    for _ in range(_LINES_OF_SLICE):
        end = text.find("\n", end, begin + size) + 1
        if not end:
            return begin + size
    return end


class MarkdownStream:
    """Blocks of a text that arrives in pieces.

    After `finish` they are those of the whole text parsed at once, however it was cut. Before, only links whose
    definition has not come yet may differ.
    """

    def __init__(self) -> None:
        self._parser = _block_parser()
        self._text: list[str] = []
        self._marks: list[str] = []  # of the text; empty where there are none, as are the others
        self._tail = ""  # from the last top-level block on, with \n as line end
        self._tail_marks = ""
        self._held = ""  # a \r that may be half of a line end
        self._held_marks = ""
        self._complete = _Pieces()  # everything before the tail
        self._definitions: dict[str, Any] = {}  # link definitions before the tail
        self.blocks: tuple[Block, ...] = ()

    def feed(self, piece: str, marks: str = "") -> tuple[Block, ...]:
        """Takes the next piece and returns all blocks so far; complete ones are the same objects again. `marks`: one
        for each character, either with every piece or with none."""
        piece, marks = self._held + formulas.without_places(piece), self._held_marks + marks
        self._held = "\r" if piece.endswith("\r") else ""
        self._held_marks = marks[-1:] if self._held else ""
        if "\r" in piece:
            piece, marks = _with_plain_line_ends(piece.removesuffix("\r"), marks)
        self._text.append(piece)
        self._marks.append(marks)
        self._tail += piece
        self._tail_marks += marks
        code = self._cut_tail()
        env = self._environment()
        tail_blocks = [code] if code else self._settle(self._blocks_of_tail(env))
        self.blocks = self._complete.copy().add_all(tail_blocks, self._parser, env).blocks()
        return self.blocks

    def finish(self) -> tuple[Block, ...]:
        """Returns the blocks of the whole text, which must not be fed any more."""
        if self._held:
            self.feed("\n", "t" if self._held_marks else "")
        env = self._environment()
        if len(self._tail) <= LONGEST_BLOCK:
            _top_level_blocks(self._parser, self._tail, env)
        if env["references"] and sum(map(len, self._text)) <= _MOST_READ_AGAIN:  # else what came before stays
            env = {"references": {}}
            blocks = _top_level_blocks(self._parser, "".join(self._text), env, "".join(self._marks))
            self.blocks = _Pieces().add_all(blocks, self._parser, env).blocks()
        return self.blocks

    def _blocks_of_tail(self, env: dict[str, Any]) -> list[_TopLevel]:
        return _top_level_blocks(self._parser, self._tail, env, self._tail_marks)

    def _cut_tail(self) -> _TopLevel | None:
        """Settles what exceeds the longest block. Returns an open fence instead, which may have any length."""
        while len(head := _head(self._tail)) < len(self._tail):
            rest, marks = self._tail[len(head) :], self._tail_marks
            self._tail, self._tail_marks = head, marks[: len(head)]
            blocks = self._blocks_of_tail(self._environment())
            left = self._settle(blocks)
            is_one = len(self._tail) == len(head)
            self._tail, self._tail_marks = self._tail + rest, self._tail_marks + marks[len(head) :]
            if is_one and left and left[0].tokens[0].type == "fence":
                code, size = _long_code(left[0].tokens[0], self._tail, self._tail_marks)
                if size == len(self._tail):
                    return code
                self._complete.add_all([code], self._parser, self._environment())
                self._drop(size)
            elif is_one:
                if head.strip():
                    self._complete.add_plain(head, self._tail_marks[: len(head)])
                self._drop(len(head))
        return None

    def _drop(self, size: int) -> None:
        self._tail, self._tail_marks = self._tail[size:], self._tail_marks[size:]

    def _environment(self) -> dict[str, Any]:
        return {"references": dict(self._definitions)}

    def _settle(self, blocks: list[_TopLevel]) -> list[_TopLevel]:
        """Moves the blocks that can no longer change from the tail to the complete ones and returns the others.

        An incomplete line may belong to any block (`#` is a heading, `#x` is not), so a block that begins on one
        completes nothing.
        """
        num_complete_lines = self._tail.count("\n")
        started = [block for block in blocks if block.first_line < num_complete_lines]
        settled = started[:-1]
        if not settled:
            return blocks
        lines = self._tail.split("\n")
        first_line = blocks[len(settled)].first_line
        env = self._environment()
        # Once more without the tail, whose definitions may be incomplete.
        head = "\n".join(lines[:first_line]) + "\n"
        complete = _top_level_blocks(self._parser, head, env, self._tail_marks[: len(head)])
        self._complete.add_all(complete, self._parser, env)
        self._definitions = env["references"]
        self._tail = "\n".join(lines[first_line:])
        self._tail_marks = self._tail_marks[len(head) :]
        return blocks[len(settled) :]


@dataclass(frozen=True, slots=True)
class _TopLevel:
    tokens: list[Token]  # of the block level; inline text is not parsed yet
    first_line: int
    source: str
    marks: str = ""  # of the source

    def marked(self) -> MarkedSource | None:
        return MarkedSource(self.source, self.marks, self.first_line) if self.marks else None


class _Pieces:
    """Joins neighbouring prose into pieces of bounded size; the same blocks always give the same pieces."""

    def __init__(self) -> None:
        self._full: list[Block] = []
        self._open = ""
        self._joined = False
        self._is_table = False  # what is open

    def copy(self) -> _Pieces:
        other = _Pieces()
        other._full = list(self._full)
        other._open = self._open
        other._joined = self._joined
        other._is_table = self._is_table
        return other

    def add_all(self, blocks: Iterable[_TopLevel], parser: MarkdownIt, env: dict[str, Any]) -> _Pieces:
        for block in blocks:
            self._add(block, parser, env)
        return self

    def _add(self, block: _TopLevel, parser: MarkdownIt, env: dict[str, Any]) -> None:
        first = block.tokens[0]
        formula = formulas.of_fence(first)
        if formula is not None:
            self._open += f"<p>{formula_html(formula.source, block.marked())}</p>"
        elif first.type in ("fence", "code_block"):
            self._close()
            language = first.info.split()[0].lower() if first.info.strip() else ""
            code = first.content.removesuffix("\n")
            if _is_slow_code(code):
                self.add_plain(code, marks_of_code(first, code, block.marked()))
                return
            self._full.append(CodeBlock(language, code, marks_of_code(first, code, block.marked())))
        elif _is_heavy(block):
            self.add_plain(block.source, block.marks)
        else:
            marked = block.marked()
            is_table = first.type == "table_open"
            if is_table or self._is_table:
                self._close()
            self._is_table = is_table
            for index, tokens in enumerate(parts(block.tokens)):
                if index:
                    self._close()
                    self._joined, self._is_table = True, is_table
                self._open += html_of_blocks(tokens, parser, env, marked)
        if len(self._open) >= PROSE_PIECE:
            self._close()

    def add_plain(self, text: str, marks: str) -> None:
        for begin in range(0, len(text), PLAIN_PIECE):
            self._close()
            end = begin + PLAIN_PIECE
            self._open = "<p>" + plain_html(text[begin:end], marks[begin:end]) + "</p>"

    def blocks(self) -> tuple[Block, ...]:
        return (*self._full, self._block()) if self._open else tuple(self._full)

    def _block(self) -> ProseBlock:
        return ProseBlock(self._open, self._joined, self._is_table)

    def _close(self) -> None:
        if self._open:
            self._full.append(self._block())
            self._open = ""
        self._joined = self._is_table = False


def _head(text: str) -> str:
    """The first lines, up to the longest block; a longer line is cut."""
    end = 0
    for _ in range(MOST_LINES):
        end = text.find("\n", end) + 1
        if not 0 < end <= LONGEST_BLOCK:
            break
    if 0 < end <= LONGEST_BLOCK:  # a count of lines
        return text[:end]
    return text if len(text) <= LONGEST_BLOCK else text[: text.rfind("\n", 0, LONGEST_BLOCK) + 1 or LONGEST_BLOCK]


def _long_code(opening: Token, text: str, marks: str) -> tuple[_TopLevel, int]:
    """The code of a fence at the beginning of the text, and its length there."""
    first = text.index(opening.markup)
    mark, indent = opening.markup[0], first - text.rfind("\n", 0, first) - 1
    begin = text.find("\n", first) + 1
    end = re.compile(rf"^ {{0,3}}{mark}{{{len(opening.markup)},}}[ \t]*(?:\n|\Z)", re.MULTILINE).search(text, begin)
    content = text[begin : len(text) if end is None else end.start()]
    token = copy(opening)
    token.content = re.sub(rf"^ {{1,{indent}}}", "", content, flags=re.MULTILINE) if indent else content
    size = len(text) if end is None else end.end()
    return _TopLevel([token], text.count("\n", 0, first), text[:size], marks[:size]), size


def _is_slow_code(code: str) -> bool:
    """True if it has long lines, which Qt does not wrap and lays out slowly."""
    longest = max(code.split("\n"), key=len)
    return len(longest) > _LONGEST_LINE or longest.count("\t") > _MOST_TABS


def _is_heavy(block: _TopLevel) -> bool:
    """True if parsing it or laying it out would take long."""
    has_many_signs = _num_signs(block.source) > _MOST_SIGNS
    return (
        len(block.source) > LONGEST_BLOCK
        or (has_many_signs and _num_signs(formulas.without_formulas(block.source)) > _MOST_SIGNS)
        or any(each.content.count("](") * len(each.content) > _MOST_LOOKED_AT for each in block.tokens)
    )


def _num_signs(text: str) -> int:
    return sum(map(text.count, _SIGNS))


def _block_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    from app.text import markdown_rules

    parser = MarkdownIt("commonmark", {"html": False})
    markdown_rules.enable(parser)
    formulas.enable(parser)
    # Inline text is parsed by `html_of_blocks`, without that of blocks that are too long.
    return parser.disable(["html_block", "html_inline", "inline", "text_join"])


def _with_plain_line_ends(text: str, marks: str) -> tuple[str, str]:
    """Normalizes line ends to \n, and the marks with them."""
    if marks:
        marks = "".join(mark for place, mark in enumerate(marks[: len(text)]) if text[place : place + 2] != "\r\n")
    return text.replace("\r\n", "\n").replace("\r", "\n"), marks


def _top_level_blocks(parser: MarkdownIt, text: str, env: dict[str, Any], marks: str = "") -> list[_TopLevel]:
    tokens = parser.parse(text, env)
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)] if marks else []
    blocks: list[_TopLevel] = []
    begin = 0
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            first, last = tokens[begin].map or [0, 0]
            source = "\n".join(lines[first:last])
            own_marks = marks[starts[first] : starts[first] + len(source)] if marks else ""
            blocks.append(_TopLevel(tokens[begin : index + 1], first, source, own_marks))
            begin = index + 1
    return blocks
