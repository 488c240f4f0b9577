"""Judges a draft against the target's distributions. Blind: it sees a draft and distributions, never who drafted.

What comes out follows the target's distributions exactly, whatever was drafted. Two rules do it.

*Point mass.* A draft without probabilities counts as certain of each token: y is drawn from the distribution and the
token stands if it equals y; otherwise y takes its place.

*Trie walk.* For a draft that was sampled from a drafter of another vocabulary. Every target token t that the drafter
can write has one string s(t) of draft tokens, and a trie holds these strings. Instead of lifting the drafter's
distribution up to target tokens, the target's distribution p is pushed down onto the trie: below a node v lies p̂(v) =
Σ p(t) over all t whose string starts with v, and what happens at v is either one of its children c, with P(c) = p̂(vc)
/ p̂(v), or, where v is itself a token, a stop with P = p(v) / p̂(v). The drafter proposed one of them with probability
Q: Q(c) = q(c), and Q(stop) = 1 − Σ q(children). So a plain rejection test, min(1, P/Q) and norm(max(0, P − Q)), decides
at every node, and the levels multiply to p(t). Target tokens without a string are outcomes at the root that are never
proposed.

What makes it exact is that every test uses the true distribution of what is still hidden of the draft:
- After a stop was accepted the draft token that was no child is still pending; it opens the next position, and its
distribution
  there is q without the children of v.
- A child that is no token is no outcome of its own. Whether the draft leads there is revealed first; if not, Q is
  renormalised over the rest, and if so, the draft is read on until it comes to a token or fails to. What was read is
  known from then on, and counts as certain if it opens the next position.
- Where the draft ends, nothing is hidden: a stop is then certain.

This goes beyond OmniDraft (arXiv 2507.02659), whose Eq. 2 is approximate when sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.numerics.draft import Draft, DraftPath, Verdict
from engine.numerics.sampling import Dice, Distribution, Ids, Probabilities
from engine.numerics.string_trie import Node

DistributionAt = Callable[[int], Distribution]  # the target's distribution after so many of the draft's tokens

_STOP = -1  # the outcome at a node, beside its children; also what pads the rows of strings
_NOTHING = 1e-14  # a residual below it is rounding


def accept(draft: Draft, distribution_at: DistributionAt, ends: Collection[int], dice: Dice) -> Verdict:
    """What becomes of the draft. `distribution_at` is asked in order, at most once for each place; nothing is accepted
    after a token of `ends`."""
    num_certain = len(draft.tokens) if draft.path is None else draft.num_before
    for place, token in enumerate(draft.tokens[:num_certain]):
        drawn = distribution_at(place).draw(dice)
        if drawn != token:
            return Verdict(draft, place, (*draft.tokens[:place], drawn))
        if token in ends:
            return Verdict(draft, place + 1, draft.tokens[: place + 1])
    if draft.path is not None:
        return _Walk(draft, draft.path, distribution_at, ends, dice).verdict()
    return Verdict(draft, num_certain, (*draft.tokens, distribution_at(num_certain).draw(dice)))


@dataclass(slots=True)
class _Class:
    """The target tokens that are still possible at a node: those whose strings start with the node's path."""

    ids: Ids  # shape (n,)
    probabilities: Probabilities  # shape (n,), as in the distribution, so that they sum to p̂(v)
    strings: npt.NDArray[np.int32]  # shape (n, length), padded with _STOP

    def having(self, mask: npt.NDArray[np.bool_]) -> _Class:
        return _Class(self.ids[mask], self.probabilities[mask], self.strings[mask])

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


