from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.text.long_blocks import TABLE_PIECE
from app.text.markdown import (
    LONGEST_BLOCK,
    PROSE_PIECE,
    Block,
    CodeBlock,
    MarkdownStream,
    ProseBlock,
    parse,
    parsing,
)

# Lines that begin, end or change blocks, so that random texts meet the border cases.
LINES = st.sampled_from(
    [
        "",
        "",
        "word",
        "two words",
        "# heading",
        "#",
        "---",
        "===",
        "***",
        "- item",
        "  - deeper",
        "    indented",
        "1. one",
        "2) two",
        "-",
        "> quote",
        ">> deeper",
        "```",
        "```python",
        "~~~",
        "    ```",
        "  ```",
        "| a | b |",
        "|---|--:|",
        "| 1 | 2 |",
        "a | b",
        "--|--",
        "[a]: http://example.org",
        "see [a] and [b](http://b.example)",
        "[a]: <> 'x",
        "\tx",
        "&amp; \\* *a*",
        "end\\",
        "end  ",
        "<div>",
        "<details><summary>more</summary>",
        "</details>",
        "a<br>b <kbd>c</kbd> <sub>d",
        "- [x] done",
        "| `a|b` | c |",
        "重点**「甲」**乙",
        "\r",
        "`code",
        "**bold",
        "![a](b)",
        "$$",
        "$$ a",
        "- b $$",
        "\\[",
        "\\]",
        "$x$ $5 \\(y\\)",
        "```math",
    ]
)
TEXTS = st.lists(LINES, max_size=25).map("\n".join)


def fed(text: str, sizes: list[int]) -> MarkdownStream:
    stream = MarkdownStream()
    begin = 0
    for size in sizes:
        stream.feed(text[begin : begin + size])
        begin += size
    stream.feed(text[begin:])
    return stream


def html(text: str) -> str:
    return "".join(block.html for block in parse(text) if isinstance(block, ProseBlock))


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.lists(st.integers(1, 40), max_size=40))
def test_pieces_give_the_blocks_of_the_whole(text: str, sizes: list[int]) -> None:
    assert fed(text, sizes).finish() == parse(text)


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_single_characters_give_the_blocks_of_the_whole(text: str) -> None:
    assert fed(text, [1] * len(text)).finish() == parse(text)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab `*_[](){}<>#-+1.|\\\n\t:!&~=\"'$", max_size=80), st.lists(st.integers(1, 5), max_size=30))
def test_random_signs_give_the_blocks_of_the_whole(text: str, sizes: list[int]) -> None:
    assert fed(text, sizes).finish() == parse(text)


def test_complete_blocks_stay_the_same_objects() -> None:
    stream = MarkdownStream()
    before = stream.feed("intro\n\n```py\nx = 1\n```\n\nmore text\n\n")
    after = stream.feed("and the end")
    assert before[0] is after[0]
    assert before[1] is after[1]


def test_complete_blocks_are_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = MarkdownStream()
    stream.feed("paragraph\n\n" * 500)
    parsed: list[str] = []
    original = stream._parser.parse

    def record(text: str, env: dict[str, object]) -> object:
        parsed.append(text)
        return original(text, env)

    monkeypatch.setattr(stream._parser, "parse", record)
    stream.feed("tail")
    assert sum(map(len, parsed)) < 100


def test_prose_comes_in_pieces_of_bounded_size() -> None:
    blocks = parse("some words in a paragraph\n\n" * 1_000)
    assert len(blocks) > 5
    assert all(isinstance(block, ProseBlock) and len(block.html) < PROSE_PIECE + 100 for block in blocks)


def test_an_unclosed_fence_is_code_already() -> None:
    assert MarkdownStream().feed("```Python\ndef f():\n    pass") == (CodeBlock("python", "def f():\n    pass"),)


def test_a_fence_without_a_language_has_none() -> None:
    assert parse("```\nx\n```") == (CodeBlock("", "x"),)


def test_only_the_first_word_after_a_fence_is_the_language() -> None:
    assert parse("```rust title=x\n```") == (CodeBlock("rust", ""),)


def test_late_definitions_are_resolved_when_finished() -> None:
    stream = MarkdownStream()
    stream.feed("see [a]\n\nmore\n\n[a]: http://example.org\n")
    (block,) = stream.finish()
    assert isinstance(block, ProseBlock)
    assert '<a href="http://example.org" title="http://example.org">a</a>' in block.html


def test_raw_html_is_shown_as_text() -> None:
    assert html("<script>alert(1)</script> and <b onclick=x>bold</b>") == (
        "<p>&lt;script&gt;alert(1)&lt;/script&gt; and &lt;b onclick=x&gt;bold&lt;/b&gt;</p>"
    )
    assert "<div" not in html("<div>\nblock\n</div>")


