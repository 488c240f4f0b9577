"""Writes a reply, round by round."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.config import SamplingSettings
from engine.numerics.sampling import make_law
from engine.session import Session
from engine.stop_signal import StopSignal
from engine.target.interface import FloatRows


class Decoder:
    """Draws what follows the session's tokens.

    A token that was drawn is *pending* until the next round evaluates it, together with what comes after it.
    """

    def __init__(self, session: Session, sampling: SamplingSettings) -> None:
        self._session = session
        self._sampling = sampling
        self._random = np.random.default_rng(sampling.seed)

    def rounds(self, rows: FloatRows, stop: StopSignal) -> Iterator[int]:
        """The tokens of the reply, for as long as they are asked for and the session has room.

        `rows` are the logits after the prompt. Raises Interrupted when `stop` gets set.
        """
        token = self._draw(rows)
        yield token
        while self._session.room > 0:
            token = self._draw(self._session.extend([token], stop, num_rows=1))
            yield token

    def _draw(self, rows: FloatRows) -> int:
        return make_law(rows[-1], self._sampling, self._session.tokens).draw(self._random)
