"""A drafter with a vocabulary of its own: it reads the conversation in its own chat format and tokens, and what it
guesses is translated into the target's tokens."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from engine.drafter.interface import Drafter, DrafterVocabulary, LogitRow
from engine.messages.learned import NgramRecord
from engine.numerics.draft import Draft, DraftPath
from engine.numerics.ngram_cache import NgramCache
from engine.numerics.sampling import Distribution, make_distribution
from engine.numerics.string_trie import Node, StringTrie
from engine.numerics.translation import Speller, Translation
from engine.proposers.drafted import DrafterProposer, StoreNgrams, drafting, kind_of
from engine.proposers.interface import Context, Worth
from engine.proposers.reply_tail import NgramLessons, ReplyTail
from engine.target.interface import Vocabulary

_MOST_STEPS_PER_TOKEN = 4  # a token of the target that takes more is not worth drafting


def _keep_nothing(_changed: Sequence[NgramRecord]) -> None: ...


class TranslatedDrafter(DrafterProposer):
    """Sampled drafts are drawn with a mask that leaves only tokens that begin a string or go on with the open one."""

    def __init__(
        self,
        drafter: Drafter,
        vocabulary: DrafterVocabulary,
        target: Vocabulary,
        trie: StringTrie,
        cache: NgramCache | None,
        store: StoreNgrams = _keep_nothing,
        label: str = "the drafter",
    ) -> None:
        """`trie` holds the strings of the target's tokens, and `cache` teaches it; without one it stays as it is.
        `store` gets what the cache has learned, after every reply."""
        super().__init__(drafter, label)
        self._trie = trie
        self._cache = cache
        self._store = store
        self._offered: deque[tuple[StringTrie, NgramCache, StoreNgrams]] = deque(maxlen=1)
        self._vocabulary = vocabulary
        self._target = target
        self._speller = Speller(target.pieces, target.special | target.end_of_generation, vocabulary.pieces)
        self._prompt: list[int] = []  # the turns, in the drafter's tokens
        self._begin_reply()

    def offer_ngrams(self, trie: StringTrie, cache: NgramCache, store: StoreNgrams) -> None:
        self._offered.append((trie, cache, store))

    def end_reply(self) -> None:
        super().end_reply()
        if self._cache is not None:
            self._store(self._cache.take_changes())

    def _read_turns(self, context: Context) -> None:
        if self._turns is None or list(context.turns) != list(self._turns):
            self._prompt = self._vocabulary.encode_prompt(context.turns)
        if self._offered:
            self._trie, self._cache, self._store = self._offered.pop()
        self._begin_reply(context.learns)

    def _begin_reply(self, learns: bool = True) -> None:
        self._num_left_out = 0
        self._reply: list[int] = []  # the target's tokens so far
        self._tail = ReplyTail(self._vocabulary)  # the same in the drafter's
        self._lessons: NgramLessons | None = None
        if self._cache is not None and learns:
            self._lessons = NgramLessons(self._trie, self._cache, self._target.pieces, self._vocabulary.pieces)

    def _wanted(self, context: Context) -> list[int] | None:
        tail = self._tail_of(context)
        if tail is None:
            return None
        return self._prompt[self._num_left_out :] + tail[max(0, self._num_left_out - len(self._prompt)) :]

    def _tail_of(self, context: Context) -> list[int] | None:
        """The reply so far and the tokens ahead, in the drafter's tokens."""
        if not self._take_in(context):
            return None
        if not context.ahead:
            return self._tail.tokens
        if not self._target.special.isdisjoint(context.ahead):
            return None
        return self._tail.with_guess(b"".join(self._target.pieces[token] for token in context.ahead))

    def _take_in(self, context: Context) -> bool:
        """False when the drafter has no tokens for the end of the reply."""
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

    def _guess(self, logits: LogitRow, limit: int, worth: Worth) -> Draft:
        translation = Translation(self._trie, self._speller)
        chances: list[float] = []
        for _ in range(self._most_steps(limit)):
            token = _likeliest(logits, translation.node)
            if not self._vocabulary.pieces[token]:
                break
            if token not in translation.node.children or translation.node is self._trie.root:  # begins another token
                kind = self._kind_of(logits, token)
                if not self._take(kind, token, chances, worth):
                    break
                self._kinds.append(kind)
            if not translation.push(token) or translation.num_tokens >= limit or not worth.goes_on(chances):
                break
            logits = self._read([token])
        return self._draft(translation.finish()[:limit], chances)

    def _sample(self, logits: LogitRow, limit: int, worth: Worth, context: Context) -> Draft:
        settings = drafting(context.sampling)
        translation = Translation(self._trie, _spell_nothing)
        tokens: list[int] = []
        distributions: list[Distribution] = []
        chances: list[float] = []
        for _ in range(self._most_steps(limit)):
            if not self._vocabulary.pieces[int(logits.argmax())]:  # the drafter would end the reply here
                break
            masked = self._masked(logits, translation.node)
            if masked is None:
                break
            distribution = make_distribution(masked, settings, ())
            kind = kind_of(float(distribution.probabilities.max()))
            if not self._take(kind, int(distribution.ids[0]), chances, worth):
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

    def _is_right(self, guess: int, written: int) -> bool:
        """Of a token that one of them begins with the other."""
        ours, theirs = self._vocabulary.pieces[guess], self._target.pieces[written]
        return theirs.startswith(ours) or (bool(theirs) and ours.startswith(theirs))

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


def _spell_nothing(_token: int) -> None:
    """A sampled draft has no probability for a spelling."""