def test_images_are_links_with_their_words() -> None:
    assert html("![a *cat*](http://example.org/cat.png)") == (
        '<p><a href="http://example.org/cat.png" title="http://example.org/cat.png">a <em>cat</em></a></p>'
    )
    assert "<img" not in html("![](file:///etc/passwd) ![x](data:image/png;base64,AAAA)")


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "JaVaScRiPt:x",
        "data:text/html,x",
        "qrc:/x",
        "ftp://x",
        "//x",
        "/etc",
    ],
)
def test_other_schemes_lead_nowhere(address: str) -> None:
    assert "href" not in html(f"[click]({address}) <{address}> ![image]({address})")


def test_quotes_in_addresses_do_not_leave_the_attribute() -> None:
    assert 'onclick="' not in html('[a](http://x/"onclick="y)')


@pytest.mark.parametrize(
    "text",
    [
        ">" * 5_000 + "a",
        "[" * 20_000,
        "".join("  " * depth + "- a\n" for depth in range(200)),
        "**a " * 3_000,
        "`" * 30_000,
        "|" * 3_000 + "\n" + "|-" * 3_000,
        "\0\ud800x",
    ],
)
def test_hostile_texts_are_parsed(text: str) -> None:
    assert fed(text, [len(text) // 2]).finish() == parse(text)


def test_an_overlong_line_is_shown_whole_in_pieces() -> None:
    line = "word " * 40_000
    blocks = parse(line)
    assert len(line) > LONGEST_BLOCK
    assert len(blocks) > 10
    assert "".join(b.html for b in blocks if isinstance(b, ProseBlock)).count("word") == 40_000


def test_tables_keep_their_alignment() -> None:
    assert '<td align="right">1</td>' in html("| a |\n|--:|\n| 1 |")
    assert '<td align="left">1</td>' in html("| a |\n|---|\n| 1 |")


def test_a_long_table_comes_in_pieces_with_columns_of_the_same_width() -> None:
    rows = "".join(f"| {number} | some words about it |\n" for number in range(250))
    pieces = [
        block
        for block in parse(f"Before.\n\n| no | what |\n|--:|---|\n{rows}\nAfter.")
        if isinstance(block, ProseBlock)
    ]
    tables = [block.html for block in pieces if "<table" in block.html]
    assert len(tables) == 3
    assert all(table.count("<td") + table.count("<th") <= TABLE_PIECE + 1 for table in tables)
    assert [table.count("<th ") for table in tables] == [2, 0, 0]
    assert [block.joined for block in pieces] == [False, False, True, True, False]
    assert [block.is_table for block in pieces] == [False, True, True, True, False]
    assert len({tuple(re.findall(r'width="(\d+)%"', table)) for table in tables}) == 1
    cells = re.findall(r'<td align="right"[^>]*>(\d+)</td>', "".join(tables))
    assert cells == [str(number) for number in range(250)]
    assert pieces[-1].html == "<p>After.</p>"


def test_a_long_table_that_grows_is_the_same_as_one_that_came_at_once() -> None:
    text = "| a | b |\n|---|---|\n" + "| 1 | `two` |\n" * 350
    growing = fed(text, [97] * 60)
    assert growing.finish() == parse(text)


def test_lists_keep_their_first_number() -> None:
    assert html("7. seven\n8. eight") == '<ol start="7"><li>seven</li><li>eight</li></ol>'


def test_line_breaks_are_kept() -> None:
    assert html("roses\nviolets") == "<p>roses<br>violets</p>"


@pytest.mark.parametrize(
    "text",
    [
        "- a\n" * 20_000,
        "[" * 100_000,
        "- " + "[a](*" * 20_000,
        "|a" * 5_000 + "|\n" + "|-" * 5_000 + "|\n" + "|b\n" * 500,
        "|a" * 40 + "|\n" + "|-" * 40 + "|\n" + "|b\n" * 3_000,
        "a=b " * 25_000,
        "```python\n" + "x = 1\n" * 15_000,
        "    code\n" * 10_000,
        "text\n\n" + "x" * 100_000 + "\n\n# end",
    ],
    ids=["list", "brackets", "links", "columns", "cells", "paragraph", "code", "indented", "line"],
)
def test_no_step_looks_at_more_than_a_bounded_part_of_a_long_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from markdown_it import MarkdownIt

    from app.text.markdown_rules import InlineParser

    parsed: list[int] = []
    signs: list[int] = []
    block, inline = MarkdownIt.parse, InlineParser.parse

    def parse(self: MarkdownIt, source: str, env: Any = None) -> Any:
        parsed.append(len(source))
        return block(self, source, env)

    def parse_inline(self: InlineParser, source: str, *rest: Any) -> Any:
        signs.append(source.count("["))
        return inline(self, source, *rest)

    monkeypatch.setattr(MarkdownIt, "parse", parse)
    monkeypatch.setattr(InlineParser, "parse", parse_inline)
    blocks: tuple[Block, ...] = ()
    for num_steps, step in enumerate(parsing(text)):
        blocks = step[0]
        assert max(parsed, default=0) <= LONGEST_BLOCK
        assert sum(parsed) <= 6 * LONGEST_BLOCK
        assert max(signs, default=0) <= 2_500
        parsed.clear()
        assert num_steps < 100
    shown = "".join(
        block.code if isinstance(block, CodeBlock) else re.sub(r"<[^>]*>", "", block.html) for block in blocks
    )
    assert len(re.findall(r"\w", shown)) == len(re.findall(r"\w", text.removeprefix("```python")))


def test_long_code_is_one_block_however_it_comes() -> None:
    code = "if x:\n" + "    ünder = 1\n" * 3_000
    text = f"before\n\n  ~~~~py\n{code}~~~\n  ~~~~  \n\nafter"
    *_, found, after = parse(text)
    assert found == CodeBlock("py", f"{code}~~~".replace("    ünder", "  ünder"))
    assert after == ProseBlock("<p>after</p>")
    assert fed(text, [1_000] * 30).finish() == parse(text)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("请看**“标题”**部分", "请看<strong>“标题”</strong>部分"),
        ("**第二：**继续", "<strong>第二：</strong>继续"),
        ("これは*強調（注）。*です", "これは<em>強調（注）。</em>です"),
        ("이것은 **중요(매우)**합니다", "이것은 <strong>중요(매우)</strong>합니다"),
        ("~~旧。~~新", "<s>旧。</s>新"),
        ("**甲**、**乙**", "<strong>甲</strong>、<strong>乙</strong>"),
        ("`**码。**后`", "<code>**码。**后</code>"),
        (r"\*\*不\*\*", "**不**"),
        ("中 ** 文 ** 字", "中 ** 文 ** 字"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("**Note:**text", "**Note:**text"),
        ("snake_名_case", "snake_名_case"),
    ],
)
def test_emphasis_beside_letters_without_spaces_between_words_is_as_meant(text: str, html: str) -> None:
    assert parse(text) == (ProseBlock(f"<p>{html}</p>"),)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("CO<sub>2</sub> and x<sup>2</sup>", "CO<sub>2</sub> and x<sup>2</sup>"),
        ("<KBD>Esc</KBD>", "<code>Esc</code>"),
        ("one<br/>two<BR>three", "one<br>two<br>three"),
        ("never <sub>closed", "never &lt;sub&gt;closed"),
        ("never opened</sub>", "never opened&lt;/sub&gt;"),
        ("<b onclick='x'>a</b>", "&lt;b onclick='x'&gt;a&lt;/b&gt;".replace("'", "&#x27;")),
        ("<script>a</script>", "&lt;script&gt;a&lt;/script&gt;"),
        ("`<br>`", "<code>&lt;br&gt;</code>"),
    ],
)
def test_a_few_tags_without_attributes_are_kept_where_they_are_opened_and_closed(text: str, html: str) -> None:
    assert parse(text) == (ProseBlock(f"<p>{html}</p>"),)


