"""Who thought of which characters: cut by tokens, not by characters, and held back where the text is."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engine.messages.replies import OriginRun
from engine.numerics.draft import NO_DRAFT, Draft
from engine.replies.text import TextOrigins, TextStream, origin_of

ORIGINS = st.sampled_from(("target", "drafter", "recall"))


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
