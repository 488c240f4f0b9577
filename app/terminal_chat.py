"""One prompt, answered in the terminal."""

from __future__ import annotations

import json
import signal
import sys
from types import FrameType

from engine import EngineConfig, ReplySettings, StopSignal, TargetSettings, open_writer
from engine.records import ChatTurn, Role


class _Terminal:
    """Shows a reply as it is written, and a note on what cannot be seen in it."""

    def __init__(self, streaming: bool) -> None:
        self._streaming = streaming

    def on_prompt(self, num_tokens: int, num_left_out: int) -> None: ...

    def on_prompt_progress(self, num_evaluated: int, num_total: int) -> None: ...

    def on_text(self, text: str, num_tokens: int, tokens_per_s: float, context_used: int) -> None:  # noqa: ARG002
        if self._streaming:
            sys.stdout.write(text)
            sys.stdout.flush()

    def on_trimmed(self, num_left_out: int) -> None: ...


def answer(
    config: EngineConfig,
    target: str,
    target_settings: TargetSettings,
    reply_settings: ReplySettings,
    system: str,
    prompt: str,
    as_json: bool,
) -> None:
    """Streams the reply to standard output; with `as_json` prints one object on one line instead.

    Raises what loading and answering raise.
    """
    stop = _stop_on_interrupt()
    writer = open_writer(config, target, target_settings, lambda _progress: None, stop)
    turns = ([ChatTurn(Role.SYSTEM, system)] if system else []) + [ChatTurn(Role.USER, prompt)]
    reply = writer.write(turns, reply_settings, stop, _Terminal(streaming=not as_json))
    if reply.failure is not None:
        raise reply.failure
    figures = reply.statistics
    if as_json:
        summary = {
            "text": reply.text,
            "target": writer.target_name,
            "prompt_tokens": figures.prompt_tokens,
            "reply_tokens": figures.reply_tokens,
            "prompt_s": round(figures.prompt_s, 4),
            "reply_s": round(figures.reply_s, 4),
            "tokens_per_s": round(figures.tokens_per_s, 2),
            "stop_reason": figures.stop_reason.value,
        }
        print(json.dumps(summary, ensure_ascii=False))
    elif not reply.text.endswith("\n"):
        print()


def _stop_on_interrupt() -> StopSignal:
    """Ctrl+C ends the reply in good order; a second one ends the program."""
    stop = StopSignal()

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, interrupt)
    return stop
