"""Replies in the form of OpenAI's completions, which continue a text."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from engine.backend.server.chat_replies import DONE, FINISH, logs_in
from engine.backend.server.figures import timings_of, usage_of
from engine.backend.server.refusals import RequestRefused
from engine.backend.server.streams import created, event, fingerprint
from engine.values.asked import Answered
from engine.values.growing_reply import Piece, ReplySoFar, TextPiece
from engine.values.replies import TokenLog


class CompletionForm:
    """Implements `server.streams.Form`."""

    def __init__(self, model: str, tells_usage: bool, with_logs: bool, echoes: Sequence[str]) -> None:
        self._about = {
            "id": f"cmpl-{secrets.token_hex(12)}",
            "object": "text_completion",
            "created": created(),
            "model": model,
            "system_fingerprint": fingerprint(),
        }
        self._tells_usage = tells_usage
        self._with_logs = with_logs
        self._echoes = echoes
        self._ended: list[Answered] = []
        self._num_told: dict[int, int] = {}  # characters of each reply whose probabilities were sent

    def begin(self, number: int, num_prompt_tokens: int) -> Sequence[bytes]:  # noqa: ARG002
        echo = self._echoes[number]
        return (self._chunk(number, echo, ()),) if echo else ()

    def add(self, number: int, pieces: Sequence[Piece]) -> Sequence[bytes]:
        text = "".join(each.text for each in pieces if isinstance(each, TextPiece))
        return (self._chunk(number, text, logs_in(pieces)),) if text else ()

    def finish(self, number: int, ended: Answered) -> Sequence[bytes]:
        self._ended.append(ended)
        reason = FINISH.get(ended.statistics.stop_reason, "stop")
        return (self._chunk(number, "", (), reason, {"timings": timings_of(ended)}),)

    def end(self) -> Sequence[bytes]:
        if not self._tells_usage:
            return (DONE,)
        return event({**self._about, "choices": [], "usage": usage_of(self._ended)}), DONE

    def fail(self, refusal: RequestRefused) -> Sequence[bytes]:
        return event(refusal.as_openai()), DONE

    def whole(self, replies: Sequence[tuple[ReplySoFar, Answered]]) -> dict[str, Any]:
        choices = []
        for number, (so_far, end) in enumerate(replies):
            logs = logs_in(so_far.since(0))
            choices.append(
                {
                    "index": number,
                    "text": self._echoes[number] + end.text,
                    "logprobs": self._logs(number, logs) if self._with_logs else None,
                    "finish_reason": FINISH.get(end.statistics.stop_reason, "stop"),
                }
            )
        ends = [end for _, end in replies]
        return {**self._about, "choices": choices, "usage": usage_of(ends), "timings": timings_of(ends[-1])}

    def _chunk(
        self,
        number: int,
        text: str,
        logs: Sequence[TokenLog],
        finish: str | None = None,
        more: dict[str, Any] | None = None,
    ) -> bytes:
        choice = {
            "index": number,
            "text": text,
            "logprobs": self._logs(number, logs) if self._with_logs and logs else None,
            "finish_reason": finish,
        }
        return event({**self._about, "choices": [choice], **(more or {})})

    def _logs(self, number: int, logs: Sequence[TokenLog]) -> dict[str, Any]:
        """Log probabilities in the older form, which has a list of each."""
        tokens = [each.piece.decode("utf-8", "replace") for each in logs]
        offsets, place = [], self._num_told.get(number, len(self._echoes[number]))
        for token in tokens:
            offsets.append(place)
            place += len(token)
        self._num_told[number] = place
        beside = [{piece.decode("utf-8", "replace"): log for piece, log in each.beside} for each in logs]
        return {
            "tokens": tokens,
            "token_logprobs": [each.log for each in logs],
            "top_logprobs": beside,
            "text_offset": offsets,
        }
