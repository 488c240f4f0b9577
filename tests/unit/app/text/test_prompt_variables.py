from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.widgets.prompt.prompt_filling import MOST_VARIABLES, PromptPiece, has_clipboard, pieces


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ()),
        ("plain", (PromptPiece("plain"),)),
        ("{a}", (PromptPiece("{a}", "a", is_open=True),)),
        ("{a:b c}", (PromptPiece("b c", "a"),)),
        ("{a: }", (PromptPiece("{a}", "a", is_open=True),)),
        ("x {my word} y", (PromptPiece("x "), PromptPiece("{my word}", "my word", is_open=True), PromptPiece(" y"))),
        ("{ä-1}", (PromptPiece("{ä-1}", "ä-1", is_open=True),)),
        ("{{a}} {{a:b}}", (PromptPiece("{a}"), PromptPiece(" "), PromptPiece("{a:b}"))),
        ('{"a": {"b": 1}}', (PromptPiece('{"a": {"b": 1}}'),)),
        ("{} {1} { a } {a", (PromptPiece("{} {1} { a } {a"),)),
        ("{a:\n}", (PromptPiece("{a:\n}"),)),
        ("one\r\ntwo\rthree", (PromptPiece("one\ntwo\nthree"),)),
        ("{clipboard}", (PromptPiece("{clipboard}", "clipboard", is_open=True),)),
    ],
)
def test_variables_are_told_from_other_braces(text: str, parts: tuple[PromptPiece, ...]) -> None:
    assert pieces(text) == parts


def test_what_was_copied_is_put_in_as_it_is() -> None:
    assert pieces("Say {clipboard}!", "{a} so") == (
        PromptPiece("Say "),
        PromptPiece("{a} so", "clipboard"),
        PromptPiece("!"),
    )
    assert has_clipboard("Say {clipboard}!")
    assert not has_clipboard("Say {{clipboard}} and {clip}!")


@given(st.text(st.sampled_from("{}:ab \n"), max_size=60))
def test_nothing_of_a_prompt_without_values_is_lost(text: str) -> None:
    """All that is left out are braces and the names of variables with a value."""
    kept = "".join(piece.text for piece in pieces(text))
    assert set(kept) <= set(text)
    assert len(kept) <= len(text)
    if not any(piece.name for piece in pieces(text)) and "{{" not in text:
        assert kept == text


def test_there_is_an_end_to_variables() -> None:
    parts = pieces("{a} " * (MOST_VARIABLES + 50))
    assert sum(bool(piece.name) for piece in parts) == MOST_VARIABLES
    assert parts[-1].text == " " + "{a} " * 50
    assert len(pieces("{" * 100_000)) == 1, "in no time"