def test_tasks_have_boxes() -> None:
    (block,) = parse("- [ ] buy *tea*\n- [X] sleep\n- [y] none\n\nText [x] here\n")
    assert isinstance(block, ProseBlock)
    items = ("☐ buy <em>tea</em>", "☑ sleep", "[y] none")
    assert block.html == f"<ul>{''.join(f'<li>{each}</li>' for each in items)}</ul><p>Text [x] here</p>"


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("| `a || b` | or |", ["<code>a || b</code>", "or"]),
        ("| ``x|`y`` | z |", ["<code>x|`y</code>", "z"]),
        (r"| `a\|b` | c |", ["<code>a|b</code>", "c"]),
        ("| ` | ` |", ["`", "`"]),
        ("| one<br>two | **c** |", ["one<br>two", "<strong>c</strong>"]),
    ],
)
def test_a_bar_in_code_ends_no_cell(row: str, cells: list[str]) -> None:
    (block,) = parse(f"| h | i |\n|---|---|\n{row}\n")
    assert isinstance(block, ProseBlock)
    assert re.findall(r"<td[^>]*>(.*?)</td>", block.html) == cells


def test_details_are_a_heading_and_what_is_inside() -> None:
    (block,) = parse("<details>\n<summary>More *of it*</summary>\n\n- one\n\n</details>\nafter <details> it\n")
    assert block == ProseBlock("<h4>More <em>of it</em></h4><ul><li>one</li></ul><p>after &lt;details&gt; it</p>")


def test_a_line_of_many_summaries_is_read_at_once() -> None:
    (block,) = parse("<summary>a</summary>" * 40 + "x")
    assert isinstance(block, ProseBlock)
    assert block.html.count("&lt;summary&gt;") == 40


def test_many_tags_within_each_other_are_kept() -> None:
    (block,) = parse("<sub>" * 700 + "x" + "</sub>" * 700)
    assert isinstance(block, ProseBlock)
    assert block.html.count("<sub>") == 700
