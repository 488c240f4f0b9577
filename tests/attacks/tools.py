"""Calls of tools in a row, while their server is killed at random, hangs, floods, or is stopped: every chat goes on,
and nothing runs that was not asked for and allowed.

Each call carries a number. The server notes every number that it is given; the user allows some and refuses others.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import psutil

import engine.loading
import engine.opening
import tests.fakes.rogue_server
from engine import Engine, EngineConfig
from engine.backend.tools.host import ServerHost
from engine.backend.tools.left_behind import mark_of
from engine.values.config import LearningSettings, ReplySettings, SamplingSettings, SpeculationSettings
from engine.values.events import (
    Event,
    Listener,
    PromptStored,
    ReplyFinished,
    ToolAsked,
    ToolFinished,
)
from engine.values.orders import Send
from engine.values.requests import Failure
from engine.values.targets import LoadOrder
from engine.values.tools import Permission, ToolServer
from tests.attacks.attack import Memory, Plan
from tests.attacks.attack import Outcome as Verdict
from tests.fakes.caller import Caller
from tests.fakes.rogue_server import LEFT_BEHIND

_SCRIPT = str(Path(tests.fakes.rogue_server.__file__))
_CALLS_PER_CHAT = 10
_CALL_S = 3.0  # before one that hangs is given up
_PATIENCE_S = 60.0
_was_killed_between = False
_LEAVE_S = 10.0  # of the process that speaks with servers, after the app
_KINDS = (
    ("echo",) * 12
    + ("slow",) * 6
    + ("leave", "leave_bare", "die", "hang", "flood", "flood_line", "deep", "garbage", "sample", "elicit", "large")
)
_SETTINGS = ReplySettings(SamplingSettings(temperature=0), max_tokens=600, tools=("rogue",))


@dataclass
class _User:
    """Allows or refuses by the dice, and notes what was said to which number."""

    dice: random.Random
    said: dict[str, list[Permission]] = field(default_factory=dict)

    def answer(self, asked: ToolAsked) -> Permission:
        permission = Permission.REFUSED if self.dice.random() < 0.25 else Permission.ONCE
        self.said.setdefault(json.loads(asked.call.arguments)["text"], []).append(permission)
        return permission


@dataclass(frozen=True, slots=True)
class _Answered:
    events: list[Event]  # until it was over
    failure: Failure | None


class _Desk:
    """An engine whose target calls what it is told to call."""

    def __init__(self, folder: Path, user: _User) -> None:
        self.target = Caller(context_size=60_000)
        self.log = folder / "calls.log"
        self._user = user
        self._events: list[Event] = []
        self.engine = Engine(
            EngineConfig(folder / "store", SpeculationSettings(enabled=False), LearningSettings(enabled=False)),
            self._hear,
        )
        server = ToolServer("rogue", sys.executable, ("-I", _SCRIPT, "--log", str(self.log)))
        self.engine.ask(self.engine.tools.use, (server,)).result()

    def _hear(self, event: Event) -> None:
        if isinstance(event, ToolAsked):
            self.engine.ask(self.engine.asking.answer, event.call.id, self._user.answer(event))
        self._events.append(event)

    def load(self, path: Path) -> bool:
        return self.engine.ask(self.engine.target.load, LoadOrder(str(path))).failure is None

    def ask(self, call: str, conversation_id: int | None, stop_after_s: float | None) -> _Answered | None:
        """None if it came to no end."""
        self.target.script([call, "Done."])
        self._events.clear()
        request = self.engine.ask(self.engine.chat.answer, Send("Go on.", conversation_id, _SETTINGS))
        timer = threading.Timer(stop_after_s or 0.0, request.stop)
        if stop_after_s is not None:
            timer.start()
        try:
            request.future.exception(_PATIENCE_S)
        except TimeoutError:
            return None
        finally:
            timer.cancel()
        return _Answered([*self._events], request.failure)


def run(plan: Plan) -> Verdict:
    verdict, memory = Verdict(), Memory()
    dice = plan.dice(0)
    user = _User(plan.dice(1))
    model = plan.folder / "caller.gguf"
    model.write_bytes(b"GGUF")

    def host(_config: EngineConfig, emit: Listener, _keys: object) -> ServerHost:
        return ServerHost(emit, start_s=30.0, call_s=_CALL_S, grace_s=10.0)

    desks: list[_Desk] = []
    with (
        patch.object(engine.loading, "load_target", lambda *_arguments: desks[0].target),
        patch.object(engine.opening, "make_tool_host", host),
        memory.watched(),
    ):
        desks.append(_Desk(plan.folder, user))
        verdict.check(desks[0].load(model), "the target was not loaded")
        outcomes = _calls(plan, dice, desks[0], verdict)
        start = time.monotonic()
        desks[0].engine.close()
        verdict.figures["closing"] = f"{time.monotonic() - start:.1f} s"
        left = _left_behind()
        told = [f"{each.cmdline()[-1][:40]} of {each.ppid()}, mark {mark_of(each)!r}" for each in left]
        verdict.check(not left, f"processes of servers are left when the app has ended: {told}")
        for each in psutil.process_iter():
            with suppress(psutil.Error):
                if LEFT_BEHIND in each.cmdline():
                    each.kill()
    _count(desks[0], user, verdict)
    verdict.figures["outcomes"] = ", ".join(f"{kind} {outcomes.count(kind)}" for kind in sorted({*outcomes}))
    verdict.figures["memory"] = str(memory)
    return verdict


def _calls(plan: Plan, dice: random.Random, desk: _Desk, verdict: Verdict) -> list[str]:
    outcomes: list[str] = []
    chat: int | None = None
    num_killed = 0
    for number in range(plan.count):
        verdict.tried += 1
        kind = dice.choice(_KINDS)
        arguments = json.dumps({"text": f"n{number}"})
        call = f'<tool_call>\n{{"name": "{kind}", "arguments": {arguments}}}\n</tool_call>'
        killer = threading.Timer(dice.uniform(0.0, 0.6), _kill, (dice.random() < 0.2,)) if dice.random() < 0.4 else None
        if killer is not None:
            killer.start()
            num_killed += 1
        stop_after_s = dice.uniform(0.0, 1.0) if dice.random() < 0.1 else None
        chat = None if number % _CALLS_PER_CHAT == 0 else chat
        answered = desk.ask(call, chat, stop_after_s)
        if killer is not None:
            killer.join()
        about = f"call {number} ({kind})"
        if answered is None:
            verdict.check(False, f"{about}: it came to no end")
            break
        events, failure = answered.events, answered.failure
        verdict.check(failure is None or failure.is_stopped, f"{about}: {failure}")
        stored = [each.message for each in events if isinstance(each, PromptStored)]
        chat = stored[0].conversation_id if stored else chat
        outcomes += [
            each.message.result.outcome.value
            for each in events
            if isinstance(each, ToolFinished) and each.message.result
        ]
        replies = [each.message for each in events if isinstance(each, ReplyFinished)]
        # Where the server was killed as it started, the reply is written without its tools.
        goes_on = bool(replies) and bool(replies[-1].text) and not replies[-1].calls
        verdict.check(goes_on or stop_after_s is not None, f"{about}: {replies}")
    verdict.figures["kills"] = str(num_killed)
    return outcomes


def _kill(the_process_between: bool) -> None:
    """A server, or the process that speaks with servers. Nobody knows then of what has neither parent nor mark."""
    global _was_killed_between  # noqa: PLW0603
    _was_killed_between |= the_process_between
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            is_server = _SCRIPT in each.cmdline()
            is_between = "spawn_main" in " ".join(each.cmdline())
            if is_between if the_process_between else is_server:
                each.kill()


def _left_behind() -> list[psutil.Process]:
    """What is still there a while after the end."""
    end = time.monotonic() + _LEAVE_S
    while (found := [each for each in psutil.process_iter() if _is_of_server(each)]) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def _is_of_server(process: psutil.Process) -> bool:
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    return {"-I", _SCRIPT} <= {*words} or (LEFT_BEHIND in words and bool(mark_of(process) or not _was_killed_between))


def _count(desk: _Desk, user: _User, verdict: Verdict) -> None:
    """Nothing ran unasked: each number that the server was given was allowed as often as it was given."""
    ran: list[str] = [json.loads(line)[2] for line in desk.log.read_text().splitlines()] if desk.log.exists() else []
    for text in sorted({*ran}):
        allowed = user.said.get(text, []).count(Permission.ONCE)
        verdict.check(
            ran.count(text) <= allowed, f"{text} ran {ran.count(text)} times, and was allowed {allowed} times"
        )
    num_asked = sum(map(len, user.said.values()))
    verdict.figures |= {"asked": str(num_asked), "ran": str(len(ran)), "unasked": str(len({*ran} - {*user.said}))}
    verdict.check(num_asked > 0 and len(ran) > 0, "nothing was asked, or nothing ran")
