"""Judges a draft against the target's distributions. It sees a draft and distributions, never who drafted.

What comes out follows the target's distributions exactly, whatever was drafted. Three rules do it, and a walk.

*Point mass.* A draft without probabilities counts as certain of each token: y is drawn from the distribution, and the
token is accepted if it equals y; otherwise y takes its place.

*Rejection.* For a draft that was sampled from a drafter with the target's vocabulary (Leviathan et al., arXiv
2211.17192): a token drawn from q is accepted with min(1, p/q); otherwise one drawn from norm(max(0, p − q)) takes its
place. Of several for one place, each is tested against what the test before it has left, p' = norm(max(0, p − q)), and
with the q it was drawn from after that one, which may depend on it: without replacement, q without that token
(recursive rejection, arXiv 2402.14160).

*Trie walk.* For a draft that was sampled from a drafter with another vocabulary. Every target token t that the drafter
can write has one string s(t) of draft tokens, and a trie holds these strings. Instead of lifting the drafter's
distribution up to target tokens, the target's distribution p is pushed down onto the trie: below a node v lies p̂(v) =
Σ p(t) over all t whose string starts with v, and the outcome at v is either one of its children c, with P(c) = p̂(vc) /
p̂(v), or, where v is itself a token, a stop with P = p(v) / p̂(v). The drafter proposed one of them with probability Q:
Q(c) = q(c), and Q(stop) = 1 − Σ q(children). So a plain rejection test, min(1, P/Q) and norm(max(0, P − Q)), decides at
every node, and the levels multiply to p(t). Target tokens without a string are outcomes at the root that are never
proposed.

It is exact because every test uses the true distribution of what is still hidden of the draft:
- After an accepted stop the draft token that was no child is still pending; it opens the next position, and its
  distribution there is q without the children of v.
- A child that is no token is no outcome of its own. Whether the draft leads there is revealed first; if not, Q is
  renormalised over the rest, and if so, the draft is read on until it comes to a token or fails to. Tokens that were
  read are known from then on, and count as certain if they open the next position.
- Where the draft ends, nothing is hidden: a stop is then certain.

This goes beyond OmniDraft (arXiv 2507.02659), whose Eq. 2 is approximate when sampling.

*The walk* along a tree. A rule decides what is written at a place; where a token of the tree stands for just that,
after the same tokens, the walk goes on from there. Whichever way it was written, the next token's distribution is what
its row says: so a certain branch may come from anywhere, even from what is hidden of the draft.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.speculation.native.rows import Probabilities
from engine.speculation.numerics.draft import Draft, DraftPath, Verdict
from engine.speculation.numerics.likeliest import Ids
from engine.speculation.numerics.sampling import Dice, Distribution
from engine.speculation.numerics.string_trie import StringTrie, TrieNode

# The target's distribution: at 0 the one before the draft, at n + 1 the one after its token at place n.
DistributionAt = Callable[[int], Distribution]

_STOP = -1  # the outcome at a node other than its children; also pads the rows of strings
_NEVER_PROPOSED = -2  # all other outcomes, while the draft is known to lead elsewhere
_ROUNDING = 1e-14  # a residual below it is a rounding error
_FEW_PAIRS = 1 << 14  # of tokens: comparing them all is quicker than a table of the vocabulary


def accept(draft: Draft, distribution_at: DistributionAt, ends: Collection[int], dice: Dice) -> Verdict:
    """The verdict on a draft. `distribution_at` is called once for each token that is written, in order; nothing is
    accepted after a token of `ends`."""
    if not draft.tokens:
        wanted = distribution_at(0)
        return Verdict(draft, 0, (wanted.draw(dice),), (wanted,))
    seen: list[Distribution] = []

    def look(place: int) -> Distribution:
        seen.append(distribution_at(place))
        return seen[-1]

    branch, tokens = _judged(draft, look, ends, dice)
    return Verdict(draft, len(branch), tokens, tuple(seen), branch if draft.parents else ())


def masses_of(wanted: Distribution, proposed: Distribution, trie: StringTrie | None) -> Probabilities:
    """How likely the target writes each of the `proposed` tokens, shape (k,). With a trie, each of them as the first
    token of a string: the masses p̂(c) of the children of the root, between which the first test of a position decides;
    later tests depend on what is drawn next."""
    outcomes = wanted.ids if trie is None else trie.firsts(wanted.ids)
    return _sums_of(proposed.ids, outcomes, wanted.probabilities)


def _judged(
    draft: Draft, distribution_at: DistributionAt, ends: Collection[int], dice: Dice
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The places of the accepted tokens, and what is written."""
    branch: list[int] = []
    written: list[int] = []
    place, path = -1, draft.path
    while True:
        if path is not None and path.trie is not None and place == draft.num_before - 1:
            num_accepted, tokens = _Walk(draft, path, path.trie, distribution_at, ends, dice).outcome()
            branch, written = [*range(num_accepted)], [*tokens]
            if len(tokens) == num_accepted:
                return tuple(branch), tokens
            place = num_accepted - 1
        else:
            written.append(_drawn(draft, draft.children(place), distribution_at(place + 1), dice))
        place = next((child for child in draft.children(place) if draft.tokens[child] == written[-1]), -1)
        if place >= 0:
            branch.append(place)
        if place < 0 or written[-1] in ends:
            return tuple(branch), tuple(written)


