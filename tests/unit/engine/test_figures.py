"""Counts of rounds."""

from __future__ import annotations

from engine.figures import DecodingFigures


def test_drafted_tokens_count_by_their_place_as_far_as_they_were_reached() -> None:
    figures = DecodingFigures()
    figures.count_draft("drafter", num_drafted=4, num_accepted=2, num_steps=5)  # the third was refused
    figures.count_draft("drafter", num_drafted=2, num_accepted=2, num_steps=2)
    figures.count_draft("drafter", num_drafted=0, num_accepted=0, num_steps=1)
    assert dict(figures.checked) == {1: 2, 2: 2, 3: 1}
    assert dict(figures.stood) == {1: 2, 2: 2}
    assert (figures.num_drafted, figures.num_accepted, figures.num_steps) == (6, 4, 8)
    assert figures.by_proposer["drafter"].num_rounds == 2
