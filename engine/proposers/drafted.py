"""A drafter behind the translation: it reads the conversation in its own chat format and tokens and guesses on in them;
the guess is translated into the target's tokens."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from engine.config import SamplingSettings
from engine.drafter.interface import Drafter, DrafterVocabulary, LogitRow
from engine.messages.conversations import ChatTurn
from engine.messages.learned import NgramRecord
from engine.numerics.draft import NO_DRAFT, Draft, DraftPath, Verdict, common_prefix_length
from engine.numerics.estimates import Calibration
from engine.numerics.ngram_cache import NgramCache
from engine.numerics.sampling import Distribution, make_distribution
from engine.numerics.string_trie import Node, StringTrie
from engine.numerics.translation import Speller, Translation
from engine.proposers.catalogue import DRAFTER
from engine.proposers.interface import Context, Proposer, Supplies, Worth
from engine.proposers.reply_tail import NgramLessons, ReplyTail
from engine.target.interface import Vocabulary

_MOST_STEPS_PER_TOKEN = 4  # a token of the target that takes more is not worth drafting
_MOST_CANDIDATES = 64  # of the drafter's distribution: its tail is not worth drawing from
_MEASURED_STEPS = 12
_MOST_CAUGHT_UP = 8  # tokens that one round leaves to be read; more are a prompt, or text written without drafts
_ROOM_SHARE = 8  # of what the drafter can hold, an eighth is for drafts
_CONFIDENCES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)  # borders between kinds of guesses
_PRIORS = (0.05, 0.12, 0.2, 0.28, 0.36, 0.45, 0.53, 0.62, 0.72, 0.82, 0.9, 0.95)  # that each kind is accepted


class DrafterProposer(Proposer):
    """One drafter for one target.

    It drafts until as many tokens as may be checked are begun: whether the last one would grow is not worth another
    step. Greedy drafts are the drafter's likeliest path and count as certain. Sampled ones carry their path and its
    distributions, drawn from what the target could write: the mask leaves only draft tokens that begin a string or go
    on with the open one. The chance of a token is the share of accepted guesses among those for which the drafter's
    likeliest token had a similar probability.
    """

    origin = DRAFTER
    loads = True
    continues = True

    def __init__(
        self,
        drafter: Drafter,
        vocabulary: DrafterVocabulary,
        target: Vocabulary,
        trie: StringTrie,
        cache: NgramCache | None,
        store: Callable[[Sequence[NgramRecord]], None] = lambda _changed: None,
    ) -> None:
        """`trie` holds the strings of the target's tokens, and `cache` teaches it; without one it stays as it is.
        `store` gets what the cache has learned, after every reply. The drafter is this proposer's alone."""
        self._trie = trie
        self._cache = cache
        self._store = store
        self._offered: deque[tuple[StringTrie, NgramCache, Callable[[Sequence[NgramRecord]], None]]] = deque(maxlen=1)
        self._drafter = drafter
        self._vocabulary = vocabulary
        self._target = target
        self._speller = Speller(target.pieces, target.special | target.end_of_generation, vocabulary.pieces)
        self._turns: Sequence[ChatTurn] | None = None
        self._prompt: list[int] = []  # the turns, in the drafter's tokens
        self._held: list[int] = []  # what the drafter holds
        self._num_followed = 0  # tokens of the target, prompt and reply, that were taken in
        self._calibration = Calibration(_PRIORS)
        self._kinds: list[int] = []  # of the tokens of the draft under way
        self._refused: tuple[int, int] | None = None  # kind and token of the guess that was not worth checking
        self._begin_reply()
        self._drafter_s, self._reading_s, self._num_passes = 0.0, 0.0, 0  # of the draft under way

    @classmethod
    def build(cls, supplies: Supplies, is_cancelled: Callable[[], bool]) -> Proposer:
        assert supplies.load_drafter is not None
        return supplies.load_drafter(is_cancelled)

    def propose(self, context: Context, limit: int, worth: Worth) -> Draft:
        self._drafter_s, self._reading_s, self._num_passes = 0.0, 0.0, 0
        self._kinds, self._refused = [], None
        tail = self._tail_of(context)
        if tail is None:
            return NO_DRAFT
        logits = self._catch_up(tail)
        if context.sampling.temperature == 0:
            return self._guess(logits, limit, worth)
        return self._sample(logits, limit, worth, context)

    def observe(self, verdict: Verdict) -> None:
        draft = verdict.draft
        num_reached = verdict.num_accepted - draft.num_before
        for place, kind in enumerate(self._kinds[: max(0, num_reached + 1)]):
            self._calibration.note(kind, place < num_reached)
        if self._refused is not None and verdict.num_accepted == len(draft.tokens) < len(verdict.tokens):
            kind, token = self._refused
            written = self._target.pieces[verdict.tokens[-1]]
            piece = self._vocabulary.pieces[token]
            self._calibration.note(kind, written.startswith(piece) or (bool(written) and piece.startswith(written)))
        self._kinds, self._refused = [], None

    def num_unread(self, context: Context) -> int:
        turns = self._turns
        known = turns is context.turns or (turns is not None and list(context.turns[: len(turns)]) == list(turns))
        return max(0, len(context.tokens) + 1 - (self._num_followed if known else 0))

    def measure_cost(self) -> float:
        """Forgets what the drafter holds."""
        self._held.clear()
        return measure_step(self._drafter)

    def offer_ngrams(self, trie: StringTrie, cache: NgramCache, store: Callable[[Sequence[NgramRecord]], None]) -> None:
        """Takes these with the next reply, in place of those it was built with. From any thread."""
        self._offered.append((trie, cache, store))

    def end_reply(self) -> None:
        self._kinds, self._refused = [], None
        if self._cache is not None:
            self._store(self._cache.take_changes())

    def _begin_reply(self, learns: bool = True) -> None:
        self._num_left_out = 0  # first tokens of prompt and reply, since the drafter cannot hold all
        self._reply: list[int] = []  # the target's tokens so far
        self._tail = ReplyTail(self._vocabulary)  # the same in the drafter's
        self._lessons: NgramLessons | None = None
        if self._cache is not None and learns:
            self._lessons = NgramLessons(self._trie, self._cache, self._target.pieces, self._vocabulary.pieces)

    def _tail_of(self, context: Context) -> list[int] | None:
        """The reply so far and the tokens ahead, in the drafter's tokens; None where it has none for their end."""
        if not self._follow(context):
            return None
        if not context.ahead:
            return self._tail.tokens
        if not self._target.special.isdisjoint(context.ahead):
            return None
        return self._tail.with_guess(b"".join(self._target.pieces[token] for token in context.ahead))

    def _follow(self, context: Context) -> bool:
        """Takes in what was written since the last draft. False when the drafter has no tokens for the end of it."""
        self._num_followed = len(context.tokens) + 1
        if context.turns is not self._turns:
            if self._turns is None or list(context.turns) != list(self._turns):
                self._prompt = self._vocabulary.encode_prompt(context.turns)
            self._turns = context.turns
            if self._offered:
                self._trie, self._cache, self._store = self._offered.pop()
            self._begin_reply(context.learns)
            if self._drafter.refresh():
                self._held.clear()
                self._calibration = Calibration(_PRIORS)  # its guesses are different now
        reply = [*context.tokens[context.reply_start :], context.pending]
        if reply[: len(self._reply)] != self._reply:
            self._begin_reply(context.learns)
        pieces, special = self._target.pieces, self._target.special
        new = [token for token in reply[len(self._reply) :] if pieces[token] and token not in special]
        self._reply = reply
        num_dropped = self._tail.num_dropped
        spelled = self._tail.extend(b"".join(pieces[token] for token in new))
        if self._lessons is not None:
            if self._tail.num_dropped > num_dropped:
                self._lessons.skip(self._tail.num_settled)
            else:
                self._lessons.learn(new, self._tail.tokens, self._tail.num_settled)
        return spelled

    def _catch_up(self, tail: list[int]) -> LogitRow:
        """Makes the drafter hold prompt and reply, from the first token on that differs. The logits after it."""
        wanted = self._prompt[self._num_left_out :] + tail[max(0, self._num_left_out - len(self._prompt)) :]
        size = self._drafter.max_held
        if len(wanted) > size - size // _ROOM_SHARE:  # half of it leaves, so that this is not to be done again soon
            self._num_left_out += len(wanted) - size // 2
            wanted = wanted[-(size // 2) :]
        num_kept = min(common_prefix_length(self._held, wanted), len(wanted) - 1)
        self._drafter.roll_back(num_kept)
        del self._held[num_kept:]
        return self._read(wanted[num_kept:])

    def _read(self, tokens: list[int]) -> LogitRow:
        began = time.perf_counter()
        logits = self._drafter.read(tokens)
        seconds = time.perf_counter() - began
        self._drafter_s += seconds
        if len(tokens) > _MOST_CAUGHT_UP:
            self._reading_s += seconds
        self._num_passes += 1
        self._held += tokens
        return logits

    def _guess(self, logits: LogitRow, limit: int, worth: Worth) -> Draft:
        translation = Translation(self._trie, self._speller)
        chances: list[float] = []
        for _ in range(self._most_steps(limit)):
            token = _likeliest(logits, translation.node)
            if not self._vocabulary.pieces[token]:
                break
            if token not in translation.node.children or translation.node is self._trie.root:  # begins another token
                kind = _kind(self._drafter.chance(1 / float(np.exp(logits - logits[token]).sum())))
                if not self._take(kind, chances, worth):
                    self._refused = kind, token
                    break
                self._kinds.append(kind)
            if not translation.push(token) or translation.num_tokens >= limit or not worth.goes_on(chances):
                break
            logits = self._read([token])
        return self._draft(translation.finish()[:limit], chances)

    def _sample(self, logits: LogitRow, limit: int, worth: Worth, context: Context) -> Draft:
        settings = _drafting(context.sampling)
        translation = Translation(self._trie, _spell_nothing)
        tokens: list[int] = []
        distributions: list[Distribution] = []
        chances: list[float] = []
        for _ in range(self._most_steps(limit)):
            # Whether to go on may depend on what was drafted so far, but not on what would be drawn next.
            if not self._vocabulary.pieces[int(logits.argmax())]:  # the drafter would end the reply here
                break
            masked = self._masked(logits, translation.node)
            if masked is None:
                break
            distribution = make_distribution(masked, settings, ())
            kind = _kind(float(distribution.probabilities.max()))
            if not self._take(kind, chances, worth):
                self._refused = kind, int(masked.argmax())
                break
            token = int(distribution.ids[context.dice.choose(distribution.probabilities)])
            tokens.append(token)
            distributions.append(distribution)
            goes_on = translation.push(token)
            if translation.num_tokens > len(self._kinds):  # it began another token
                self._kinds.append(kind)
            else:
                chances.pop()
            if not goes_on or translation.num_tokens >= limit or not worth.goes_on(chances):
                break
            logits = self._read([token])
        path = DraftPath(tuple(tokens), tuple(distributions), self._trie) if tokens else None
        return self._draft(translation.finish()[:limit], chances, path)

    def _take(self, kind: int, chances: list[float], worth: Worth) -> bool:
        """Adds the chance of another token, if that is worth it."""
        chances.append(self._calibration.chance(kind))
        if worth.is_checked(chances):
            return True
        chances.pop()
        return False

    def _most_steps(self, limit: int) -> int:
        return min(limit * _MOST_STEPS_PER_TOKEN, self._drafter.max_held - len(self._held))

    def _masked(self, logits: LogitRow, node: Node) -> LogitRow | None:
        """The logits of those tokens that begin a string or go on with the open one, minus infinity for all others;
        None when there are none."""
        masked = logits + self._trie.root_mask
        if node is not self._trie.root:
            inner = np.fromiter(node.children, np.int64, len(node.children))
            masked[inner] = logits[inner]
        return masked if masked.max() > -np.inf else None

    def _draft(self, tokens: tuple[int, ...], chances: list[float], path: DraftPath | None = None) -> Draft:
        chances += chances[-1:] * (len(tokens) - len(chances))  # where several tokens spell one of the drafter's
        del self._kinds[len(tokens) :]
        passes = self._num_passes, self._drafter_s, self._reading_s
        return Draft(tokens, path, tuple(chances[: len(tokens)]), *passes, self.origin.key)


def measure_step(drafter: Drafter) -> float:
    """Seconds for reading one token, at best; the drafter holds nothing afterwards."""
    drafter.roll_back(0)
    times = []
    for token in range(_MEASURED_STEPS):
        began = time.perf_counter()
        drafter.read([token])
        times.append(time.perf_counter() - began)
    drafter.roll_back(0)
    return min(times)


@lru_cache(maxsize=8)
def _drafting(sampling: SamplingSettings) -> SamplingSettings:
    """What the drafter's distribution is made with: as the target's, so that the two are alike."""
    return replace(
        sampling,
        top_k=min(sampling.top_k or _MOST_CANDIDATES, _MOST_CANDIDATES),
        repetition_penalty=1.0,
        presence_penalty=0.0,
        frequency_penalty=0.0,
    )


def _likeliest(logits: LogitRow, node: Node) -> int:
    """The draft token of the likeliest outcome at `node`: a child, which makes the open token longer, or all others
    together, which end it."""
    token = int(logits.argmax())
    if node.token is None or token not in node.children:
        return token
    weights = np.exp(logits - logits[token])
    children = np.fromiter(node.children, np.int64, len(node.children))
    if weights.sum() - weights[children].sum() <= 1:  # the child's own weight
        return token
    weights[children] = 0
    return int(weights.argmax())


def _kind(confidence: float) -> int:
    return bisect_right(_CONFIDENCES, confidence)


def _spell_nothing(_token: int) -> None:
    """A sampled draft has no probability for a spelling."""
