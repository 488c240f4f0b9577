"""Counts of rounds."""

from __future__ import annotations

import pytest

from engine.speculation.decoding.figures import DecodingFigures, ProposerFigures, Recorder
from engine.speculation.numerics.draft import Draft, Verdict
from tests.fakes.clock import FakeClock


def verdict(num_accepted: int, num_steps: int, num_drafted: int, num_recalled: int = 0) -> Verdict:
    """Of a draft by the drafter after some tokens of recall."""
    draft = Draft((1,) * num_drafted, num_steps=num_steps, proposer="drafter")
    if num_recalled:
        draft = draft.after(Draft((1,) * num_recalled, proposer="recall"))
    return Verdict(draft, num_accepted, (1,) * (num_accepted + 1))


def test_drafted_tokens_count_by_their_place_as_far_as_they_were_reached() -> None:
    figures = DecodingFigures()
    figures.count_draft(verdict(2, 5, num_drafted=4))  # the third was refused
    figures.count_draft(verdict(2, 2, num_drafted=2))
    figures.count_draft(verdict(0, 1, num_drafted=0))
    assert dict(figures.checked) == {1: 2, 2: 2, 3: 1}
    assert dict(figures.accepted) == {1: 2, 2: 2}
    assert (figures.num_drafted, figures.num_accepted, figures.num_steps) == (6, 4, 8)
    assert figures.by_proposer["drafter"].num_rounds == 2


@pytest.mark.parametrize(
    ("num_accepted", "recalled", "drafted"),
    [(0, 0, 0), (2, 2, 0), (3, 3, 0), (4, 3, 1), (5, 3, 2)],
)
def test_of_a_draft_by_two_each_has_its_own_tokens(num_accepted: int, recalled: int, drafted: int) -> None:
    figures = DecodingFigures()
    figures.count_draft(verdict(num_accepted, 2, num_drafted=2, num_recalled=3))
    assert figures.by_proposer == {"recall": ProposerFigures(1, 3, recalled), "drafter": ProposerFigures(1, 2, drafted)}
    assert (figures.num_drafted, figures.num_accepted) == (5, num_accepted)
    assert figures.checked.total() == min(5, num_accepted + 1)


def test_a_round_is_counted_by_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, recorder = FakeClock(monkeypatch), Recorder()
    recorder.start()
    clock.spend(0.25)
    recorder.begin()
    for seconds in (5.0, 16.0, 2.0, 1.0):  # drafting, verifying, accepting, committing
        clock.spend(seconds)
        recorder.step()
    assert recorder.round_s == 24.25
    clock.spend(0.5)  # observing
    draft = Draft((1, 2), num_steps=3, drafter_s=4.0, reading_s=3.0, proposer="drafter", num_read=20)
    recorder.complete(Verdict(draft, 1, (1, 9)))
    figures = recorder.figures
    assert (figures.draft_s, figures.translate_s, figures.target_s, figures.accept_s) == (4.0, 1.5, 17.0, 2.0)
    assert (figures.reading_s, figures.num_readings, figures.num_read) == (3.0, 1, 20)
    assert figures.pass_s == {3: 16.0}
    clock.spend(2.0)  # telling whoever reads along
    recorder.begin()
    for _ in range(4):
        clock.spend(1.0)
        recorder.step()
    assert recorder.round_s == 0.5 + 2.0 + 4.0, "all that belongs to a round is counted"


def test_who_had_nothing_to_guess_has_not_drafted() -> None:
    figures = DecodingFigures()
    figures.count_draft(verdict(2, 1, num_drafted=0, num_recalled=2))
    assert figures.by_proposer == {"recall": ProposerFigures(1, 2, 2)}


def test_the_tokens_of_a_tree_count_by_how_far_they_are_and_by_who_guessed_the_branch() -> None:
    origins = ("recall", "drafter", "drafter", "recall")
    tree = Draft((5, 6, 7, 8), proposer="recall", origins=origins, parents=(-1, -1, 1, 1))
    figures = DecodingFigures()
    figures.count_draft(Verdict(tree, 2, (6, 8, 1), branch=(1, 3)))
    figures.count_draft(Verdict(tree, 1, (5, 1), branch=(0,)))
    figures.count_draft(Verdict(tree, 0, (1,)))
    assert (figures.num_drafted, figures.num_accepted) == (12, 3)
    assert (figures.checked, figures.accepted) == ({1: 3, 2: 1}, {1: 2, 2: 1})
    assert figures.by_proposer == {"recall": ProposerFigures(3, 6, 2), "drafter": ProposerFigures(3, 6, 1)}
