"""Model files that nobody should have written: through the reader of headers, the real loading up to a first reply, and
the open window. Each must end in a reply or in a sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from engine.loading import load_target
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.files.sources import file_source
from engine.speculation.replies.reply import ReplyWriter
from engine.values.config import STARTER, ReplySettings, SamplingSettings, TargetSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import MendableError
from engine.values.events import TargetReady, TargetRefused
from engine.values.stop_signal import StopSignal
from tests.attacks.attack import Memory, Outcome, Plan
from tests.attacks.desk import Desk, Held
from tests.attacks.gguf_made import made

_LOADED = 5  # one in so many goes through the real loading
_IN_WINDOW = 6
_BAR_S = 10.0  # of the processor, as others may use it, too
_HUNG_S = 300.0  # by the clock
_PROMPT = "Hi 😀\n" + "é" * 20 + " " * 20 + "中文 1234567890 <0x0A> <|im_end|> \u202e ก็"
_LONG = ("a" * 9000 + " ") * 20


def load_and_talk(path: Path) -> str:
    """What the app does with a file that it does not know: a sentence, or what was written."""
    try:
        target = load_target(file_source(path), TargetSettings(), lambda _progress: None, StopSignal())
    except MendableError as error:
        return str(error)
    with closing(target):
        target.tokenize(_LONG)
        settings = ReplySettings(sampling=SamplingSettings(temperature=0.8, seed=1), max_tokens=12)
        try:
            writer = ReplyWriter(target)
            prepared = writer.prepare([ChatTurn(Role.USER, _PROMPT)])
            reply = writer.write(prepared, settings, StopSignal())
        except MendableError as error:
            return str(error)
    if reply.failure is not None and not isinstance(reply.failure, MendableError):
        raise reply.failure
    return f"replied: {reply.failure or reply.text}"


def answer() -> None:
    """Runs in a process of its own, as the app would: a path a line in, an answer a line out."""
    for line in sys.stdin:
        before = _processor_s()
        try:
            said = load_and_talk(Path(line.strip()))
        except Exception as error:  # a crash report, where a sentence should be
            said = f"!{type(error).__name__}: {error}"
        print(json.dumps((said, _processor_s() - before)), flush=True)


def _processor_s() -> float:
    """With that of children that have ended."""
    return sum(os.times()[:4])


class _Stand:
    """A process in the app's place; another one takes over where it dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, path: Path) -> tuple[str, float] | None:
        """What it says, and the seconds that it computed. None: it did not survive it, or hung."""
        if self._process is None:
            command = [sys.executable, "-c", "from tests.attacks.models import answer; answer()"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{path}\n")
        process.stdin.flush()
        hung = threading.Timer(_HUNG_S, process.kill)
        hung.start()
        line = process.stdout.readline()
        hung.cancel()
        if not line:
            self.close()
            return None
        said, seconds = json.loads(line)
        return str(said), float(seconds)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _files(plan: Plan, numbers: range) -> Iterator[tuple[int, Path, str]]:
    for number in numbers:
        data, done = made(plan.dice(number))
        path = plan.folder / f"{number}.gguf"
        path.write_bytes(data)
        yield number, path, done
        path.unlink()


def run(plan: Plan) -> Outcome:
    outcome, memory = Outcome(), Memory()
    slowest = 0.0
    with memory.watched():
        for number, path, done in _files(plan, range(plan.count)):
            start = time.monotonic()
            try:
                facts_of(path)
            except Exception as error:
                outcome.check(False, f"reader {number} ({done}): {type(error).__name__}: {error}")
            slowest = max(slowest, time.monotonic() - start)
            outcome.tried += 1
    outcome.check(slowest < _BAR_S, f"the reader took {slowest:.1f} s")
    outcome.check(memory.is_within_bar, f"the reader took {memory}")
    outcome.figures = {"reader": f"{slowest:.1f} s at most, {memory}"}
    _load(plan, outcome)
    _in_window(plan, outcome)
    return outcome


def _load(plan: Plan, outcome: Outcome) -> None:
    slowest, num_replies, stand = 0.0, 0, _Stand()
    with closing(stand):
        for number, path, done in _files(plan, range(plan.count, plan.count + max(1, plan.count // _LOADED))):
            outcome.tried += 1
            answered = stand.ask(path)
            if answered is None:
                outcome.check(False, f"loading {number} ({done}): the process did not survive it")
                continue
            said, seconds = answered
            outcome.check(not said.startswith("!"), f"loading {number} ({done}): {said}")
            outcome.check(seconds < _BAR_S, f"loading {number} ({done}): took {seconds:.1f} s")
            slowest = max(slowest, seconds)
            num_replies += said.startswith("replied")
    outcome.figures["loading"] = f"{slowest:.1f} s at most, {num_replies} replied"


def _in_window(plan: Plan, outcome: Outcome) -> None:
    """A chat with the starter goes on, whatever is chosen in between."""
    held = Held()
    first = 2 * plan.count
    with Desk(plan.folder) as desk:
        for number, path, done in _files(plan, range(first, first + min(_IN_WINDOW, plan.count))):
            desk.events.clear()
            with desk.watching() as now:
                desk.studio.app.target.choose(str(path))
                desk.until(lambda: any(isinstance(event, TargetReady | TargetRefused) for event in desk.events))
            held = held.worst(now)
            desk.events.clear()
            desk.studio.app.target.choose(STARTER)
            desk.until(lambda: any(isinstance(event, TargetReady) for event in desk.events))
            outcome.tried += 1
            outcome.check(bool(desk.ask("Hi.")), f"window {number} ({done}): the chat does not go on")
    outcome.check(held.is_within_bar, f"the interface thread was {held}")
    outcome.figures["interface"] = str(held)
