"""The text of a reply: as early as it is certain, with the origin of each character, and of which kind it is."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.draft import NO_DRAFT, Draft
from engine.speculation.replies.text import TextOrigins, TextStream, origin_of, text_kind
from engine.values.replies import OriginRun, TextKind

ORIGINS = st.sampled_from(("target", "drafter", "recall"))
PROSE = "A rainbow appears when sunlight meets raindrops in 1 of 10 showers - roughly. Each drop bends the light.\n"
CODE = "def distance(first, second):\n    return abs(first - second)\n"


def feed(stream: TextStream, pieces: list[bytes]) -> tuple[list[str], str]:
    shown = [stream.push(piece) for piece in pieces]
    return shown, "".join(shown) + stream.finish()


@given(st.text(), st.data())
def test_any_cut_gives_the_text_and_never_half_a_character(text: str, data: st.DataObject) -> None:
    text = text.encode("utf-8", "ignore").decode()
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    shown, whole = feed(TextStream(), pieces)
    assert whole == text
    assert "�" not in "".join(shown) or "�" in text


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    _, whole = feed(TextStream(), [b"a\xff", b"b"])
    assert whole == "a\ufffdb"


def test_a_character_that_is_cut_off_at_the_end_is_left_out() -> None:
    _, whole = feed(TextStream(), [b"a", b"\xf0\x9f"])
    assert whole == "a"


@given(st.text("abc", max_size=30), st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=3), st.data())
def test_text_ends_before_the_first_stop_string(text: str, stops: list[str], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=10)))
    pieces = [text[a:b].encode() for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    stream = TextStream(stops)
    released = ""
    consumed = ""
    for piece in pieces:
        consumed += piece.decode()
        released += stream.push(piece)
        if stream.stopped:
            break
    first = min((place for stop in stops if (place := consumed.find(stop)) >= 0), default=None)
    assert stream.stopped == (first is not None)
    assert released + stream.finish() == (consumed if first is None else consumed[:first])


def test_what_may_become_a_stop_string_is_held_back_until_it_is_certain() -> None:
    stream = TextStream(["END"])
    assert stream.push(b"the E") == "the "
    assert stream.push(b"N") == ""
    assert stream.push(b"emy") == "ENemy"


def spelled(runs: tuple[OriginRun, ...]) -> str:
    """One letter for each character."""
    return "".join(run.origin[0] * run.num_characters for run in runs)


@given(st.text("aé🌊END", max_size=20), st.lists(st.integers(0, 60), max_size=12), st.data())
def test_every_character_that_is_shown_has_the_origin_of_the_token_that_completed_it(
    text: str, cuts: list[int], data: st.DataObject
) -> None:
    raw = text.encode()
    places = sorted({0, len(raw), *(min(cut, len(raw)) for cut in cuts)})
    tokens = [(raw[a:b], data.draw(ORIGINS)) for a, b in pairwise(places)]
    stops = data.draw(st.sampled_from([(), ("END",), ("DEN", "N"), ("a",)]))
    ends = [len(text[: index + 1].encode()) for index in range(len(text))]  # the byte each character ends before
    owners = [
        next(origin[0] for (_, origin), end in zip(tokens, places[1:], strict=False) if end >= stop) for stop in ends
    ]

    stream, origins = TextStream(stops), TextOrigins()
    shown, told = "", ""
    for piece, origin in tokens:
        before = stream.num_decoded
        new = stream.push(piece)
        origins.note(stream.num_decoded - before, origin)
        runs = origins.release(len(new))
        assert len(spelled(runs)) == len(new)
        shown, told = shown + new, told + spelled(runs)
        if stream.stopped:
            break
    rest = stream.finish()
    told += spelled(origins.release(len(rest)))
    shown += rest
    assert told == "".join(owners)[: len(shown)]
    assert spelled(origins.runs) == told
    assert all(a.origin != b.origin for a, b in zip(origins.runs, origins.runs[1:], strict=False))
    assert all(run.num_characters > 0 for run in origins.runs)


def test_who_guessed_a_token_of_a_draft() -> None:
    recalled = Draft((1, 2), proposer="recall")
    both = Draft((3, 4), proposer="drafter").after(recalled)
    assert [origin_of(both, place) for place in range(5)] == [
        "recall", "recall", "drafter", "drafter", "target",
    ]  # fmt: skip
    assert origin_of(NO_DRAFT, 0) == "target"
    assert origin_of(Draft((7,), proposer="another"), 0) == "another"


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
