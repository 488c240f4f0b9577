"""`slipstream chat`: one prompt, answered in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Annotated, Literal

import typer

import engine
from app.commands.options import (
    AnyTargetOption,
    DrafterDeviceOption,
    DrafterOption,
    NoSpeculationOption,
    takes_sampling,
)
from app.commands.servers import agrees_at_terminal
from app.commands.terminal import INTERRUPTED, chosen_drafter, json_line, stopped_by_ctrl_c
from app.commands.tools import opened_desk
from engine.values.config import (
    AUTOMATIC,
    STARTER,
    EngineConfig,
    ReplySettings,
    SamplingSettings,
    SpeculationSettings,
    TargetSettings,
    data_dir,
)
from engine.values.conversations import ChatTurn, Role
from engine.values.growing_reply import PieceReader, ReplySoFar, TextPiece
from engine.values.replies import StopReason
from engine.values.tools import ToolResult

_Results = tuple[tuple[ToolResult, str], ...]
_Written = tuple[str, "engine.Reply", _Results | None]  # with the name of the target, and what tools answered
_GLANCE_S = 0.05  # between two looks for Ctrl+C
_CUT = {
    StopReason.LENGTH: "(The reply has reached its length; --max-tokens allows another one.)",
    StopReason.CONTEXT_FULL: "(The context is full; --context allows a bigger one.)",
}


@takes_sampling
def chat(
    prompt: Annotated[
        str | None, typer.Option("--prompt", "-p", help="What to say. Left out, or `-`: read from standard input.")
    ] = None,
    attach: Annotated[
        list[Path] | None, typer.Option(help="A file or picture to send with it; may be given several times.")
    ] = None,
    target: AnyTargetOption = STARTER,
    system: Annotated[str, typer.Option("--system", help="System prompt.")] = "",
    sampling: SamplingSettings = SamplingSettings(),  # noqa: B008
    max_tokens: Annotated[int, typer.Option(min=0, help="Length of the reply at most; 0 = no limit.")] = 1024,
    max_thought: Annotated[
        int | None, typer.Option(min=1, help="Tokens to think with at most; then the model is made to answer.")
    ] = None,
    think: Annotated[
        Literal["on", "off"] | None, typer.Option(help="Whether the model thinks first, if it can be chosen.")
    ] = None,
    stop: Annotated[
        list[str] | None, typer.Option(help="End the reply before this text; may be given several times.")
    ] = None,
    context_size: Annotated[int | None, typer.Option("--context", help="Tokens the model can see at once.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads to compute with.")] = None,
    gpu_layers: Annotated[int | None, typer.Option(help="Layers on the GPU, in a build that has one.")] = None,
    tools: Annotated[
        Path | None, typer.Option(help="A file of MCP servers, as other clients have it; their tools may be called.")
    ] = None,
    yes_to: Annotated[
        list[str] | None,
        typer.Option(help="Call this tool (NAME, or SERVER/NAME) without asking; may be given several times."),
    ] = None,
    yes_to_server: Annotated[
        bool, typer.Option("--yes-to-server", help="Send it to the server of the model without asking first.")
    ] = False,
    no_speculation: NoSpeculationOption = False,
    drafter: DrafterOption = AUTOMATIC,
    drafter_device: DrafterDeviceOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with the text, counts and times.")
    ] = False,
) -> None:
    """Answer one prompt in the terminal. Ctrl+C stops the reply.

    Example: slipstream chat --target starter --prompt "Write a haiku about the sea."
    """
    if prompt is None and sys.stdin.isatty():
        print("Write the prompt; Ctrl+D ends it.", file=sys.stderr)
    text = prompt if prompt is not None and prompt != "-" else sys.stdin.read()
    if not text.strip():
        raise typer.BadParameter("There is no prompt; say something with --prompt, or through standard input.")
    chosen = AUTOMATIC if no_speculation else chosen_drafter(drafter, data_dir())
    config = EngineConfig(data_dir(), SpeculationSettings(not no_speculation, chosen, drafter_device))
    target_settings = TargetSettings(context_size, threads, gpu_layers)
    reply_settings = ReplySettings(
        sampling, max_tokens or None, max_thought, tuple(stop or ()), think and think == "on"
    )
    told = [ChatTurn(Role.SYSTEM, system)] if system else []
    progress = _tell_waiting if as_json else _Terminal().show

    def agrees(sentence: str) -> bool:
        return yes_to_server or agrees_at_terminal(sentence)

    def write(stopped: engine.StopSignal) -> _Written:
        asked = engine.read_prompt(text, attach or (), stopped)
        with (
            opened_desk(tools, yes_to or (), stopped, tells=not as_json) as desk,
            engine.open_writer(config, target, target_settings, lambda _progress: None, stopped, agrees) as writer,
        ):
            if notice := engine.notice_of(writer):
                print(notice, file=sys.stderr)
            asking, calling = desk or (None, None)
            reply = engine.answer(writer, [*told, asked], reply_settings, stopped, progress, calling)
            return writer.target_name, reply, None if asking is None else tuple(asking.results)

    _show(*_stoppable(write), as_json)


def _tell_waiting(so_far: ReplySoFar) -> None:
    if so_far.waits_for:
        print(so_far.waits_for, file=sys.stderr)


class _Terminal:
    """Writes a reply to standard output as it grows, and its thoughts to a terminal on standard error."""

    def __init__(self) -> None:
        self._reader = PieceReader()

    def show(self, so_far: ReplySoFar) -> None:
        _tell_waiting(so_far)
        for piece in self._reader.new_in(so_far):
            if isinstance(piece, TextPiece):
                sys.stdout.write(piece.text)
                sys.stdout.flush()
            elif sys.stderr.isatty():
                sys.stderr.write(piece.text + ("\n\n" if piece.is_last else ""))
                sys.stderr.flush()


def _stoppable(write: Callable[[engine.StopSignal], _Written]) -> _Written:
    """Raises what `write` raises."""
    with stopped_by_ctrl_c() as stop:
        outcome: Future[_Written] = Future()

        def work() -> None:
            try:
                outcome.set_result(write(stop))
            except BaseException as error:
                outcome.set_exception(error)

        thread = engine.deep_thread(work, "slipstream-chat")
        while thread.is_alive():
            thread.join(_GLANCE_S)  # in pieces, so that Ctrl+C is seen at once
        return outcome.result()


def _show(name: str, reply: engine.Reply, results: _Results | None, as_json: bool) -> None:
    """Prints what is not shown yet. Raises what ended the reply."""
    if reply.failure is not None:
        raise reply.failure
    if as_json:
        calls = {} if results is None else {"calls": [_told(*each) for each in results]}
        print(json_line(_summary(name, reply) | calls))
    else:
        print("" if reply.text.endswith("\n") else "\n", end="", flush=True)
        note = _CUT.get(reply.statistics.stop_reason)
        if note:
            print(note, file=sys.stderr)
    if reply.statistics.stop_reason is StopReason.STOPPED:
        sys.exit(INTERRUPTED)


def _told(result: ToolResult, text: str) -> dict[str, object]:
    call = result.call
    told = {"server": call.server, "tool": call.tool, "arguments": call.arguments}
    return {**told, "outcome": result.outcome.value, "text": text, "seconds": round(result.seconds, 3)}


def _summary(name: str, reply: engine.Reply) -> dict[str, object]:
    figures = reply.statistics
    return {
        "text": reply.text,
        "thoughts": [each.text for each in reply.thoughts],
        "target": name,
        "prompt_tokens": figures.prompt_tokens,
        "reply_tokens": figures.reply_tokens,
        "prompt_s": round(figures.prompt_s, 4),
        "reply_s": round(figures.reply_s, 4),
        "tokens_per_s": round(figures.tokens_per_s, 2),
        "plain_tokens_per_s": figures.verdict.plain_tokens_per_s or None,
        "rounds": figures.num_rounds,
        "drafted_tokens": figures.num_drafted,
        "accepted_tokens": figures.num_accepted,
        "stop_reason": figures.stop_reason.value,
        "seed": figures.seed,
    }
