"""What comes out follows the target's distribution exactly: summed over every draft and every throw of the dice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.speculation.numerics.acceptance import accept, masses_of
from engine.speculation.numerics.draft import Draft, DraftPath, Verdict
from engine.speculation.numerics.sampling import Dice, Distribution, RandomDice
from engine.speculation.numerics.string_trie import StringTrie
from engine.speculation.numerics.translation import translate
from engine.speculation.numerics.vocabulary_map import VocabularyMap
from tests.fakes.dice import every_outcome

LETTERS = "abc"  # the drafter's vocabulary
TOLERANCE = 1e-9

StopRule = Callable[[Sequence[int]], bool]  # whether to stop after these draft tokens
Written = tuple[int, ...]


def chance_of_a_draw(wanted: Distribution, proposed: Distribution, trie: StringTrie | None) -> float:
    return float(np.minimum(masses_of(wanted, proposed, trie), proposed.probabilities).sum())


class Toy:
    """A target and a drafter with small vocabularies; every distribution is drawn at random once and then stays."""

    def __init__(self, target: Sequence[str], seed: int, concentration: float = 1.0, alike: bool = False) -> None:
        self.pieces = [piece.encode() for piece in target]
        self.trie = trie_of(target)
        self._random = np.random.default_rng(seed)
        self._concentration = concentration
        self._alike = alike
        self._p: dict[Written, Distribution] = {}
        self._q: dict[tuple[int, ...], np.ndarray] = {}
        self._drafts: dict[tuple[tuple[int, ...], bool], Distribution | None] = {}

    def p(self, history: Written) -> Distribution:
        if history not in self._p:
            weights = self._random.dirichlet(np.full(len(self.pieces), self._concentration)) + 1e-6
            if self._alike:  # most of the mass where the drafter's guesses lead
                for token in range(len(self.pieces)):
                    string = self.trie.string_of(token)
                    weights[token] *= np.prod([self.q(string[:place])[x] for place, x in enumerate(string)])
            order = np.argsort(-weights)
            self._p[history] = Distribution(order, weights[order] / weights.sum())
        return self._p[history]

    def q(self, path: tuple[int, ...]) -> np.ndarray:
        if path not in self._q:
            self._q[path] = self._random.dirichlet(np.full(len(LETTERS), self._concentration)) + 1e-6
        return self._q[path]

    def draft(self, dice: Dice, longest: int, stop: StopRule, masked: bool, limit: int) -> Draft:
        path: list[int] = []
        distributions = []
        while len(path) < longest:
            distribution = self._drafted_after(tuple(path), masked)
            if distribution is None:
                break
            distributions.append(distribution)
            path.append(int(distribution.ids[dice.choose(distribution.probabilities)]))
            if stop(path):
                break
        segments = translate(self.trie, path, lambda _token: None)
        tokens = tuple(token for segment in segments for token in segment.tokens)
        made = tokens[:limit]
        return Draft(made, DraftPath(tuple(path), tuple(distributions), self.trie, len(made)) if path else None)

    def _drafted_after(self, path: tuple[int, ...], masked: bool) -> Distribution | None:
        """What the next token is drawn from; None where every token is masked."""
        if (path, masked) not in self._drafts:
            weights = self.q(path).copy()
            if masked:
                weights[[x for x in range(len(LETTERS)) if x not in self.trie.root.children]] = 0
            ids = np.flatnonzero(weights)
            self._drafts[path, masked] = Distribution(ids, weights[ids] / weights.sum()) if len(ids) else None
        return self._drafts[path, masked]

    def error(
        self,
        longest: int,
        num_tokens: int = 3,
        stop: StopRule = lambda _path: False,
        masked: bool = True,
        limit: int = 9,
        before: Written = (),
        ends: Collection[int] = (),
    ) -> float:
        """Total variation between what comes out of a round, then completed plainly, and the target's distribution. The
        draft goes on from the tokens `before` it."""

        def round_(dice: Dice) -> Written:
            draft = self.draft(dice, longest, stop, masked, limit)
            if before:
                draft = draft.after(Draft(before))
            asked = []

            def distribution_at(place: int) -> Distribution:
                asked.append(place)
                return self.p(draft.line(place - 1))

            verdict = accept(draft, distribution_at, ends, dice)
            check(verdict, ends)
            assert asked == [0, *(place + 1 for place in verdict.places)][: len(verdict.tokens)]
            assert verdict.distributions == tuple(self.p(verdict.tokens[:length]) for length in range(len(asked)))
            return verdict.tokens

        out: dict[Written, float] = defaultdict(float)
        for weight, tokens in every_outcome(round_):
            self._complete(tokens[:num_tokens], weight, num_tokens, out, ends)
        truth: dict[Written, float] = defaultdict(float)
        self._complete((), 1.0, num_tokens, truth, ends)
        return 0.5 * sum(abs(out[tokens] - truth[tokens]) for tokens in out.keys() | truth.keys())

    def _complete(
        self, written: Written, weight: float, num_tokens: int, out: dict[Written, float], ends: Collection[int] = ()
    ) -> None:
        if len(written) == num_tokens or (written and written[-1] in ends):
            out[written] += weight
            return
        distribution = self.p(written)
        for token, probability in zip(distribution.ids.tolist(), distribution.probabilities.tolist(), strict=True):
            self._complete((*written, token), weight * probability, num_tokens, out, ends)


class SharedToy(Toy):
    """Its drafter has the target's vocabulary."""

    def __init__(self, size: int, seed: int, concentration: float = 1.0, mixed: float = 0.0) -> None:
        """`mixed`: how much of the target's distribution is in the drafter's."""
        super().__init__([chr(ord("A") + token) for token in range(size)], seed, concentration)
        self._mixed = mixed

    def q(self, path: tuple[int, ...]) -> np.ndarray:
        if path not in self._q:
            own = self._random.dirichlet(np.full(len(self.pieces), self._concentration)) + 1e-6
            wanted = self.p(path)
            own *= 1 - self._mixed
            own[wanted.ids] += self._mixed * wanted.probabilities
            self._q[path] = own
        return self._q[path]

    def draft(self, dice: Dice, longest: int, stop: StopRule, masked: bool, limit: int) -> Draft:
        """`masked`: the last token is never drafted; otherwise the drafter's likeliest two are all it draws from."""
        path: list[int] = []
        distributions = []
        while len(path) < min(longest, limit):
            drawn = self._drafted_after(tuple(path), masked)
            distributions.append(drawn)
            path.append(int(drawn.ids[dice.choose(drawn.probabilities)]))
            if stop(path):
                break
        return Draft(tuple(path), DraftPath(tuple(path), tuple(distributions), None, len(path)) if path else None)

    def _drafted_after(self, path: tuple[int, ...], masked: bool) -> Distribution:
        if (path, masked) not in self._drafts:
            weights = self.q(path).copy()
            weights[[-1] if masked else np.argsort(-weights)[2:]] = 0
            ids = np.flatnonzero(weights)
            self._drafts[path, masked] = Distribution(ids, weights[ids] / weights.sum())
        found = self._drafts[path, masked]
        assert found is not None
        return found


