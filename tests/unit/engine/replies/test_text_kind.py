from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.messages.replies import TextKind
from engine.replies.text import text_kind

PROSE = "A rainbow appears when sunlight meets raindrops in 1 of 10 showers - roughly. Each drop bends the light.\n"
CODE = "def distance(first, second):\n    return abs(first - second)\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", TextKind.PROSE),
        (PROSE, TextKind.PROSE),
        (f"{PROSE}\n## A heading\n\n{PROSE}\n- one\n- two\n", TextKind.PROSE),
        (f"Here it is:\n\n```python\n{CODE}```\n", TextKind.CODE),
        (f"```\n{CODE}", TextKind.CODE),  # cut off
        (f"~~~~\n{CODE}\n```\nstill inside\n~~~~\n", TextKind.CODE),
        (f"{PROSE * 5}\n```python\nx = 1\n```\n", TextKind.PROSE),
        ("12 + 30 = 42, 42 × 2 = 84\n84 / 4 = 21\n", TextKind.NUMBERS),
        ("The result is 3.14159265358979", TextKind.NUMBERS),
        ("Here are some:\n\n1. apples\n2. pears\n3. plums\n10. cherries\n", TextKind.LISTS),
        ("- red\n- green\n\n  and a word on it\n* blue\n", TextKind.LISTS),
        ("| Way | Speed |\n|:--|--:|\n| one | slow |\n| two | fast |\n", TextKind.LISTS),
        ("1. 17\n2. 23\n3. 42\n", TextKind.NUMBERS),
    ],
)
def test_what_a_reply_mostly_is(text: str, kind: TextKind) -> None:
    assert text_kind(text) is kind


@given(st.text("`~-*|123. \nab", max_size=60))
def test_any_text_is_of_some_kind(text: str) -> None:
    assert text_kind(text) in TextKind
