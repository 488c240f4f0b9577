"""A drafter with a vocabulary of its own: it reads the conversation in its own chat format and tokens, and what it
guesses is translated into the target's tokens."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from engine.speculation.drafter.interface import Drafter, DrafterVocabulary
from engine.speculation.model.interface import Vocabulary
from engine.speculation.native import rows
from engine.speculation.numerics.acceptance import masses_of
from engine.speculation.numerics.draft import Draft, DraftPath
from engine.speculation.numerics.ngram_cache import NgramCache
from engine.speculation.numerics.sampling import Distribution
from engine.speculation.numerics.string_trie import StringTrie, TrieNode
from engine.speculation.numerics.translation import Segment, Speller, Translation, align, translate
from engine.speculation.proposers.blending import DraftOutlook, Hopes, hopes_at
from engine.speculation.proposers.drafted import DrafterProposer, Ending
from engine.speculation.proposers.guesses import Accepted, Guess, accepted_ways
from engine.speculation.proposers.interface import Context, StoreNgrams, Worth
from engine.values.conversations import ChatTurn
from engine.values.drafters import UNNAMED_DRAFTER
from engine.values.learned import NgramRecord

_CHARACTERS_PER_TOKEN = 16  # far more than tokens of any language have
_MOST_STEPS_PER_TOKEN = 4  # a token of the target that takes more is not worth drafting

_OPEN_TOKENS = 4  # at the end, that the next bytes may still change
_MOST_OPEN_TOKENS = 48  # in a text without spaces
_MOST_UNSPELLED_BYTES = 64
_SPACES = b" \n\t\r"


def _keep_nothing(_changed: Sequence[NgramRecord]) -> None: ...


class TranslatedDrafter(DrafterProposer):
    """A drafter with another vocabulary. Sampled drafts are drawn with a mask that leaves only tokens that begin a
    string or go on with the open one."""

    def __init__(
        self,
        drafter: Drafter,
        vocabulary: DrafterVocabulary,
        target: Vocabulary,
        trie: StringTrie,
        cache: NgramCache | None,
        store: StoreNgrams = _keep_nothing,
        label: str = UNNAMED_DRAFTER,
    ) -> None:
        """`trie` holds the strings of the target's tokens, and `cache` teaches it; without one it stays as it is.
        `store` gets what the cache has learned, after every reply."""
        super().__init__(drafter, label)
        self._trie = self._taught = trie  # in use; what the cache has taught
        self._plain: StringTrie | None = None  # an untaught one, once it is needed
        self._cache = cache
        self._store = store
        self._offered: deque[tuple[StringTrie, NgramCache, StoreNgrams]] = deque(maxlen=1)
        self._vocabulary = vocabulary
        self._target = target
        self._speller = Speller(target.pieces, target.silent, vocabulary.pieces)
        self._prompt: tuple[Sequence[ChatTurn] | Sequence[int], list[int]] = (
            (),
            [],
        )  # turns or a bare text, and these in its tokens
        self._begin_reply()

    def offer_ngrams(self, trie: StringTrie, cache: NgramCache, store: StoreNgrams) -> None:
        self._offered.append((trie, cache, store))

    def end_reply(self) -> None:
        super().end_reply()
        if self._cache is not None:
            self._store(self._cache.take_changes())

    def change_owner(self) -> None:
        super().change_owner()
        self._prompt = (), []

    def _prompt_of(self, context: Context) -> list[int]:
        known, prompt = self._prompt
        asked: Sequence[ChatTurn] | Sequence[int] = context.turns or context.tokens[: context.reply_start]
        if not prompt or (asked is not known and list(asked) != list(known)):
            turns = context.turns
            prompt = self._vocabulary.encode_prompt(self._newest(turns)) if turns else self._bare(context)
        self._prompt = asked, prompt
        return prompt

    def _bare(self, context: Context) -> list[int]:
        """The end of a text that is no conversation, in the drafter's tokens; nothing where it has none for it."""
        pieces, special = self._target.pieces, self._target.special
        tokens = context.tokens[: context.reply_start][-2 * self._drafter.max_held :]
        return self._vocabulary.encode(b"".join(pieces[token] for token in tokens if token not in special)) or []

    def _begin(self, context: Context) -> None:
        self._prompt_of(context)
        if self._offered:
            self._taught, self._cache, self._store = self._offered.pop()
        self._trie = self._taught if context.owner.drafts_from_chats else self._untaught()
        self._begin_reply(context.learns)

    def _untaught(self) -> StringTrie:
        self._plain = self._plain or self._taught.untaught()
        return self._plain

    def _newest(self, turns: Sequence[ChatTurn]) -> list[ChatTurn]:
        """The end of a conversation that is far longer than what the drafter can hold. It begins at the same place for
        many replies, so that what is held of it is found again."""
        room = _CHARACTERS_PER_TOKEN * self._drafter.max_held
        spare, grid = sum(len(turn.text) for turn in turns) - room, room // 2
        num_left_out = -(-spare // grid) * grid if spare > 0 else 0
        kept: list[ChatTurn] = []
        for turn in turns:
            if num_left_out < len(turn.text) or not num_left_out:
                kept.append(replace(turn, text=turn.text[num_left_out:]))
            num_left_out = max(0, num_left_out - len(turn.text))
        return kept

    def _begin_reply(self, learns: bool = True) -> None:
        self._tail = ReplyTail(self._vocabulary)  # the target's tokens so far, in the drafter's
        self._num_given: int | None = (
            None  # tokens of the tail that the drafter holds for good; None: not even the prompt
        )
        self._lessons: NgramLessons | None = None
        if self._cache is not None and learns:
            self._lessons = NgramLessons(self._taught, self._cache, self._target.pieces, self._vocabulary.pieces)

    def _ending(self, new: Sequence[int], context: Context) -> Ending | None:
        if not self._take_in(new):
            return None
        tail, num_given = self._tail, self._num_given
        unsettled: Sequence[int] | None = tail.tokens[tail.num_settled :]
        if context.ahead:
            unsettled = self._with_guess(context.ahead)
        if unsettled is None:
            return None
        certain = tail.tokens[num_given or 0 : tail.num_settled]
        if num_given is None:
            certain = self._prompt[1] + certain
        self._num_given = tail.num_settled
        return Ending([*certain, *unsettled], len(certain))

    def _with_guess(self, ahead: Sequence[int]) -> list[int] | None:
        """The drafter's tokens after the settled ones, if the reply went on with these of the target."""
        if not self._target.special.isdisjoint(ahead):
            return None
        return self._tail.with_guess(b"".join(self._target.pieces[token] for token in ahead))

    def _take_in(self, written: Sequence[int]) -> bool:
        """Returns False when the drafter has no tokens for the end of the reply."""
        pieces, special = self._target.pieces, self._target.special
        new = [token for token in written if pieces[token] and token not in special]
        num_dropped = self._tail.num_dropped
        spelled = self._tail.extend(b"".join(pieces[token] for token in new))
        if self._lessons is not None:
            if self._tail.num_dropped > num_dropped:
                self._lessons.skip(self._tail.num_settled)
            else:
                self._lessons.learn(new, self._tail.tokens, self._tail.num_settled)
        return spelled

    def _guess(self, own: DraftOutlook, limit: int, worth: Worth, context: Context) -> Draft:
        translation = Translation(self._trie, self._speller)
        steps: list[Guess] = []
        for _ in range(self._most_steps(limit)):
            outlook = self._outlook(own, partial(self._hopes, context, translation))
            node, token = translation.node, _likeliest(outlook, translation.node)
            if not self._vocabulary.pieces[token]:
                break
            guess = self._judged_guess(outlook, token)
            begins = node is self._trie.root or token not in node.children
            if begins and not self._is_worth_checking(guess, worth):
                break
            if begins:
                others = () if node is self._trie.root else node.children
                self._note_alternatives(outlook, guess, len(translation.finish()), others)
            steps.append(guess)
            goes_on = translation.push(token)
            self._drafted = _begun(translation, steps)
            if not goes_on or translation.num_tokens >= limit or not worth.goes_on(self._chances()):
                break
            own = self._read([token])
        return self._translated(translation, steps, limit)

    def _sample(self, own: DraftOutlook, limit: int, worth: Worth, context: Context) -> Draft:
        translation = Translation(self._trie, _spell_nothing)
        steps: list[Guess] = []
        tokens: list[int] = []
        distributions: list[Distribution] = []
        for _ in range(self._most_steps(limit)):
            if not self._vocabulary.pieces[own.likeliest]:  # the drafter would end the reply here
                break
            node = translation.node
            outlook = self._outlook(own, partial(self._hopes, context, translation))
            inner = {} if node is self._trie.root else node.children  # these would make the open token longer
            decided = self._decided(outlook, self._trie.root_mask, context, worth, inner)
            if decided is None:
                break
            guess, distribution = decided
            if guess.token in inner:  # known by the time that one begins a token of its own
                guess = replace(guess, proposed=None)
            else:
                self._note_alternatives(outlook, guess, len(translation.finish()), inner)
            steps.append(guess)
            tokens.append(guess.token)
            distributions.append(distribution)
            goes_on = translation.push(guess.token)
            self._drafted = _begun(translation, steps)
            if not goes_on or translation.num_tokens >= limit or not worth.goes_on(self._chances()):
                break
            own = self._read([guess.token])
        num_made = min(limit, len(translation.finish()))
        path = DraftPath(tuple(tokens), tuple(distributions), self._trie, num_made) if tokens else None
        return self._translated(translation, steps, limit, path)

    def _translated(
        self, translation: Translation, steps: Sequence[Guess], limit: int, path: DraftPath | None = None
    ) -> Draft:
        self._drafted = _spread(translation.whole(), steps)
        return self._draft(translation.finish(), limit, path)

    def _hopes(self, context: Context, translation: Translation, likeliest: int) -> Hopes | None:
        drafted = [*context.ahead, *translation.settled]
        return hopes_at(context.expect, drafted, self._trie, translation.open, likeliest)

    def _alone(self, guess: int) -> int | None:
        node = self._trie.root.children.get(guess)
        return None if node is None else node.token

    def _first_of(self, written: int) -> int:
        return next(iter(self._trie.string_of(written)), -1)

    def _begins_word(self, guess: int) -> bool:
        return self._vocabulary.pieces[guess][:1] in (b"", b" ")

    def _is_right(self, guess: int, written: int) -> bool:
        """True if one of the two tokens begins with the other."""
        ours, theirs = self._vocabulary.pieces[guess], self._target.pieces[written]
        return theirs.startswith(ours) or (bool(theirs) and ours.startswith(theirs))

    def _ways(self, guess: Guess, wanted: Distribution, recovered: int | None) -> Accepted:
        """The chances of passing the first test of its place are computed: from the mass of the target's tokens whose
        strings begin alike. Of the later tests, the outcome counts: a recovered token that begins as the drafted one
        did shows that one of these failed. Those of a token that was never drafted are taken to be passed, as nearly
        all are."""
        proposed = guess.proposed
        assert proposed is not None
        if recovered is not None and self._trie.string_of(recovered)[:1] == (guess.token,):
            return Accepted(0.0, 0.0, None if guess.drawn is None else 0.0)
        if guess.inner:
            begins = np.array([token not in guess.inner for token in proposed.ids.tolist()])
            if not begins.any():
                return Accepted()  # what would begin a token is not known
            weights = proposed.probabilities[begins]
            proposed = Distribution(proposed.ids[begins], weights / weights.sum())
        return accepted_ways(guess, proposed, masses_of(wanted, proposed, self._trie))

    def _most_steps(self, limit: int) -> int:
        return min(limit * _MOST_STEPS_PER_TOKEN, self._drafter.max_held - len(self._held))


def _likeliest(outlook: DraftOutlook, node: TrieNode) -> int:
    """The draft token of the likeliest outcome at `node`: a child, which makes the open token longer, or all others
    together, which end it."""
    token, logits = outlook.likeliest, outlook.logits
    if node.token is None or token not in node.children:
        return token
    children = np.fromiter(node.children, np.int64, len(node.children))
    inside = float(np.exp(logits[children].astype(np.float64) - outlook.total).sum())
    if 1 - inside <= outlook.probability(token):
        return token
    others = logits.copy()
    others[children] = -np.inf
    return rows.best(others)[0]


def _begun(translation: Translation, steps: Sequence[Guess]) -> list[Guess]:
    """The draft tokens with which the target's tokens begin so far, including the open one."""
    found = _spread(translation.segments, steps)
    if translation.num_tokens > len(translation.settled):
        found.append(steps[sum(segment.num_draft for segment in translation.segments)])
    return found


def _spread(segments: Sequence[Segment], steps: Sequence[Guess]) -> list[Guess]:
    """The draft token with which the segment of each of the target's tokens begins."""
    found: list[Guess] = []
    place = 0
    for segment in segments:
        found += [steps[place]] * len(segment.tokens)
        place += segment.num_draft
    return found


def _spell_nothing(_token: int) -> None:
    """A sampled draft has no probability for a spelling."""


class ReplyTail:
    """The drafter's tokens of a text that grows at its end.

    A tokenizer may split the same text differently once more of it is known, so the tail is tokenized again and again.
    A border before the tail moves from one beginning of a word to the next, since no tokenizer merges across it; tokens
    before the border are settled.
    """

    def __init__(self, vocabulary: DrafterVocabulary) -> None:
        self._vocabulary = vocabulary
        self.tokens: list[int] = []
        self.num_settled = 0  # of `tokens`; they do not change any more
        self.num_dropped = 0  # times that bytes were left out
        self._open = b""  # the bytes after the border

    def extend(self, data: bytes) -> bool:
        """Returns False while the vocabulary has no tokens for the end of the text; bytes that cannot be spelled are
        left out after a while."""
        self._open += data
        encoded = self._vocabulary.encode(self._open)
        if encoded is None:
            if len(self._open) > _MOST_UNSPELLED_BYTES:
                self._open = b""
                self.num_dropped += 1
                self.num_settled = len(self.tokens)
            return False
        del self.tokens[self.num_settled :]
        self.tokens += encoded
        self._settle()
        return True

    def with_guess(self, data: bytes) -> list[int] | None:
        """The tokens after the settled ones if the text went on with `data`; None where the vocabulary has none.
        Changes nothing."""
        return self._vocabulary.encode(self._open + data)

    def _settle(self) -> None:
        pieces = self._vocabulary.pieces
        border = len(self.tokens) - _OPEN_TOKENS
        while border > self.num_settled:
            piece, before = pieces[self.tokens[border]], pieces[self.tokens[border - 1]]
            if piece[:1] == b" " and before[-1:] not in _SPACES:
                break
            border -= 1
        else:
            if len(self.tokens) - self.num_settled < _MOST_OPEN_TOKENS:
                return
            border = len(self.tokens) - _MOST_OPEN_TOKENS // 2
        num_bytes = sum(len(pieces[token]) for token in self.tokens[self.num_settled : border])
        self._open = self._open[num_bytes:]
        self.num_settled = border


class NgramLessons:
    """Follows one reply in both vocabularies, and teaches the cache which of the drafter's tokens each settled token of
    the target was made of."""

    def __init__(
        self, trie: StringTrie, cache: NgramCache, target_pieces: Sequence[bytes], drafter_pieces: Sequence[bytes]
    ) -> None:
        self._trie = trie
        self._cache = cache
        self._target_pieces = target_pieces
        self._drafter_pieces = drafter_pieces
        self._waiting: list[int] = []  # the target's tokens whose drafter's tokens may still change
        self._num_learned = 0  # of the drafter's tokens

    def skip(self, num_drafted: int) -> None:
        """Resumes from here, with nothing waiting, since the two sides no longer spell the same bytes."""
        self._waiting.clear()
        self._num_learned = num_drafted

    def learn(self, new: Sequence[int], drafted: Sequence[int], num_settled: int) -> None:
        """Takes in `new` tokens of the target; `drafted` is the whole reply in the drafter's tokens, of which
        `num_settled` do not change any more."""
        self._waiting += new
        settled = list(drafted[self._num_learned : num_settled])
        if not settled:
            return
        groups = list(align(self._waiting, self._target_pieces, settled, self._drafter_pieces))
        num_target = sum(len(tokens) for tokens, _ in groups)
        num_drafter = sum(len(string) for _, string in groups)
        self._doubt_wrong_merges(groups, settled[:num_drafter])
        for tokens, string in groups:
            if len(tokens) == 1:
                self._cache.learn(tokens[0], tuple(string))
        del self._waiting[:num_target]
        self._num_learned += num_drafter

    def _doubt_wrong_merges(self, groups: Sequence[tuple[list[int], list[int]]], drafted: list[int]) -> None:
        """Doubts merges where the longest match is not what the target wrote."""
        written: dict[int, tuple[list[int], int]] = {}
        place = 0
        for tokens, string in groups:
            written[place] = (tokens, len(string))
            place += len(string)
        place = 0
        for segment in translate(self._trie, drafted, lambda _token: None):
            if segment.num_draft > 1 and written.get(place) != ([*segment.tokens], segment.num_draft):
                self._cache.doubt(segment.tokens[0])
            place += segment.num_draft