def trie_of(target: Sequence[str]) -> StringTrie:
    """Tokens with letters that the drafter does not know have no string."""

    def encode_many(items: Sequence[bytes]) -> list[list[int] | None]:
        return [
            [LETTERS.index(chr(value)) for value in item] if set(item) <= set(LETTERS.encode()) else None
            for item in items
        ]

    pieces = [piece.encode() for piece in target]
    return StringTrie(VocabularyMap.build(pieces, frozenset(), [x.encode() for x in LETTERS], encode_many))


def check(verdict: Verdict, ends: Collection[int] = ()) -> None:
    accepted = tuple(verdict.draft.tokens[place] for place in verdict.places)
    assert len(accepted) == verdict.num_accepted
    assert verdict.tokens[: verdict.num_accepted] == accepted
    assert not set(ends) & set(accepted[:-1])
    has_ended = bool(accepted) and accepted[-1] in ends
    assert len(verdict.tokens) == verdict.num_accepted + (not has_ended)


VOCABULARIES = {
    "all letters are tokens": ["a", "b", "c", "ab", "abc", "cab"],
    "few merges": ["a", "b", "c", "ab"],
    "merges that cross": ["a", "b", "c", "ab", "bc", "ca", "abc"],
    "a token without a string, and inner nodes that are no tokens": ["a", "b", "c", "ab", "abc", "cab", "bca", "Z"],
    "long branches of nodes that are no tokens": ["a", "b", "c", "abca", "bcb", "cc"],
    "letters that are no tokens": ["a", "ab", "ba", "bca", "Z"],
    "a letter that begins nothing": ["a", "ab", "ba", "b"],
    "no letter is a token": ["ab", "bc", "ca", "abc", "Z", "Y"],
    "nothing the drafter could write": ["X", "Y", "Z"],
}


