"""Where two greedy replies part, and how nearly tied the two tokens were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.decoding.session import Session
from engine.lab.measuring.modes import Answer
from engine.numerics.prefix import common_prefix_length
from engine.stop_signal import StopSignal
from engine.target.interface import Target


@dataclass(frozen=True, slots=True)
class Fork:
    position: int  # in the reply's tokens: the first that differs, or where one of both has ended
    logit_gap: float | None  # largest logit less the other token's; None where it could not be computed


class Gauge(Protocol):
    def gap(self, prompt: Sequence[int], reply: Sequence[int], token: int | None, stop: StopSignal) -> float | None:
        """How much likelier than `token` (None: the end of the reply) another one is after `prompt` and `reply`."""
        ...


class LogitGauge:
    """Evaluates as plain decoding does, one token after the other: batched passes use other kernels, and the tie
    would look different."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def gap(self, prompt: Sequence[int], reply: Sequence[int], token: int | None, stop: StopSignal) -> float | None:
        """None where prompt and reply are longer than the context: older turns had left before. Raises
        Interrupted."""
        if len(prompt) + len(reply) > self._target.limits.context_size:
            return None
        others = [token] if token is not None else sorted(self._target.vocabulary.end_of_generation)
        self._target.roll_back(0)
        session = Session(self._target)
        rows = session.read(prompt, stop)
        for written in reply:
            rows = session.extend([written], stop, num_rows=1)
        row = rows[-1]
        return float(row.max() - row[others].max()) if others else None


def find_fork(plain: Answer, other: Answer, gauge: Gauge, stop: StopSignal) -> Fork | None:
    """None where both wrote the same. Raises Interrupted."""
    if plain.tokens == other.tokens:
        return None
    position = common_prefix_length(plain.tokens, other.tokens)
    token = other.tokens[position] if position < len(other.tokens) else None
    return Fork(position, gauge.gap(plain.prompt, plain.tokens[:position], token, stop))