def _drawn(draft: Draft, children: Sequence[int], wanted: Distribution, dice: Dice) -> int:
    """The token written at a place for which these were proposed: the first one accepted, or one drawn in their
    stead."""
    for child in children:
        token, proposed = draft.tokens[child], draft.drawn_from(child)
        if proposed is None:
            continue
        p = float(wanted.probabilities[wanted.ids == token].sum())
        q = float(proposed.probabilities[proposed.ids == token].sum())
        if p >= q or dice.happens(p / q):
            return token
        residual = _residual(wanted, proposed)
        wanted = Distribution(wanted.ids, residual / residual.sum())
    return wanted.draw(dice)


def _residual(wanted: Distribution, proposed: Distribution) -> Probabilities:
    """max(0, p − q) of the candidates of `wanted`, shape (k,); p itself where that is nothing but rounding."""
    q = _sums_of(wanted.ids, proposed.ids, proposed.probabilities)
    residual = np.maximum(wanted.probabilities - q, 0.0)
    return residual if residual.sum() >= _ROUNDING else wanted.probabilities


def _sums_of(tokens: Ids, keys: npt.NDArray[np.integer[Any]], weights: Probabilities) -> Probabilities:
    """The sum of the weights under each token as key, shape (n,). A key of -1 belongs to no token."""
    if len(tokens) * len(keys) <= _FEW_PAIRS:
        sums: Probabilities = (tokens[:, None] == keys) @ weights
        return sums
    size = 2 + max(int(tokens.max()), int(keys.max()))
    return np.bincount(keys + 1, weights, size)[tokens + 1].astype(np.float64)