@pytest.mark.parametrize("masked", [True, False], ids=["masked", "unmasked"])
@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES.keys())
def test_the_trie_walk_is_exact(vocabulary: list[str], masked: bool) -> None:
    assert Toy(vocabulary, seed=0).error(longest=4, masked=masked) < TOLERANCE


@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES.keys())
def test_it_is_exact_when_the_two_are_alike_or_far_apart(vocabulary: list[str]) -> None:
    assert Toy(vocabulary, seed=5, alike=True).error(longest=4) < TOLERANCE
    assert Toy(vocabulary, seed=6, concentration=0.2).error(longest=3) < TOLERANCE


@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES.keys())
def test_stopping_early_on_what_was_drafted_keeps_it_exact(vocabulary: list[str]) -> None:
    toy = Toy(vocabulary, seed=3)

    def stop(path: Sequence[int]) -> bool:
        return path[-1] == LETTERS.index("c") or toy.q(tuple(path[:-1]))[path[-1]] < 0.3

    assert toy.error(longest=5, stop=stop) < TOLERANCE


@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES.keys())
def test_checking_only_the_first_tokens_of_a_draft_keeps_it_exact(vocabulary: list[str]) -> None:
    assert Toy(vocabulary, seed=4).error(longest=4, limit=1) < TOLERANCE
    assert Toy(vocabulary, seed=4).error(longest=4, limit=2) < TOLERANCE


@pytest.mark.parametrize("masked", [True, False], ids=["masked", "unmasked"])
@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES.keys())
def test_going_on_from_what_somebody_else_guessed_is_exact(vocabulary: list[str], masked: bool) -> None:
    for before in ((1,), (2, 0)):
        toy = Toy(vocabulary, seed=7, alike=masked)
        assert toy.error(longest=3, num_tokens=len(before) + 2, masked=masked, before=before) < TOLERANCE
    assert Toy(vocabulary, seed=8).error(longest=3, masked=masked, before=(1, 1), limit=1) < TOLERANCE


@pytest.mark.parametrize("end", [0, 1, 2])
def test_it_is_exact_wherever_the_reply_ends(end: int) -> None:
    """Before the drafter's own part, at its border, inside it, or after it."""
    for before in ((), (1,), (1, 0), (0, 1)):
        toy = Toy(VOCABULARIES["few merges"], seed=9)
        assert toy.error(longest=3, num_tokens=len(before) + 2, before=before, ends={end}) < TOLERANCE


def test_it_is_exact_where_the_drafter_has_nothing_to_add() -> None:
    assert Toy(VOCABULARIES["few merges"], seed=10).error(longest=0, before=(2, 0)) < TOLERANCE
    assert Toy(VOCABULARIES["few merges"], seed=10).error(longest=0, before=(2, 0), ends={0}) < TOLERANCE
    # What it drew makes no token that is checked.
    assert Toy(VOCABULARIES["few merges"], seed=10).error(longest=2, before=(2, 0), limit=0) < TOLERANCE


@settings(max_examples=20)
@given(
    merges=st.sets(st.text(LETTERS, min_size=1, max_size=3), min_size=2, max_size=5),
    before=st.lists(st.integers(0, 1), min_size=1, max_size=2),
    seed=st.integers(0, 2**32 - 1),
    limit=st.integers(0, 3),
    ends=st.sets(st.integers(0, 1), max_size=1),
)
def test_it_is_exact_after_any_tokens_on_any_trie(
    merges: set[str], before: list[int], seed: int, limit: int, ends: set[int]
) -> None:
    toy = Toy(sorted(merges), seed)
    error = toy.error(2, len(before) + 1, masked=seed % 2 == 0, limit=limit, before=tuple(before), ends=ends)
    assert error < TOLERANCE


