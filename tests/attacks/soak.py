"""Thousands of short replies with learning, and changes of target while replies are written: what is left over?"""

from __future__ import annotations

import gc
import queue
import random
import shutil
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median

import psutil

from engine import BUILT_IN, Engine, EngineConfig, ReplySettings, SamplingSettings, SpeculationSettings, TargetSettings
from engine.speculation.model.files.sources import starter_path
from engine.values.config import LearningSettings
from engine.values.events import (
    DrafterLearned,
    Event,
    OwnWorkFailed,
    ReplyFinished,
    SpeculationChanged,
    TargetRefused,
)
from engine.values.orders import Send
from engine.values.requests import Request
from engine.values.targets import LoadOrder
from tests.attacks.attack import Outcome, Plan
from tests.fakes.tiny_models import tiny_llama

_BLOCK = 100  # replies, of which the first half goes by in peace, so that something is learned, and in the other half
_REPLIES_PER_CHANGE = 5  # every so many the target is changed
_REST_S = 0.1  # between replies, at most, for the learner
_REPLIES_PER_LESSON = 500  # once in so many, somebody thinks for long enough that an adapter may be published
_LESSON_S = 30.0  # at most
_ALIKE = range(_BLOCK // 4, _BLOCK // 2)  # of a block: the drafter is there, and learns
_REPLIES_PER_CHAT = 7
_REPLIES_PER_LOOK = 10
_WARM_UP = 0.25  # of the replies
_FEWEST = 400  # by which growth can be judged
_MOST_GROWTH = 0.05
_PATIENCE_S = 120.0  # for one reply, or one change of target
_WORDS = ("red", "house", "river", "seven", "cloud", "paper", "green", "winter", "stone", "music", "bread", "quiet")


@dataclass(frozen=True, slots=True)
class Look:
    """What the process holds."""

    reply: int
    memory: int  # bytes
    threads: int
    files: int
    children: int
    is_alike: bool  # as others so marked: with the first target, its drafter, and nobody who asks for another

    @classmethod
    def now(cls, reply: int, is_alike: bool = False) -> Look:
        own = psutil.Process()
        return cls(reply, own.memory_info().rss, own.num_threads(), own.num_fds(), _num_children(own), is_alike)

    def __str__(self) -> str:
        return (
            f"{self.reply:>5} replies: {self.memory / 2**20:.0f} MB, {self.threads} threads, {self.files} open files, "
            f"{self.children} children"
        )


def _num_children(process: psutil.Process) -> int:
    """But for the one that Python keeps for all others."""
    return sum("resource_tracker" not in " ".join(child.cmdline()) for child in process.children())


class _Soak:
    """One engine, asked and given other targets again and again."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        copy = folder / "copy.gguf"
        shutil.copyfile(starter_path(), copy)
        self._targets = ["starter", str(copy), str(tiny_llama(folder / "tiny.gguf"))]
        self._dice = dice
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        learning = LearningSettings(share=1.0, on_battery=True)
        config = EngineConfig(folder / "store", SpeculationSettings(drafter=BUILT_IN), learning=learning)
        self._engine = Engine(config, self._events.put)
        self._chat: int | None = None
        self.num_changes = self.num_learned = self.num_drafting = 0
        self.failures: list[str] = []

    def ask(self, is_to_be_ended: bool = False) -> None:
        """`is_to_be_ended`: a change of target ends the reply."""
        words = " ".join(self._dice.choice(_WORDS) for _ in range(self._dice.randint(1, 6)))
        length = 400 if is_to_be_ended else self._dice.randint(2, 8)
        settings = ReplySettings(SamplingSettings(temperature=self._dice.choice((0, 0.8)), seed=1), max_tokens=length)
        order = Send(f"Repeat: {words}", self._chat, settings)
        reply = self._engine.ask(self._engine.chat.answer, order)
        if not is_to_be_ended:
            self._wait_for(reply)
            time.sleep(self._dice.uniform(0, _REST_S))
            return
        time.sleep(self._dice.uniform(0, 0.3))
        reply.stop()
        self._change()
        self._wait_for(reply)

    def load(self, target: str) -> None:
        order = LoadOrder(target, TargetSettings(context_size=512))
        self._engine.ask(self._engine.target.load, order).result()
        self.num_changes += 1

    def start_chat(self) -> None:
        self._chat = None

    def close(self) -> bool:
        deadline = time.monotonic() + 60
        is_over = self._engine.close()
        while not is_over and time.monotonic() < deadline:
            is_over = self._engine.close()
        return is_over

    def _change(self) -> None:
        """Now and then twice, or ended itself in the middle."""
        for _ in range(self._dice.choice((1, 1, 1, 2))):
            order = LoadOrder(self._dice.choice(self._targets), TargetSettings(context_size=512))
            request = self._engine.ask(self._engine.target.load, order)
            self.num_changes += 1
            if self._dice.random() < 0.1:
                time.sleep(self._dice.uniform(0, 0.1))
                request.stop()

    def rest(self, longest_s: float) -> None:
        """Until something was learned."""
        known, end = self.num_learned, time.monotonic() + longest_s
        while self.num_learned == known and time.monotonic() < end:
            with suppress(queue.Empty):
                self._note(self._events.get(timeout=1.0))

    def _wait_for(self, reply: Request[None]) -> None:
        reply.future.exception(_PATIENCE_S)
        while not self._events.empty():
            self._note(self._events.get())
        if (failure := reply.failure) is not None and not failure.is_stopped:
            self.failures.append(f"a reply: {failure.sentence}")

    def _note(self, event: Event) -> None:
        if isinstance(event, ReplyFinished):
            self._chat = event.message.conversation_id
        elif isinstance(event, DrafterLearned):
            self.num_learned += 1
        elif isinstance(event, SpeculationChanged):
            self.num_drafting += event.is_drafting
        elif isinstance(event, TargetRefused | OwnWorkFailed):
            self.failures.append(f"{type(event).__name__}: {event.sentence}")


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    before = Look.now(0)
    names_before = _thread_names()
    soak = _Soak(plan.folder, plan.dice(0))
    looks = []
    try:
        for number in range(plan.count):
            if number % _BLOCK == 0:  # the peaceful half is always one of the same target
                soak.load("starter")
            if number % _REPLIES_PER_CHAT == 0:
                soak.start_chat()
            is_peaceful = number % _BLOCK < _BLOCK // 2
            soak.ask(is_to_be_ended=not is_peaceful and number % _REPLIES_PER_CHANGE == 0)
            outcome.tried += 1
            if number % _REPLIES_PER_LESSON == _BLOCK + _BLOCK // 2 - 1:  # its drafter is there by then
                soak.rest(_LESSON_S)
            if outcome.tried % _REPLIES_PER_LOOK == 0:
                looks.append(Look.now(outcome.tried, is_alike=number % _BLOCK in _ALIKE))
                print(looks[-1], file=sys.stderr, flush=True)
    finally:
        outcome.check(soak.close(), "the engine does not end")
    gc.collect()
    after = Look.now(plan.count)
    outcome.failures += soak.failures
    _judge(outcome, looks)
    outcome.check(_thread_names() <= names_before, f"threads are left over: {_thread_names() - names_before}")
    outcome.check(after.files <= before.files + 8, f"{after.files - before.files} files stay open")
    outcome.check(after.children == 0, f"{after.children} processes are left over")
    outcome.figures |= {"changes": str(soak.num_changes), "adapters": str(soak.num_learned)}
    return outcome


def _judge(outcome: Outcome, looks: list[Look]) -> None:
    """Memory swings by a fifth with the target in use and with what is being loaded or learned. So only looks at the
    same phase count, of each block the lowest; through all that are warm goes a line, of Theil and Sen, which one block
    in four cannot bend. What it rises by from the first to the last of them is the growth."""
    warm = [look for look in looks if look.reply >= _WARM_UP * outcome.tried]
    if outcome.tried < _FEWEST:
        outcome.figures["at the end"] = str(looks[-1]) if looks else "too few to look"
        return
    lows: dict[int, int] = {}
    for look in warm:
        if look.is_alike:
            block = look.reply // _BLOCK
            lows[block] = min(lows.get(block, look.memory), look.memory)
    rise, begin = theil_sen(lows)
    growth = rise * (max(lows) - min(lows)) / begin
    outcome.check(growth < _MOST_GROWTH, f"memory grew by {growth:.1%}")
    quarter = len(warm) // 4
    for name, of in (("threads", lambda look: look.threads), ("open files", lambda look: look.files)):
        grown = median(map(of, warm[-quarter:])) - median(map(of, warm[:quarter]))
        outcome.check(grown < 2, f"{grown:.0f} more {name}")
    outcome.figures |= {"memory": f"{growth:+.1%}", "lows": " ".join(f"{low >> 20}" for low in lows.values())}
    outcome.figures["at the end"] = str(looks[-1])


def theil_sen(points: Mapping[int, float]) -> tuple[float, float]:
    """The median slope between any two points, and the height of the line at the first."""
    slope = median((high - low) / (later - first) for (first, low), (later, high) in combinations(points.items(), 2))
    return slope, median(height - slope * (place - min(points)) for place, height in points.items())


def _thread_names() -> set[str]:
    return {thread.name for thread in threading.enumerate()}
