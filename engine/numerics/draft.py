"""A draft and its verdict: what a proposer hands to the acceptance rule, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from engine.numerics.sampling import Distribution
from engine.numerics.string_trie import StringTrie

_COMPARED_AT_ONCE = 256  # tokens, so that a difference is not looked for from the beginning


@dataclass(frozen=True, slots=True)
class DraftPath:
    """How a sampled draft came about: the drafter's own tokens, and the distributions they were truly drawn from."""

    tokens: tuple[int, ...]  # the drafter's, shape (k,)
    distributions: tuple[Distribution, ...]  # shape (k,), over the drafter's vocabulary, after masking and pruning
    # Of the strings that target tokens are made of; unchanged until the verdict. None: the drafter's tokens are the
    # target's.
    trie: StringTrie | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A guess at the next tokens of the target.

    Without a path it counts as certain of each token. With one, `tokens` behind `before` are the path's own, or the
    longest-match segmentation of them: the very tokens that come out if everything on the path is accepted.
    """

    tokens: tuple[int, ...] = ()  # the target's, shape (n,)
    path: DraftPath | None = None
    chances: tuple[float, ...] = ()  # shape (n,): that each is accepted if those before it are; empty: not known
    num_steps: int = 0  # passes of a drafter, one for each token it drew or refused to draw
    drafter_s: float = 0.0  # seconds in the drafter's passes
    reading_s: float = 0.0  # of these, in a pass over many tokens at once: a prompt, or text written without drafts
    proposer: str = ""  # the key of its origin
    before: Draft | None = None  # the first of `tokens`, where another proposer guessed them; certain of each
    num_read: int = 0  # tokens that the drafter read in `reading_s`
    origins: tuple[str, ...] = ()  # of its own tokens, where others had a say in them; empty: all are the proposer's

    @property
    def num_before(self) -> int:
        """Of the tokens, those of `before`."""
        return len(self.before.tokens) if self.before else 0

    @property
    def parts(self) -> tuple[tuple[str, int], ...]:
        """Who guessed how many of the tokens, in order."""
        num_own = len(self.tokens) - self.num_before
        own = [(key, len([*run])) for key, run in groupby(self.origins)] if self.origins else [(self.proposer, num_own)]
        return (*self.before.parts, *own) if self.before else tuple(own)

    @property
    def proposers(self) -> frozenset[str]:
        """All who drafted."""
        return frozenset({self.proposer}) | (self.before.proposers if self.before else frozenset())

    def place_of(self, proposer: str) -> tuple[int, int]:
        """Where the tokens begin that it guessed, whoever had a say in them, and how many there are."""
        part: Draft | None = self
        while part is not None and part.proposer != proposer:
            part = part.before
        return (len(self.tokens), 0) if part is None else (part.num_before, len(part.tokens) - part.num_before)

    def first(self, num_tokens: int) -> Draft:
        """Its first tokens alone; only of one without a path."""
        assert self.path is None
        first = slice(num_tokens)
        return replace(self, tokens=self.tokens[first], chances=self.chances[first], origins=self.origins[first])

    def after(self, before: Draft) -> Draft:
        """Another draft, which is certain of its tokens, and this one after it."""
        assert before.path is None
        return replace(self, tokens=before.tokens + self.tokens, chances=before.chances + self.chances, before=before)

    def followed_by(self, more: Draft) -> Draft:
        """This draft, which is certain of its tokens, and after it tokens that took no time to guess."""
        return replace(
            more.after(self),
            num_steps=self.num_steps,
            drafter_s=self.drafter_s,
            reading_s=self.reading_s,
            num_read=self.num_read,
        )


NO_DRAFT = Draft()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a round."""

    draft: Draft
    num_accepted: int  # of the draft's tokens, from its first on
    tokens: tuple[int, ...]  # written in this round: the accepted ones and one more, recovered or bonus; the
    # accepted ones alone when they end the reply
    distributions: tuple[Distribution, ...] = ()  # the target's own before each of `tokens`; empty: not known
    # Places of draft tokens that nothing was written after, and what the target likes best after each; if asked for.
    wanted: tuple[tuple[int, int], ...] = ()


def common_prefix_length(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens both begin with."""
    length = min(len(first), len(second))
    for start in range(0, length, _COMPARED_AT_ONCE):
        end = min(start + _COMPARED_AT_ONCE, length)
        ours, theirs = first[start:end], second[start:end]
        if ours != theirs:  # as a list and a tuple always are
            for place, (one, other) in enumerate(zip(ours, theirs, strict=True), start):
                if one != other:
                    return place
    return length