def test_dropping_the_token_that_made_the_drafter_stop_would_be_noticed() -> None:
    """The sums above can fail: this is the mistake that other engines make."""
    toy = Toy(VOCABULARIES["merges that cross"], seed=1)

    class Dropping(Toy):
        def draft(self, dice: Dice, longest: int, stop: StopRule, masked: bool, limit: int) -> Draft:
            draft = super().draft(dice, longest, stop, masked, limit)
            assert draft.path is not None
            kept = draft.path.tokens[:-1] if draft.path.tokens[-1] == 2 else draft.path.tokens
            segments = translate(self.trie, kept, lambda _token: None)
            tokens = tuple(token for segment in segments for token in segment.tokens)
            distributions = draft.path.distributions[: len(kept)]
            return Draft(tokens, DraftPath(kept, distributions, self.trie, len(tokens)) if kept else None)

    toy.__class__ = Dropping
    assert toy.error(longest=4, stop=lambda path: path[-1] == 2) > 0.01


@settings(max_examples=20)
@given(
    merges=st.sets(st.text(LETTERS, min_size=1, max_size=4), min_size=1, max_size=6),
    strangers=st.integers(0, 2),
    seed=st.integers(0, 2**32 - 1),
    concentration=st.sampled_from([0.3, 1.0]),
    limit=st.integers(1, 4),
)
def test_it_is_exact_on_any_trie(merges: set[str], strangers: int, seed: int, concentration: float, limit: int) -> None:
    vocabulary = sorted(merges) + ["Y", "Z"][:strangers]
    toy = Toy(vocabulary, seed, concentration)
    assert toy.error(longest=3, num_tokens=2, masked=seed % 2 == 0, limit=limit) < TOLERANCE


@pytest.mark.parametrize("masked", [True, False], ids=["masked", "pruned"])
@pytest.mark.parametrize("mixed", [0.0, 0.5, 1.0])
def test_rejection_is_exact_where_both_have_one_vocabulary(mixed: float, masked: bool) -> None:
    assert SharedToy(4, seed=0, mixed=mixed).error(longest=3, masked=masked) < TOLERANCE
    assert SharedToy(5, seed=1, concentration=0.2, mixed=mixed).error(longest=2, masked=masked) < TOLERANCE
    for before in ((1,), (2, 0)):
        toy = SharedToy(3, seed=2, mixed=mixed)
        assert toy.error(3, len(before) + 2, masked=masked, before=before) < TOLERANCE
    for end in range(3):
        assert SharedToy(3, seed=2, mixed=mixed).error(3, masked=masked, ends={end}) < TOLERANCE


def test_rejection_stays_exact_when_the_drafter_stops_early() -> None:
    for seed in range(2):
        toy = SharedToy(4, seed, mixed=0.3)
        assert toy.error(longest=4, stop=lambda path: path[-1] == 2) < TOLERANCE
        assert SharedToy(4, seed).error(longest=4, limit=1) < TOLERANCE


@settings(max_examples=20)
@given(
    size=st.integers(2, 5),
    seed=st.integers(0, 2**32 - 1),
    concentration=st.sampled_from([0.1, 1.0]),
    mixed=st.floats(0, 1),
    longest=st.integers(0, 3),
    ends=st.sets(st.integers(0, 1), max_size=1),
)
def test_rejection_is_exact_for_any_two_distributions(
    size: int, seed: int, concentration: float, mixed: float, longest: int, ends: set[int]
) -> None:
    toy = SharedToy(size, seed, concentration, mixed)
    assert toy.error(longest, 2, masked=seed % 2 == 0, ends=ends) < TOLERANCE


def test_a_wrong_residual_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums above can fail: drawing from the target's own distribution after a rejection counts q twice."""
    monkeypatch.setattr(
        "engine.speculation.numerics.acceptance._residual", lambda wanted, _proposed: wanted.probabilities
    )
    assert SharedToy(4, seed=1).error(longest=2) > 0.01


