"""How likely each token of a reply was, for who asks: exact, which takes a pass over each row of logits."""

from __future__ import annotations

from collections.abc import Sequence

from engine.messages.replies import TokenLog
from engine.numerics.likeliest import RowScan, log_sum_exp


class TokenLogs:
    """Natural logarithms of probabilities at temperature 1, before anything limits what may be written."""

    def __init__(self, num_beside: int, pieces: Sequence[bytes]) -> None:
        """`num_beside`: of the likeliest tokens that are told beside each token; `pieces`: of the vocabulary."""
        self._num_beside = num_beside
        self._pieces = pieces
        self._logs: list[TokenLog | None] = []

    def note(self, token: int, row: RowScan) -> None:
        """`token` was written; its distribution was made of `row`."""
        ids, values = row.largest(max(1, self._num_beside))
        total = log_sum_exp(row.logits, values[0])
        beside = tuple(
            (self._pieces[each], min(0.0, float(value) - total))
            for each, value in zip(ids[: self._num_beside].tolist(), values, strict=False)
        )
        self._logs.append(TokenLog(self._pieces[token], min(0.0, float(row.logits[token]) - total), beside))

    def skip(self, num_tokens: int) -> None:
        """These were written without the target."""
        self._logs += [None] * num_tokens

    def of(self, place: int) -> TokenLog | None:
        return self._logs[place] if place < len(self._logs) else None
