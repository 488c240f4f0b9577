"""Notes what a target thought before each token it wrote, straight from the passes that the reply paid for anyway."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.messages.learned import VerifiedReply
from engine.numerics.likeliest import largest

_NUM_LIKELIEST = 16  # tokens of a distribution: what lies beyond is hardly ever drafted


class DistributionNotes:
    """Of one reply, in order."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._likeliest: list[npt.NDArray[np.int32]] = []
        self._logits: list[npt.NDArray[np.float32]] = []

    def note(self, token: int, logits: npt.NDArray[np.float32]) -> None:
        """`token` was written; `logits` are the row that its distribution was made of, shape (vocabulary,)."""
        tokens, values = largest(logits, min(_NUM_LIKELIEST, len(logits)))
        self._tokens.append(token)
        self._likeliest.append(tokens)
        self._logits.append(values)

    def first(self, num_tokens: int) -> VerifiedReply | None:
        """Of the first so many tokens; None where there are none."""
        tokens = self._tokens[:num_tokens]
        if not tokens:
            return None
        logits = np.stack(self._logits[: len(tokens)])
        # As if there were no others: what they have together would take another pass over the whole row to know.
        weights = np.exp(logits - logits[:, :1])
        logs = np.log(weights / weights.sum(1, keepdims=True), where=weights > 0, out=np.full_like(weights, -np.inf))
        return VerifiedReply(
            np.array(tokens, np.int32), np.stack(self._likeliest[: len(tokens)]), logs.astype(np.float16)
        )