@settings(max_examples=50)
@given(
    path=st.lists(st.integers(0, 2), min_size=1, max_size=10), vocabulary=st.sampled_from(list(VOCABULARIES.values()))
)
def test_what_the_target_agrees_with_comes_out_as_the_longest_match(path: list[int], vocabulary: list[str]) -> None:
    trie = trie_of(vocabulary)
    tokens = tuple(t for segment in translate(trie, path, lambda _token: None) for t in segment.tokens)
    certain = tuple(Distribution(np.array([token]), np.ones(1)) for token in path)
    draft = Draft(tokens, DraftPath(tuple(path), certain, trie, len(tokens)))
    distributions = [Distribution(np.array([token]), np.ones(1)) for token in (*tokens, 0)]
    verdict = accept(draft, distributions.__getitem__, (), RandomDice(0))
    assert verdict.tokens[: len(tokens)] == tokens
    assert verdict.num_accepted == len(tokens)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), tokens=st.lists(st.integers(0, 3), max_size=3))
def test_a_draft_without_probabilities_is_exact(seed: int, tokens: list[int]) -> None:
    toy = Toy(["a", "b", "c", "ab"], seed)
    out: dict[Written, float] = defaultdict(float)

    def round_(dice: Dice) -> Written:
        verdict = accept(Draft(tuple(tokens)), lambda place: toy.p(tuple(tokens[:place])), (), dice)
        check(verdict)
        return verdict.tokens

    for weight, written in every_outcome(round_):
        toy._complete(written[:2], weight, 2, out)
    truth: dict[Written, float] = defaultdict(float)
    toy._complete((), 1.0, 2, truth)
    assert sum(abs(out[written] - truth[written]) for written in out.keys() | truth.keys()) < TOLERANCE


def accepted_share(toy: Toy) -> float:
    """Of all drafts of one token and all throws of the dice."""

    def run(dice: Dice) -> float:
        draft = toy.draft(dice, 1, lambda _path: False, masked=True, limit=1)
        verdict = accept(draft, lambda place: toy.p(draft.tokens[:place]), (), dice)
        return float(verdict.num_accepted == 1)

    return sum(weight * share for weight, share in every_outcome(run))


@pytest.mark.parametrize("few_pairs", [0, 1 << 14], ids=["in a table", "pair by pair"])
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), concentration=st.sampled_from([0.2, 1.0]), mixed=st.floats(0, 1))
def test_the_chance_of_acceptance_is_the_share_that_is_accepted(
    few_pairs: int, seed: int, concentration: float, mixed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.speculation.numerics.acceptance._FEW_PAIRS", few_pairs)
    shared = SharedToy(4, seed, concentration, mixed)
    share = accepted_share(shared)
    for draft in drafts_of(shared):
        assert draft.path is not None
        assert chance_of_a_draw(shared.p(()), draft.path.distributions[0], None) == pytest.approx(share)
    toy = Toy(["a", "b", "Z"], seed, concentration)  # c is no token's, and nobody can guess Z
    share = accepted_share(toy)
    for draft in drafts_of(toy):
        assert draft.path is not None
        assert chance_of_a_draw(toy.p(()), draft.path.distributions[0], toy.trie) == pytest.approx(share)


def drafts_of(toy: Toy) -> list[Draft]:
    return [draft for _, draft in every_outcome(lambda dice: toy.draft(dice, 1, lambda _path: False, True, 1))]


def test_what_begins_alike_is_accepted_together_in_the_first_test() -> None:
    """The drafter proposes a; of the target's tokens, a and ab begin with it."""
    trie = trie_of(["a", "ab", "b"])
    wanted = Distribution(np.array([1, 0, 2]), np.array([0.5, 0.3, 0.2]))
    for q, chance in ((1.0, 0.8), (0.7, 0.9)):
        proposed = Distribution(np.array([0, 1])[: 1 + (q < 1)], np.array([q, 1 - q])[: 1 + (q < 1)])
        assert chance_of_a_draw(wanted, proposed, trie) == pytest.approx(chance)


def test_nothing_is_accepted_after_the_end_of_the_reply() -> None:
    distributions = [Distribution(np.array([token]), np.ones(1)) for token in (1, 9, 2, 3)]
    verdict = accept(Draft((1, 9, 2)), distributions.__getitem__, {9}, RandomDice(0))
    assert (verdict.tokens, verdict.num_accepted) == ((1, 9), 2)


def test_without_a_draft_the_round_is_a_plain_draw() -> None:
    verdict = accept(Draft(), lambda _place: Distribution(np.array([7]), np.ones(1)), (), RandomDice(0))
    assert (verdict.tokens, verdict.num_accepted) == ((7,), 0)
