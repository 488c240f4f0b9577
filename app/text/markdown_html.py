"""The HTML of parsed Markdown, in the subset that QTextDocument knows. Raw HTML becomes text, and a link whose
text looks like another address names the place it leads to."""

from __future__ import annotations

import re
from html import escape
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from app.text import formulas
from app.text.links import opened_address, true_place
from app.text.origin_marks import MarkedSource, html_of

if TYPE_CHECKING:  # slow to import, and not needed before the first reply
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

KNOWN_INLINE = 2_000  # texts
_TASK = re.compile(r"\[([ xX])\][ \u00a0]+(?=\S)")
_DISPLAYED, _DISPLAYED_END = "<center>", "</center>"  # around a formula that stands alone, until it is known where
_DISPLAYED_ENDS = re.compile(rf"{_DISPLAYED_END}([.,;:]?)")  # a sentence may end there

_known_inline: dict[str, str] = {}  # a growing list or table is parsed again and again; used by one thread


def html_of_blocks(
    tokens: list[Token], parser: MarkdownIt, env: dict[str, Any], marked: MarkedSource | None = None
) -> str:
    html: list[str] = []
    for place, token in enumerate(tokens):
        if token.type == "inline":
            box, content = _box(token.content, tokens[max(0, place - 2) : place])
            if marked is None:
                inline = box + _inline(content, parser, env)
            else:
                marked.enter(token.map, token.content)
                inline = box + _html_of_inline(_inline_tokens(content, parser, env), marked)
            html.append(_with_displayed(inline, tokens[max(0, place - 2) : place]))
        elif (formula := formulas.of_fence(token)) is not None:
            html.append(f"<p>{formula_html(formula.source, marked)}</p>")
        elif token.type in ("fence", "code_block"):
            code = token.content.removesuffix("\n")
            html.append(f"<pre>{html_of(code, marks_of_code(token, code, marked)) if marked else escape(code)}</pre>")
        elif token.type in ("th_open", "td_open"):
            side = str(token.attrs.get("style", "")).removeprefix("text-align:") or "left"
            html.append(f'<{token.tag} align="{side}"{_attributes(token, "width")}>')
        elif token.type == "ordered_list_open":
            html.append(f'<ol start="{int(token.attrs.get("start", 1))}">')
        elif token.type == "table_open":
            html.append(f'<table cellspacing="0" cellpadding="7"{_attributes(token, "width", "style")}>')
        elif token.hidden:  # the paragraph of a tight list item
            continue
        else:
            html.append(f"</{token.tag}>" if token.nesting < 0 else f"<{token.tag}>")
    return "".join(html).replace("<p></p>", "")  # around a displayed formula


def _box(content: str, before: list[Token]) -> tuple[str, str]:
    """The box of a task in a list, and what is to be done."""
    found = _TASK.match(content) if before and before[0].type == "list_item_open" else None
    return ("\u2610 " if found[1] == " " else "\u2611 ", content[found.end() :]) if found else ("", content)


def _attributes(token: Token, *names: str) -> str:
    return "".join(f' {name}="{token.attrs[name]}"' for name in names if token.attrs.get(name))


def _with_displayed(html: str, before: list[Token]) -> str:
    """Inline text with displayed formulas on lines of their own where possible. `before`: the two preceding tokens, if
    any."""
    is_hidden = before[-1].hidden  # of a tight list item
    if _DISPLAYED not in html:
        return f"<p>{html}</p>" if is_hidden and before[0].type == "paragraph_close" else html
    if before[-1].type != "paragraph_open":  # a cell, or a heading
        return html.replace(_DISPLAYED, "").replace(_DISPLAYED_END, "")
    html = _DISPLAYED_ENDS.sub(r"\1</p><p>", html.replace(_DISPLAYED, "</p><p>"))
    return f"<p>{html}</p>" if is_hidden else html


def _inline(content: str, parser: MarkdownIt, env: dict[str, Any]) -> str:
    """The HTML of inline text; without link definitions it depends on the text alone and is cached."""
    if not env["references"] and content in _known_inline:
        return _known_inline[content]
    html = _html_of_inline(_inline_tokens(content, parser, env))
    if not env["references"]:
        if len(_known_inline) >= KNOWN_INLINE:
            _known_inline.clear()
        _known_inline[content] = html
    return html


def _inline_tokens(content: str, parser: MarkdownIt, env: dict[str, Any]) -> list[Token]:
    children: list[Token] = []
    parser.inline.parse(content, parser, env, children)
    return children


def _html_of_inline(tokens: list[Token], marked: MarkedSource | None = None) -> str:
    """Reads `marked` along with these tokens. A link whose text looks like another address shows where it leads."""
    html: list[str] = []
    place = ""  # that the link leads to, where that must be said
    depth = 0  # of emphasis and links
    for index, token in enumerate(tokens):
        depth += token.nesting
        if token.type == "formula":
            words = formula_html(token.content, marked)
            html.append(f"{_DISPLAYED}{words}{_DISPLAYED_END}" if _is_alone(token, depth) else words)
        elif token.type == "softbreak" and any(_is_alone(each, depth) for each in tokens[index - 1 : index + 2]):
            continue  # next to lines of its own
        elif token.type in ("text", "text_special"):
            written = token.markup if token.type == "text_special" else ""
            html.append(marked.html(token.content, written) if marked else escape(token.content))
        elif token.type == "html_tag":
            html.append(token.content)
        elif token.type in ("softbreak", "hardbreak", "html_break"):  # models break lines where they mean it
            html.append("<br>")
        elif token.type == "code_inline":
            html.append(f"<code>{marked.html(token.content) if marked else escape(token.content)}</code>")
        elif token.type == "link_open":
            address = opened_address(str(token.attrs.get("href", "")))
            shown = takewhile(lambda each: each.type != "link_close", tokens[index:])
            place = true_place("".join(each.content or "\n" for each in shown), address)
            html.append(_link_open(address))
        elif token.type == "image":
            words = _html_of_inline(token.children or [], marked) or "image"
            address = opened_address(str(token.attrs.get("src", "")))
            html.append(f"{_link_open(address)}{words}</a>{_led_to(true_place(token.content, address))}")
            if marked:
                marked.end_link()
        elif token.type == "link_close":
            html.append(f"</a>{_led_to(place)}")
            if marked and token.markup != "autolink":
                marked.end_link()
        elif token.tag in ("em", "strong", "s", "a"):
            html.append(f"</{token.tag}>" if token.nesting < 0 else f"<{token.tag}>")
        else:
            html.append(escape(token.content))
    return "".join(html)


def _is_alone(token: Token, depth: int) -> bool:
    """True for a formula on lines of its own."""
    return token.type == "formula" and not depth and formulas.Formula(token.content).is_displayed


def formula_html(source: str, marked: MarkedSource | None) -> str:
    html = formulas.in_html(source)
    return marked.whole(html, source) if marked else html


def _link_open(address: str) -> str:
    """Opens a link with its address as the tooltip."""
    return f'<a href="{escape(address)}" title="{escape(address)}">' if address else "<a>"


def _led_to(place: str) -> str:
    return f" (→\u00a0{escape(place)})" if place else ""


def marks_of_code(token: Token, code: str, marked: MarkedSource | None) -> str:
    if marked is None or token.map is None:
        return ""
    return marked.lines(token.map[0] + (token.type == "fence"), code)


def plain_html(text: str, marks: str = "") -> str:
    return (html_of(text, marks) if marks else escape(text)).replace("\n", "<br>")
