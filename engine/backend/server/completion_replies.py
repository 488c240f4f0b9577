"""Replies in the form of OpenAI's completions, which continue a text."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from engine.backend.server.chat_replies import DONE, FINISH
from engine.backend.server.desk import Told
from engine.backend.server.figures import timings_of, usage_of
from engine.backend.server.refusals import RequestRefused
from engine.backend.server.streams import created, event, fingerprint
from engine.values.events import AnswerEnded, AnswerStarted, AnswerText
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
        self._ended: list[AnswerEnded] = []
        self._num_told: dict[int, int] = {}  # characters of each reply whose probabilities were told

    def begin(self) -> Sequence[bytes]:
        return ()

    def add(self, number: int, told: Sequence[Told]) -> Sequence[bytes]:
        text = "".join(each.text for each in told if isinstance(each, AnswerText))
        logs = [log for each in told if isinstance(each, AnswerText) for log in each.logs]
        if any(isinstance(each, AnswerStarted) for each in told):
            text = self._echoes[number] + text
        events = [self._chunk(number, text, logs)] if text else []
        if isinstance(end := told[-1], AnswerEnded):
            self._ended.append(end)
            finish = FINISH.get(end.statistics.stop_reason, "stop")
            events.append(self._chunk(number, "", (), finish, {"timings": timings_of(end)}))
        return events

    def end(self) -> Sequence[bytes]:
        if not self._tells_usage:
            return (DONE,)
        return event({**self._about, "choices": [], "usage": usage_of(self._ended)}), DONE

    def fail(self, refusal: RequestRefused) -> Sequence[bytes]:
        return event(refusal.as_openai()), DONE

    def whole(self, ended: Sequence[tuple[list[Told], AnswerEnded]]) -> dict[str, Any]:
        choices = []
        for number, (told, end) in enumerate(ended):
            logs = [log for each in told if isinstance(each, AnswerText) for log in each.logs]
            choices.append(
                {
                    "index": number,
                    "text": self._echoes[number] + end.text,
                    "logprobs": self._logs(number, logs) if self._with_logs else None,
                    "finish_reason": FINISH.get(end.statistics.stop_reason, "stop"),
                }
            )
        ends = [end for _, end in ended]
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
        """In the older form, which has a list of each."""
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
