from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.tool_calls import CallBlock, CallPhase, call_words, formatted, running_words, seconds_words
from engine.values.tools import Outcome, ToolCall

CALL = ToolCall("a1b2c3d4e", "weather", "forecast", '{"city": "Paris"}')
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.lists(VALUES) | st.dictionaries(st.text(), VALUES), st.booleans())
def test_formatted_json_is_the_same_json(value: object, is_ascii: bool) -> None:
    shown = formatted(json.dumps(value, ensure_ascii=is_ascii))
    assert shown is not None
    assert json.loads(shown) == value


def test_nothing_of_json_is_lost() -> None:
    text = '{"a":1.10,"a":[],"big":12345678901234567890123,"s":"\\u00e4{\\n\\"","o":{"x":[1,{}]}}'
    assert formatted(text) == (
        '{\n  "a": 1.10,\n  "a": [],\n  "big": 12345678901234567890123,\n  "s": "ä{\\n\\"",\n'
        '  "o": {\n    "x": [\n      1,\n      {}\n    ]\n  }\n}'
    )


@pytest.mark.parametrize("text", ["", "Rain.", "12", '"text"', "{", '{"a": }', "[" * 50_000, "[1]" + " " * 60_000])
def test_other_text_is_not_formatted(text: str) -> None:
    assert formatted(text) is None


def test_deep_json_does_not_grow_without_end() -> None:
    text = "[" * 300 + ",".join("1" * 5_000) + "]" * 300
    assert len(formatted(text) or "") < 100 * len(text)


def test_every_end_has_words_of_its_own() -> None:
    ended = [CallBlock(CALL, CallPhase.ENDED, outcome=outcome, seconds=0.8) for outcome in Outcome]
    others = [CallBlock(CALL, phase) for phase in CallPhase if phase is not CallPhase.ENDED]
    said = [call_words(block) for block in (*ended, *others)]
    assert len({*said}) == len(said)
    assert all("weather: forecast" in words for words in said)
    assert said[0] == "Called weather: forecast · 0.8 s"
    unknown = CallBlock(ToolCall("x", "", "nothing"), CallPhase.ENDED, outcome=Outcome.FAILED)
    assert call_words(unknown) == "There is no tool called nothing"


def test_time() -> None:
    assert [seconds_words(each) for each in (0.04, 9.94, 10.2, 59.4, 61, 3600)] == [
        "0.0 s", "9.9 s", "10 s", "59 s", "1 min 1 s", "60 min 0 s",
    ]  # fmt: skip
    assert running_words(CallBlock(CALL, CallPhase.RUNNING, since_s=5), 8.9) == "Calling weather: forecast… 3 s"
