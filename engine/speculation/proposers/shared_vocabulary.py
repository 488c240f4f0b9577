"""A drafter with the target's own vocabulary: it reads the target's own prompt and guesses the target's own tokens.

Nothing is tokenized again or translated, and sampled drafts are checked by the classical rule of rejection.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from engine.speculation.drafter.interface import Drafter
from engine.speculation.model.interface import Vocabulary
from engine.speculation.numerics.acceptance import masses_of
from engine.speculation.numerics.draft import Draft, DraftPath
from engine.speculation.numerics.sampling import Distribution
from engine.speculation.proposers.blending import DraftOutlook, Hopes
from engine.speculation.proposers.drafted import DrafterProposer, Ending
from engine.speculation.proposers.guesses import Accepted, Guess, accepted_ways
from engine.speculation.proposers.interface import Context, Worth
from engine.values.drafters import UNNAMED_DRAFTER

_MOST_DIFFERENT = 0.002  # of the tokens: newer models of a family name some that were unused


def shares_vocabulary(target: Vocabulary, pieces: Sequence[bytes]) -> bool:
    """True if a drafter with these tokens (as bytes, empty for special ones) has the target's, except for a few of them
    and for padding after them."""
    size = min(len(target), len(pieces))
    longer = max(len(target), len(pieces))
    num_different = sum(map(bytes.__ne__, texts_of(target)[:size], pieces[:size]))
    return longer - size + num_different <= _MOST_DIFFERENT * longer


class SharedVocabularyDrafter(DrafterProposer):
    """A drafter with the target's vocabulary. Tokens that differ nevertheless are read, as only guesses depend on them,
    and never drafted."""

    def __init__(
        self, drafter: Drafter, pieces: Sequence[bytes], target: Vocabulary, label: str = UNNAMED_DRAFTER
    ) -> None:
        """`pieces`: the drafter's tokens as bytes, empty for special ones; see `shares_vocabulary`."""
        super().__init__(drafter, label)
        self._unread_prompt: list[int] = []
        self._num_tokens = len(pieces)
        self._pieces = pieces
        texts = texts_of(target)
        # Added to the drafter's logits, shape (its vocabulary,): minus infinity for what is never drafted.
        self._mask = np.zeros(len(pieces), np.float32)
        for token, piece in enumerate(pieces):
            if not piece or token >= len(texts) or texts[token] != piece:
                self._mask[token] = -np.inf

    def _prompt_of(self, context: Context) -> list[int]:
        return self._known(context.tokens[: context.reply_start])

    def _begin(self, context: Context) -> None:
        self._unread_prompt = self._prompt_of(context)

    def _ending(self, new: Sequence[int], context: Context) -> Ending:
        certain, self._unread_prompt = [*self._unread_prompt, *self._known(new)], []
        return Ending([*certain, *self._known(context.ahead)], len(certain))

    def _known(self, tokens: Sequence[int]) -> list[int]:
        return [token for token in tokens if token < self._num_tokens]

    def _guess(self, own: DraftOutlook, limit: int, worth: Worth, context: Context) -> Draft:
        tokens: list[int] = []
        while True:
            outlook = self._outlook(own, partial(self._hopes, context, tokens))
            token = outlook.likeliest
            if self._mask[token]:
                break
            guess = self._judged_guess(outlook, token)
            if not self._is_worth_checking(guess, worth):
                break
            self._note_alternatives(outlook, guess, len(tokens))
            self._drafted.append(guess)
            tokens.append(token)
            if not self._goes_on(limit, worth):
                break
            own = self._read([token])
        return self._draft(tokens, limit)

    def _sample(self, own: DraftOutlook, limit: int, worth: Worth, context: Context) -> Draft:
        tokens: list[int] = []
        distributions: list[Distribution] = []
        while not self._mask[own.likeliest]:  # the drafter would end the reply here
            outlook = self._outlook(own, partial(self._hopes, context, tokens))
            decided = self._decided(outlook, self._mask, context, worth)
            if decided is None:
                break
            guess, distribution = decided
            self._note_alternatives(outlook, guess, len(tokens))
            self._drafted.append(guess)
            tokens.append(guess.token)
            distributions.append(distribution)
            if not self._goes_on(limit, worth):
                break
            own = self._read(tokens[-1:])
        path = DraftPath(tuple(tokens), tuple(distributions), None, len(tokens)) if tokens else None
        return self._draft(tokens, limit, path)

    def _hopes(self, context: Context, drafted: Sequence[int], _likeliest: int) -> Hopes | None:
        expected = context.expect([*context.ahead, *drafted])
        if expected is None:
            return None
        masses = {t: p for t, p in expected.probabilities.items() if t < len(self._mask) and not self._mask[t]}
        return Hopes(masses, expected.kind) if masses else None

    def _alone(self, guess: int) -> int | None:
        return None if self._mask[guess] else guess

    def _first_of(self, written: int) -> int:
        return written

    def _begins_word(self, guess: int) -> bool:
        return self._pieces[guess][:1] in (b"", b" ")

    def _is_right(self, guess: int, written: int) -> bool:
        return guess == written

    def _ways(self, guess: Guess, wanted: Distribution, recovered: int | None) -> Accepted:  # noqa: ARG002
        assert guess.proposed is not None
        return accepted_ways(guess, guess.proposed, masses_of(wanted, guess.proposed, None))

    def _goes_on(self, limit: int, worth: Worth) -> bool:
        has_room = len(self._drafted) < limit and len(self._held) < self._drafter.max_held
        return has_room and worth.goes_on(self._chances())


def texts_of(target: Vocabulary) -> list[bytes]:
    """The target's tokens as bytes, empty for special ones."""
    return [b"" if token in target.silent else piece for token, piece in enumerate(target.pieces)]
