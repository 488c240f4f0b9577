"""A drafter's guesses are mixed with what the user's texts usually go on with, as much as that proves right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from engine.speculation.drafter.interface import LogitRow
from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict, common_prefix_length
from engine.speculation.numerics.habits import NUM_KINDS, Expected
from engine.speculation.numerics.suffix_index import SuffixIndex
from engine.speculation.proposers.blending import Hopes, blended, hopes_at, outlook_of
from engine.speculation.proposers.costly import ProposerFailed
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.interface import Context, Proposer, Worth
from engine.speculation.proposers.recall import RecallProposer
from engine.values.draft_policy import KnownChances
from engine.values.origins import Origin
from tests.fakes.proposers import Generous, choosing, neural_proposer, sharing_proposer
from tests.fakes.target import FakeTarget
from tests.unit.engine.speculation.numerics.test_acceptance import trie_of
from tests.unit.engine.speculation.proposers.bench import context_of, tokens_of

SAID = "the inn is theirs and the thing is in the inn"
OTHER = "xy" * 40


def test_a_mixture_is_a_distribution_with_that_weight() -> None:
    logits = np.random.default_rng(1).standard_normal(40).astype(np.float32)
    before = logits.copy()
    mixed = blended(outlook_of(logits), Hopes({3: 0.5, 7: 0.2}, kind=4), weight=0.25)
    drafters = np.exp(logits) / np.exp(logits).sum()
    wanted = (1 - 0.25 * 0.7) * drafters
    wanted[[3, 7]] += 0.25 * np.array([0.5, 0.2])
    assert np.exp(mixed.logits) / np.exp(mixed.logits).sum() == pytest.approx(wanted, rel=1e-4)
    assert [mixed.probability(token) for token in (0, 3, 7)] == pytest.approx(wanted[[0, 3, 7]], rel=1e-4)
    assert (logits == before).all()
    blend = mixed.blend
    assert blend is not None
    assert blend.kind == 4
    assert blend.share_of(3) == pytest.approx(0.25 * 0.5 / wanted[3], rel=1e-4)
    assert blend.share_of(5) == 0


def test_what_is_expected_of_tokens_becomes_what_is_expected_of_the_drafters() -> None:
    trie = trie_of(["a", "ab", "abc", "b", "ba", "x"])
    expectations = {
        (): Expected({0: 0.1, 1: 0.3, 2: 0.2, 3: 0.2, 5: 0.1}, kind=1),
        (0,): Expected({4: 0.5}, kind=2),
        (1,): Expected({0: 0.4, 3: 0.5}, kind=3),
    }

    def expect(settled: Sequence[int]) -> Expected | None:
        return expectations.get(tuple(settled))

    def at(path: Sequence[int], likeliest: int = 0, settled: Sequence[int] = ()) -> Hopes | None:
        return hopes_at(expect, settled, trie, path, likeliest)

    first = at([])
    assert first is not None
    assert dict(first.masses) == pytest.approx({0: 0.6, 1: 0.2})  # “x” cannot be drafted
    inside = at([0])  # 0.1 of 0.6 stop here, and then come “ba”; the rest goes on with b
    assert inside is not None
    assert dict(inside.masses) == pytest.approx({1: 0.5 / 0.6 + 0.1 / 0.6 * 0.5})
    assert inside.kind == 1
    ending = at([0, 1])  # 0.3 of 0.5 stop here
    assert ending is not None
    assert dict(ending.masses) == pytest.approx({2: 0.4, 0: 0.6 * 0.4, 1: 0.6 * 0.5})
    assert ending.kind == 3, "by what comes next, where a stop is likelier"
    assert at([1, 0], settled=[0]) is None, "nothing is known of what follows"
    assert at([], settled=[2]) is None


def tells(logits_of: str) -> Callable[[Sequence[int]], LogitRow]:
    """The drafter's guesses: this text, without an idea of where it is."""
    letters = [*logits_of.encode()]

    def logits(held: Sequence[int]) -> LogitRow:
        row = np.zeros(270, np.float32)
        row[1 + letters[len(held) % len(letters)]] = 4.0
        return row

    return logits