@dataclass(slots=True)
class _Candidates:
    """The target tokens that are still possible at a node: those whose strings start with the node's path."""

    ids: Ids  # shape (n,)
    probabilities: Probabilities  # shape (n,), as in the distribution, so that they sum to p̂(v)
    strings: npt.NDArray[np.int32]  # shape (n, length), padded with _STOP

    def where(self, mask: npt.NDArray[np.bool_]) -> _Candidates:
        return _Candidates(self.ids[mask], self.probabilities[mask], self.strings[mask])

    def starting(self, depth: int, tokens: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Which strings hold these tokens from `depth` on, shape (n,)."""
        mask: npt.NDArray[np.bool_] = np.all(self.strings[:, depth : depth + len(tokens)] == tokens, axis=1)
        return mask

    def next_at(self, depth: int) -> npt.NDArray[np.int32]:
        """The outcome at `depth` that leads to each token, shape (n,)."""
        if depth < self.strings.shape[1]:
            return self.strings[:, depth]
        return np.full(len(self.ids), _STOP, np.int32)

    def draw(self, weights: Probabilities, dice: Dice) -> int:
        return int(self.ids[dice.choose(weights)])


class _Recovered(Exception):
    """A test failed; carries the token that was drawn instead."""

    def __init__(self, token: int) -> None:
        self.token = token


@dataclass(slots=True)
class _Walk:
    """One walk along a sampled draft: finds the target tokens in turn by tests at the nodes of the trie, and tracks how
    much of the draft the tests have revealed."""

    _draft: Draft
    _path: DraftPath
    _trie: StringTrie
    _distribution_at: DistributionAt
    _ends: Collection[int]
    _dice: Dice
    _num_known: int = 0  # of the path's tokens, from the first on
    _excluded: dict[int, set[int]] = field(default_factory=dict)  # place on the path -> tokens known not to be there

    def outcome(self) -> tuple[int, tuple[int, ...]]:
        """The number of accepted tokens, and what is written."""
        draft = self._draft
        expected = draft.tokens[: draft.num_fixed]
        accepted = list(expected[: draft.num_before])
        place = 0  # on the path, where the next target token begins
        while len(accepted) < len(expected) and place < len(self._path.tokens):
            try:
                token, place = self._next_token(self._distribution_at(len(accepted)), place)
            except _Recovered as recovered:
                return len(accepted), (*accepted, recovered.token)
            if token != expected[len(accepted)]:  # the target has no logits after it
                return len(accepted), (*accepted, token)
            accepted.append(token)
            if token in self._ends:
                return len(accepted), tuple(accepted)
        bonus = self._distribution_at(len(accepted)).draw(self._dice)
        return len(accepted), (*accepted, bonus)

    def _next_token(self, distribution: Distribution, start: int) -> tuple[int, int]:
        """The target token that the path's tokens from `start` on make, and the place after them. Raises _Recovered."""
        path = self._path
        node, depth = self._trie.root, 0
        candidates = _Candidates(distribution.ids, distribution.probabilities, self._trie.rows(distribution.ids))
        while depth == 0 or node.children:
            inner, place = self._read_on(node, start + depth)
            if place == len(path.tokens):
                self._test_stop_at_end(node, candidates, depth)
                break
            child = self._test_node(node, inner, candidates, depth, path.tokens[start + depth : place], place)
            if child is None:
                break
            string = path.tokens[start + depth : place + 1]
            node, candidates, depth = child, candidates.where(candidates.starting(depth, string)), place + 1 - start
            self._num_known = max(self._num_known, place + 1)
        assert node.token is not None
        return node.token, start + depth

    def _read_on(self, node: TrieNode, place: int) -> tuple[TrieNode, int]:
        """Follows the draft along nodes that are no tokens. Returns the last one (or `node` itself) and the place after
        it; all before that place is known then."""
        while place < len(self._path.tokens):
            child = node.children.get(self._path.tokens[place])
            if child is None or child.token is not None:
                break
            node, place = child, place + 1
        self._num_known = max(self._num_known, place)
        return node, place

    def _test_node(
        self, node: TrieNode, inner: TrieNode, candidates: _Candidates, depth: int, read: Sequence[int], place: int
    ) -> TrieNode | None:
        """Tests the draft's outcome at `node`, from where it was `read` on to `inner`: a child of `inner`, or a stop.
        Returns the child, None for a stop."""
        proposed, outside = self._proposed(inner, place)
        child = inner.children.get(self._path.tokens[place])
        if node.token is not None:
            proposed[_STOP] = outside
        elif child is None:  # the draft leads to no token, and everything about that is revealed
            raise _Recovered(candidates.draw(candidates.probabilities, self._dice))
        outcomes = candidates.next_at(depth)
        if read:
            elsewhere = np.where(outcomes == _STOP, _STOP, _NEVER_PROPOSED)
            outcomes = np.where(candidates.starting(depth, read), candidates.next_at(depth + len(read)), elsewhere)
        self._test(candidates, outcomes, proposed, _STOP if child is None else self._path.tokens[place])
        if child is None:
            self._excluded[place] = {*self._excluded.get(place, ()), *inner.children}
        return child

    def _test_stop_at_end(self, node: TrieNode, candidates: _Candidates, depth: int) -> None:
        """Tests a stop that is certain, since the draft ends here; at a node that is no token nothing was proposed."""
        if node.token is None:
            raise _Recovered(candidates.draw(candidates.probabilities, self._dice))
        self._test(candidates, candidates.next_at(depth), {_STOP: 1.0}, _STOP)

    def _test(
        self, candidates: _Candidates, outcomes: npt.NDArray[np.int32], proposed: dict[int, float], drafted: int
    ) -> None:
        """The rejection test. `outcomes` holds the outcome that leads to each candidate, shape (n,); `proposed` are the
        probabilities Q of the outcomes, not normalised. Raises _Recovered."""
        total_q = sum(proposed.values())
        total_p = float(candidates.probabilities.sum())
        mass = float(candidates.probabilities[outcomes == drafted].sum())
        likelihood = mass * total_q / (total_p * proposed[drafted])  # P / Q
        if likelihood >= 1 or self._dice.happens(likelihood):
            return
        distinct, inverse = np.unique(outcomes, return_inverse=True)
        masses = np.bincount(inverse, candidates.probabilities)
        q = np.array([proposed.get(int(outcome), 0.0) for outcome in distinct]) / total_q
        shares = np.zeros(len(distinct))
        np.divide(np.maximum(masses / total_p - q, 0.0), masses, out=shares, where=masses > 0)
        residual = candidates.probabilities * shares[inverse]
        if residual.sum() >= _ROUNDING:
            raise _Recovered(candidates.draw(residual, self._dice))

    def _proposed(self, node: TrieNode, place: int) -> tuple[dict[int, float], float]:
        """The draft token at `place` of the path, given what is known of it, as an outcome at `node`: the probabilities
        of the children that are tokens, and of no child at all. They are not normalised."""
        if place < self._num_known:
            hidden = {self._path.tokens[place]: 1.0}
        else:
            distribution = self._path.distributions[place]
            hidden = dict(zip(distribution.ids.tolist(), distribution.probabilities.tolist(), strict=True))
        proposed: dict[int, float] = {}
        outside = 0.0
        excluded = self._excluded.get(place, ())
        for token, q in hidden.items():
            if token in excluded:
                continue
            child = node.children.get(token)
            if child is None:
                outside += q
            elif child.token is not None:
                proposed[token] = q
        return proposed, outside