class _Walk:
    """One walk along a sampled draft."""

    def __init__(
        self, draft: Draft, path: DraftPath, distribution_at: DistributionAt, ends: Collection[int], dice: Dice
    ) -> None:
        self._draft = draft
        self._path = path
        self._distribution_at = distribution_at
        self._ends = ends
        self._dice = dice
        self._num_known = 0  # of the path's tokens, from the first on
        self._excluded: dict[int, Collection[int]] = {}  # place on the path -> what it is known not to be

    def verdict(self) -> Verdict:
        tokens = list(self._draft.tokens[: self._draft.num_before])  # these stood
        place = 0  # on the path, where the next target token begins
        expected = self._draft.tokens
        while len(tokens) < len(expected) and place < len(self._path.tokens):
            distribution = self._distribution_at(len(tokens))
            try:
                token, place = self._next_token(distribution, place)
            except _Recovered as recovered:
                return Verdict(self._draft, len(tokens), (*tokens, recovered.token))
            if token != expected[len(tokens)]:  # then there are no logits for what would follow
                return Verdict(self._draft, len(tokens), (*tokens, token))
            tokens.append(token)
            if token in self._ends:
                return Verdict(self._draft, len(tokens), tuple(tokens))
        return Verdict(self._draft, len(tokens), (*tokens, self._distribution_at(len(tokens)).draw(self._dice)))

    def _next_token(self, distribution: Distribution, start: int) -> tuple[int, int]:
        """The target token that the path's tokens from `start` on make, and the place after them. Raises _Recovered."""
        path = self._path
        node, depth = path.trie.root, 0
        possible = _Class(distribution.ids, distribution.probabilities, path.trie.rows(distribution.ids))
        while depth == 0 or node.children:
            place = start + depth
            if place >= len(path.tokens):
                self._test_stop_at_end(node, possible, depth)
                break
            hidden = self._distribution(place)
            drafted = path.tokens[place]
            child = node.children.get(drafted)
            if child is not None and child.token is None:
                end = self._read_on(child, place + 1)
                resolved = self._test_inner(node, possible, start, depth, end)
            else:
                resolved = self._test_node(node, child, possible, depth, place, hidden)
            if resolved is None:
                break
            length = len(resolved[1])
            matching = np.all(possible.strings[:, depth : depth + length] == resolved[1], axis=1)
            node, possible, depth = resolved[0], possible.having(matching), depth + length
            self._num_known = max(self._num_known, start + depth)
        assert node.token is not None
        return node.token, start + depth

    def _test_node(
        self,
        node: Node,
        child: Node | None,
        possible: _Class,
        depth: int,
        place: int,
        hidden: Mapping[int, float],
    ) -> tuple[Node, tuple[int, ...]] | None:
        """Tests what the draft does at a node, given that it does not go to a child that is no token. Returns where it
        went, None for a stop."""
        proposed, outside = _proposed(hidden, node)
        if node.token is not None:
            proposed[_STOP] = outside
        elif child is None:  # at the root, with nothing that any target token begins with: revealed, so nothing is left
            raise _Recovered(possible.draw(possible.probabilities, self._dice))
        drafted = self._path.tokens[place] if child is not None else _STOP
        self._test(possible, possible.next_at(depth), proposed, drafted)
        if child is not None:
            return child, (drafted,)
        self._exclude(place, node.children)
        return None

    def _read_on(self, inner: Node, place: int) -> tuple[Node, int]:
        """Follows the draft, which has come to a node that is no token, along such nodes. Returns the last one and the
        place after it; all before that place is known then."""
        while place < len(self._path.tokens):
            child = inner.children.get(self._path.tokens[place])
            if child is None or child.token is not None:
                break
            inner, place = child, place + 1
        self._num_known = max(self._num_known, place)
        return inner, place

    def _test_inner(
        self, node: Node, possible: _Class, start: int, depth: int, end: tuple[Node, int]
    ) -> tuple[Node, tuple[int, ...]] | None:
        """Tests where the draft comes out of the nodes that are no tokens, which it entered from `node`."""
        inner, place = end
        read = self._path.tokens[start + depth : place]
        if place >= len(self._path.tokens):
            self._test_stop_at_end(node, possible, depth)
            return None
        hidden = self._distribution(place)
        drafted = self._path.tokens[place]
        proposed, outside = _proposed(hidden, inner)
        child = inner.children.get(drafted)
        if node.token is not None:
            proposed[_STOP] = outside
        elif child is None:
            raise _Recovered(possible.draw(possible.probabilities, self._dice))
        # Outcomes: the children of `inner`, far below `node`, and the stop at `node` itself.
        outcomes = np.full(len(possible.ids), _STOP - 1, np.int32)
        outcomes[possible.next_at(depth) == _STOP] = _STOP
        below = np.all(possible.strings[:, depth : depth + len(read)] == read, axis=1)
        outcomes[below] = possible.next_at(depth + len(read))[below]
        self._test(possible, outcomes, proposed, drafted if child is not None else _STOP)
        if child is not None:
            return child, (*read, drafted)
        self._exclude(place, inner.children)
        return None

    def _test_stop_at_end(self, node: Node, possible: _Class, depth: int) -> None:
        """The draft ends here, so that it is certain to stop; at a node that is no token nothing was proposed."""
        if node.token is None:
            raise _Recovered(possible.draw(possible.probabilities, self._dice))
        self._test(possible, possible.next_at(depth), {_STOP: 1.0}, _STOP)

    def _test(
        self, possible: _Class, outcomes: npt.NDArray[np.int32], proposed: Mapping[int, float], drafted: int
    ) -> None:
        """The rejection test. `outcomes` tells for each possible token which outcome leads to it, shape (n,);
        `proposed` are the probabilities Q of the outcomes, not normalised. Raises _Recovered."""
        total_q = sum(proposed.values())
        total_p = float(possible.probabilities.sum())
        mass = float(possible.probabilities[outcomes == drafted].sum())
        likelihood = mass * total_q / (total_p * proposed[drafted])  # P / Q
        if likelihood >= 1 or self._dice.happens(likelihood):
            return
        distinct, inverse = np.unique(outcomes, return_inverse=True)
        masses = np.bincount(inverse, possible.probabilities)
        q = np.array([proposed.get(int(outcome), 0.0) for outcome in distinct]) / total_q
        shares = np.zeros(len(distinct))
        np.divide(np.maximum(masses / total_p - q, 0.0), masses, out=shares, where=masses > 0)
        residual = possible.probabilities * shares[inverse]
        if residual.sum() < _NOTHING:
            return
        raise _Recovered(possible.draw(residual, self._dice))

    def _distribution(self, place: int) -> Mapping[int, float]:
        """The distribution of a token on the path, given what is known: draft tokens and probabilities, not
        normalised."""
        if place < self._num_known:
            return {self._path.tokens[place]: 1.0}
        distribution = self._path.distributions[place]
        excluded = self._excluded.get(place, ())
        return {
            token: q
            for token, q in zip(distribution.ids.tolist(), distribution.probabilities.tolist(), strict=True)
            if token not in excluded
        }

    def _exclude(self, place: int, children: Collection[int]) -> None:
        self._excluded[place] = frozenset(children).union(self._excluded.get(place, ()))


def _proposed(hidden: Mapping[int, float], node: Node) -> tuple[dict[int, float], float]:
    """What a draft token of this distribution would do at a node: the probabilities of the children that are tokens,
    and of none of the children."""
    proposed: dict[int, float] = {}
    outside = 0.0
    for token, q in hidden.items():
        child = node.children.get(token)
        if child is None:
            outside += q
        elif child.token is not None:
            proposed[token] = q
    return proposed, outside