@pytest.mark.parametrize("is_shared", [False, True])
def test_the_weight_follows_what_proves_right(is_shared: bool) -> None:
    vocabulary = FakeTarget().vocabulary
    text = tokens_of(SAID * 4)

    def drafts(expected_text: Sequence[int]) -> tuple[DrafterProposer, int]:
        """After the whole text was written: the drafter, and how many of its tokens stood in the last quarter."""
        make = sharing_proposer if is_shared else neural_proposer
        drafter: DrafterProposer = make(vocabulary, tells(OTHER))
        num_right, place = 0, 1
        while place < len(text) - 8:

            def expect(ahead: Sequence[int], place: int = place) -> Expected:
                return Expected({expected_text[place + len(ahead)]: 0.9}, kind=3)

            context = replace(context_of(text[:place]), expect=expect)
            draft = drafter.propose(context, 4, Generous())
            stood = common_prefix_length(draft.tokens, text[place : place + len(draft.tokens)])
            drafter.observe(Verdict(draft, stood, tuple(text[place : place + stood + 1])))
            num_right += stood if place > 0.75 * len(text) else 0
            place += stood + 1
        return drafter, num_right

    first, num_right = drafts(text)
    assert num_right > 0.1 * len(text), "most of what was expected is drafted in the end"
    second, num_right = drafts(tokens_of("q" * len(SAID) * 8))
    assert num_right == 0
    assert first.calibration.share(12 + 3) > 0.3
    assert second.calibration.share(12 + 3) < 0.02


def test_a_drafter_that_is_sure_asks_nobody() -> None:
    def logits(_held: Sequence[int]) -> LogitRow:
        row = np.zeros(270, np.float32)
        row[1 + ord("x")] = 12.0
        return row

    def expect(_ahead: Sequence[int]) -> Expected | None:
        raise AssertionError

    drafter = neural_proposer(FakeTarget().vocabulary, logits)
    context = replace(context_of(tokens_of("th")), expect=expect)
    assert drafter.propose(context, 2, Generous()).tokens == (ord("x"), ord("x"))


def test_what_the_texts_decided_counts_as_theirs() -> None:
    drafter = sharing_proposer(FakeTarget().vocabulary, tells("q"))
    drafter.calibration.know(KnownChances((*[0.5] * 12, *[0.6] * NUM_KINDS), (1.0,) * (12 + NUM_KINDS)))

    def expect(ahead: Sequence[int]) -> Expected:
        return Expected({ord("q" if ahead else "z"): 0.9}, kind=0)

    draft = drafter.propose(replace(context_of(tokens_of("th")), expect=expect), 2, Generous())
    assert [key for key, _ in draft.parts] == ["recall"]
    assert draft.place_of("drafter") == (0, 2), "which judges its guess all the same"
    alone = drafter.propose(context_of(tokens_of("th")), 2, Generous())
    assert alone.parts == (("drafter", 2),)


class Broken(Proposer):
    """Guesses, and breaks where others ask what it expects."""

    origin = Origin("broken", "Broken", "", "")
    is_free = True

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:  # noqa: ARG002
        return NO_DRAFT

    def expect(self, ahead: Sequence[int]) -> Expected | None:  # noqa: ARG002
        raise RuntimeError


def test_recall_tells_the_drafter_what_followed_also_after_what_it_drafts() -> None:
    recall = RecallProposer(lambda _owner: [SuffixIndex([[7, 8, 9, 10]])])
    assert recall.propose(context_of([5, 7]), 4, Generous()) is NO_DRAFT
    for ahead, token in (((), 8), ((8,), 9), ((8, 9), 10)):
        found = recall.expect(ahead)
        assert found is not None
        assert [*found.probabilities] == [token]
    assert recall.expect((50,)) is None


def test_one_that_fails_when_it_is_asked_is_given_up_and_not_the_drafter() -> None:
    drafter = neural_proposer(FakeTarget().vocabulary, tells(OTHER))
    speculation = choosing(Broken(), drafter)
    policy = speculation._policy
    assert policy is not None
    with pytest.raises(ProposerFailed) as failure:
        policy.propose(context_of(tokens_of("th")), 4)
    assert failure.value.origin.key == "broken"
