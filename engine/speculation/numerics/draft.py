"""A draft and its verdict: what a proposer hands to the acceptance rule, and what comes back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from operator import eq, mul

from engine.speculation.numerics.sampling import Distribution
from engine.speculation.numerics.string_trie import StringTrie

_COSTS = ("num_steps", "drafter_s", "reading_s", "num_read")  # fields of a draft
_COMPARED_AT_ONCE = 256  # tokens, so that a difference is not looked for from the beginning


@dataclass(frozen=True, slots=True)
class DraftPath:
    """How a sampled draft came about: the drafter's own tokens, and the distributions they were truly drawn from."""

    tokens: tuple[int, ...]  # the drafter's, shape (k,)
    distributions: tuple[Distribution, ...]  # shape (k,), over the drafter's vocabulary, after masking and pruning
    # The strings that target tokens are made of; unchanged until the verdict. None: both have the same tokens.
    trie: StringTrie | None
    num_made: int  # tokens of the target that these make: the first ones after `Draft.before`

    def only(self, made: Sequence[int]) -> DraftPath:
        """The path to these of the tokens it makes, by their numbers."""
        if self.trie is not None:
            return replace(self, num_made=len(made))
        tokens = tuple(self.tokens[number] for number in made)
        return replace(
            self, tokens=tokens, distributions=tuple(self.distributions[each] for each in made), num_made=len(made)
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """A guess at the next tokens of the target.

    Without a path it counts as certain of each token. With one, `tokens` after `before` are the path's own, or the
    longest-match segmentation of them: the very tokens that come out if everything on the path is accepted. All further
    tokens are certain.

    A chain has no `parents`: each token follows the one before it. In a tree several tokens, all different, may follow
    the same one. Parents come before their children, and the first tokens are the *trunk*: they follow one another, as
    in a chain, until one that does not. `Draft((5, 6, 7, 8), parents=(-1, 0, -1, 2))` guesses 5 6 or 7 8, and its trunk
    is 5 6. A path of the target's own tokens gives each token after `before` the distribution that it was drawn from,
    given the siblings before it; a path through a trie leads along the trunk; all tokens off the path are certain.
    """

    tokens: tuple[int, ...] = ()  # the target's, shape (n,)
    path: DraftPath | None = None
    # Shape (n,): that each is what is written, if all between the pending token and it are; those of siblings sum to 1
    # at most. Empty: not known.
    chances: tuple[float, ...] = ()
    num_steps: int = 0  # passes of a drafter, one for each token it drew or refused to draw
    drafter_s: float = 0.0  # seconds in the drafter's passes
    reading_s: float = 0.0  # of these, in a pass over many tokens at once: a prompt, or text written without drafts
    proposer: str = ""  # the key of its origin
    before: Draft | None = None  # the first of `tokens`, where another proposer guessed them; certain of each
    num_read: int = 0  # tokens that the drafter read in `reading_s`
    origins: tuple[str, ...] = ()  # of its own tokens, where others contributed; empty: all are the proposer's
    parents: tuple[int, ...] = ()  # shape (n,): the place of the token that each follows, -1: the pending one

    @property
    def num_trunk(self) -> int:
        return next((place for place, parent in enumerate(self.parents) if parent != place - 1), len(self.tokens))

    @property
    def num_leaves(self) -> int:
        """The number of tokens that no other follows, which is the number of branches."""
        return num_leaves(self.parents or chain(len(self.tokens)))

    @property
    def reached(self) -> tuple[float, ...]:
        """How likely each token is to be accepted, shape (n,). Their sum is the expected number of accepted tokens."""
        if not self.parents:
            return tuple(accumulate(self.chances, mul))
        reached: list[float] = []
        for parent, chance in zip(self.parents, self.chances, strict=True):
            reached.append(chance if parent < 0 else reached[parent] * chance)
        return tuple(reached)

    def children(self, place: int) -> Sequence[int]:
        """The places of the tokens that follow the one at `place`, -1: the pending one."""
        if self.parents:
            return [child for child, parent in enumerate(self.parents) if parent == place]
        return range(place + 1, min(place + 2, len(self.tokens)))

    def drawn_from(self, place: int) -> Distribution | None:
        """The distribution that the token at `place` was drawn from; None where it is certain, or made of tokens of
        another vocabulary."""
        number = place - self.num_before
        if self.path is None or self.path.trie is not None or not 0 <= number < len(self.path.distributions):
            return None
        return self.path.distributions[number]

    def line(self, place: int) -> tuple[int, ...]:
        """The tokens after the pending one, up to the one at `place`."""
        if place < self.num_trunk:
            return self.tokens[: place + 1]
        return (*self.line(self.parents[place]), self.tokens[place])

    @property
    def lines(self) -> tuple[tuple[int, ...], ...]:
        """The branches: the tokens after the pending one, up to each token that no other follows."""
        parents = self.parents or chain(len(self.tokens))
        return tuple(self.line(place) for place in sorted({*range(len(self.tokens))} - {*parents}))

    @property
    def num_fixed(self) -> int:
        """The number of its first tokens that were drawn, or guessed before those by another proposer: what is written
        depends on them, so they stay in the draft."""
        return self.num_before + (self.path.num_made if self.path else 0)

    @property
    def num_before(self) -> int:
        return len(self.before.tokens) if self.before else 0

    @property
    def parts(self) -> tuple[tuple[str, int], ...]:
        """Who guessed how many of the tokens, in order."""
        num_own = len(self.tokens) - self.num_before
        own = [(key, len([*run])) for key, run in groupby(self.origins)] if self.origins else [(self.proposer, num_own)]
        return (*self.before.parts, *own) if self.before else tuple(own)

    @property
    def own_origins(self) -> tuple[str, ...]:
        """Who guessed each of the tokens after `before`."""
        return self.origins or (self.proposer,) * (len(self.tokens) - self.num_before)

    @property
    def proposers(self) -> frozenset[str]:
        return frozenset({self.proposer}) | (self.before.proposers if self.before else frozenset())

    def place_of(self, proposer: str) -> tuple[int, int]:
        """Where this proposer's tokens begin, whoever contributed to them, and how many there are."""
        part: Draft | None = self
        while part is not None and part.proposer != proposer:
            part = part.before
        return (len(self.tokens), 0) if part is None else (part.num_before, len(part.tokens) - part.num_before)

    def first(self, num_tokens: int) -> Draft:
        """The draft cut to its first tokens; it must have no path."""
        assert self.path is None
        return self.only(range(min(num_tokens, len(self.tokens))))

    def only(self, places: Sequence[int]) -> Draft:
        """The draft cut to the tokens at these places, in order, with the parents of each. All of `before` must be
        among them, and all that was drawn."""
        assert self.path is None or self.num_fixed <= len(places)
        return self._of(places)

    def _of(self, places: Sequence[int]) -> Draft:
        num_before, new = self.num_before, {place: number for number, place in enumerate(places)}
        parents = tuple(new.get(self.parents[place], -1) for place in places) if self.parents else ()
        made = [place - num_before for place in places if num_before <= place < self.num_fixed]
        return replace(
            self,
            path=self.path and self.path.only(made),
            tokens=tuple(self.tokens[place] for place in places),
            chances=tuple(self.chances[place] for place in places) if self.chances else (),
            origins=tuple(self.origins[place - num_before] for place in places[num_before:]) if self.origins else (),
            parents=as_parents(parents),
        )

    def within(self, allows: Callable[[Sequence[int]], bool]) -> Draft:
        """Drops the tokens that are certain to be rejected: those on a line, from the pending token on, that is not
        allowed. The first of these stays where it was drawn, since what is written in its place depends on that."""
        if self.before is not None:
            before = self.before.within(allows)
            if len(before.tokens) < self.num_before:
                return replace(before, **{name: getattr(self, name) for name in _COSTS})
        stands: list[bool] = []  # whether a token may follow the one at that place
        kept: list[int] = []
        for place, parent in enumerate(self.parents or chain(len(self.tokens))):
            is_reached = parent < 0 or stands[parent]
            stands.append(is_reached and allows(self.line(place)))
            if stands[-1] or (is_reached and self.num_before <= place < self.num_fixed):
                kept.append(place)
        return self if len(kept) == len(self.tokens) else self._of(kept)

    def after(self, before: Draft) -> Draft:
        """Puts another draft, a chain that is certain of its tokens, before this one."""
        assert before.path is None
        assert not before.parents
        num_before = len(before.tokens)
        parents = (*chain(num_before), *(num_before + each for each in self.parents)) if self.parents else ()
        return replace(
            self,
            tokens=before.tokens + self.tokens,
            chances=before.chances + self.chances,
            before=before,
            parents=parents,
        )

    def followed_by(self, more: Draft) -> Draft:
        """Adds tokens that took no time to guess after the trunk of this draft."""
        num_trunk, num_more = self.num_trunk, len(more.tokens)
        if self.path is None and num_trunk == len(self.tokens):
            return replace(more.after(self), **{name: getattr(self, name) for name in _COSTS})
        own = self.own_origins
        num_own = num_trunk - self.num_before
        parents = self.parents or chain(len(self.tokens))
        branches = (parent + num_more * (parent >= num_trunk) for parent in parents[num_trunk:])
        return replace(
            self,
            tokens=(*self.tokens[:num_trunk], *more.tokens, *self.tokens[num_trunk:]),
            chances=(*self.chances[:num_trunk], *more.chances, *self.chances[num_trunk:]),
            origins=(*own[:num_own], *[more.proposer] * num_more, *own[num_own:]),
            parents=as_parents((*chain(num_trunk + num_more), *branches)),
        )

    def beside(self, other: Draft) -> Draft:
        """Adds the lines of another draft, which is certain of its tokens, as branches. What both share stands once;
        a token that only the other has is taken to be as likely as it says where none of its siblings here stands."""
        tokens, chances, parents = [*self.tokens], [*self.chances], [*(self.parents or chain(len(self.tokens)))]
        places = {pair: place for place, pair in enumerate(zip(parents, tokens, strict=True))}
        left: defaultdict[int, float] = defaultdict(lambda: 1.0)  # chance that none of its children stands, by place
        for parent, chance in zip(parents, chances, strict=True):
            left[parent] -= chance
        found = [-1]  # where the tokens of the other draft stand, beginning with the pending one
        for token, chance, parent in zip(
            other.tokens, other.chances, other.parents or chain(len(other.tokens)), strict=True
        ):
            at = found[parent + 1]
            if (at, token) not in places:
                places[at, token] = len(tokens)
                tokens.append(token)
                parents.append(at)
                chances.append(chance * max(0.0, left[at]))
                left[at] -= chances[-1]
            found.append(places[at, token])
        return replace(
            self,
            tokens=tuple(tokens),
            chances=tuple(chances),
            origins=(*self.own_origins, *[other.proposer] * (len(tokens) - len(self.tokens))),
            parents=as_parents(parents),
        )


NO_DRAFT = Draft()


@dataclass(slots=True)  # not frozen: after a pass, that takes twice as long to make
class Verdict:
    draft: Draft
    num_accepted: int  # of the draft's tokens, from its first on; of a tree, along one branch
    tokens: tuple[int, ...]  # written in this round: the accepted ones and one more, recovered or bonus; the
    # accepted ones alone when they end the reply
    distributions: tuple[Distribution, ...] = ()  # the target's own before each of `tokens`; empty: not known
    branch: tuple[int, ...] = ()  # the places of the accepted tokens in a tree
    # Places of draft tokens that nothing was written after, and what the target likes best after each, unless that is
    # the end of the reply; filled in if a proposer asks for it.
    wanted: tuple[tuple[int, int], ...] = ()

    def chance(self, place: int, token: int) -> float:
        """How likely `token` was in the place of that one of `tokens`. Without distributions, 1 if it is that token and
        0 if not."""
        if self.distributions:
            return self.distributions[place].chance(token)
        return float(self.tokens[place] == token)

    @property
    def places(self) -> Sequence[int]:
        return self.branch if self.draft.parents else range(self.num_accepted)

    @property
    def num_straight(self) -> int:
        """The number of accepted tokens before the first rejected one; in a tree, those on its trunk."""
        return sum(map(eq, self.places, range(len(self.places))))


def as_parents(parents: Sequence[int]) -> tuple[int, ...]:
    """The parents, or none where they are a chain's."""
    return () if all(map(eq, parents, chain(len(parents)))) else tuple(parents)


def chain(length: int) -> range:
    """The parents of `length` tokens of which each follows the one before it."""
    return range(-1, length - 1)


def num_leaves(parents: Sequence[int]) -> int:
    return len(parents) - len({*parents} - {-1})


def common_prefix_length(first: Sequence[int], second: Sequence[int]) -> int:
    length = min(len(first), len(second))
    for start in range(0, length, _COMPARED_AT_ONCE):
        end = min(start + _COMPARED_AT_ONCE, length)
        ours, theirs = first[start:end], second[start:end]
        if ours != theirs:  # as a list and a tuple always are
            for place, (one, other) in enumerate(zip(ours, theirs, strict=True), start):
                if one != other:
                    return place
    return length


def branches_of(parents: Sequence[int]) -> list[list[int]]:
    """The sequences of the token before the tree and of each in it: one for each branch that leads through it."""
    branches: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    num_branches = num_leaves(parents)
    for place in range(len(parents) - 1, -1, -1):
        own = branches[place + 1]
        if not own:
            num_branches -= 1
            own.append(num_branches)
        branches[parents[place] + 1] += own
    return branches
