"""A long chat goes on after a restart, with and without what was kept of it.

    python -m tests.benchmarks.reopened [--tokens 6000] [--replies 3] [--target starter]

A first start of the engine reads a long prompt and answers it. Each further start, on a copy of that folder, sends the
next message: with what was kept, and with nothing kept. Prints how long after the reply all was written and how long
the target's thread was held for it, and of each kind of start how long its reply took to begin, how many tokens were
evaluated for it, and how fast it then was. Exits with 1 unless it begins at least ten times sooner.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

from engine import (
    STARTER,
    Engine,
    EngineConfig,
    LearningSettings,
    PromptCacheSettings,
    ReplySettings,
    SamplingSettings,
    SpeculationSettings,
    TargetSettings,
)
from engine.speculation.replies.reopening import Reopening, UnkeptPart
from engine.values.events import ReplyFinished, TargetReady
from engine.values.growing_reply import ReplySoFar
from engine.values.orders import Send
from engine.values.replies import ReplyStatistics
from engine.values.targets import LoadOrder
from tests.fakes.listener import EventQueue

BAR = 10.0
_GIGABYTES = 20.0
_CHAPTER = "Chapter {number} tells of {number} ships that sailed from the harbour to the island and came back late. "
_CHAPTER_TOKENS = 22  # of the starter, about
_REPLY_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Asked:
    conversation: int
    begun_s: float  # from the message to the first words of the reply
    statistics: ReplyStatistics


class Start:
    """A start of the engine, with the target loaded."""

    def __init__(self, folder: Path, target: str, gigabytes: float) -> None:
        self.events = EventQueue()
        learning, cache = LearningSettings(enabled=False), PromptCacheSettings(gigabytes)
        self.engine = Engine(EngineConfig(folder, SpeculationSettings(False), learning, cache), self.events)
        self.engine.ask(self.engine.target.load, LoadOrder(target, TargetSettings()))
        self.context_size = self.events.wait_for(TargetReady, timeout_s=600).target.context_size

    def ask(self, prompt: str, conversation: int | None = None) -> Asked:
        began = time.perf_counter()
        settings = ReplySettings(SamplingSettings(temperature=0), _REPLY_TOKENS)
        self.events.ask(self.engine, self.engine.chat.answer, Send(prompt, conversation, settings))
        while not self.events.wait_for(ReplySoFar, timeout_s=3600).num_pieces:
            pass
        begun_s = time.perf_counter() - began
        message = self.events.wait_for(ReplyFinished, timeout_s=3600).message
        assert message.statistics is not None
        return Asked(message.conversation_id, begun_s, message.statistics)

    def wait_until_kept(self) -> float:
        """How long after the reply that was."""
        began = time.perf_counter()
        while (
            writing := self.engine.ask(self.engine.prompt_cache_keeper.write_all)
        ).failure or writing.signal.is_set():
            pass
        return time.perf_counter() - began


@contextmanager
def started(folder: Path, target: str, gigabytes: float) -> Iterator[Start]:
    start = Start(folder, target, gigabytes)
    try:
        yield start
    finally:
        start.engine.close()


@contextmanager
def timed_copies() -> Iterator[list[float]]:
    """Seconds that the target's thread was held for each part."""
    taken: list[float] = []
    copy = Reopening.copy

    def timed(*arguments: object) -> UnkeptPart | None:
        began = time.perf_counter()
        part = copy(*arguments)  # type: ignore[arg-type]
        taken.append(time.perf_counter() - began)
        return part

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reopening, "copy", timed)
        yield taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=6000)
    parser.add_argument("--replies", type=int, default=3)
    parser.add_argument("--target", default=STARTER)
    arguments = parser.parse_args()
    chapters = (_CHAPTER.format(number=number) for number in range(1, arguments.tokens // _CHAPTER_TOKENS + 1))
    book = "".join(chapters)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with timed_copies() as copies, started(folder / "first", arguments.target, _GIGABYTES) as start:
            first = start.ask(f"{book}Which chapter is the last one?")
            written_s = start.wait_until_kept()
            context_size = start.context_size
        sizes = [path.stat().st_size for path in (folder / "first" / "readings").rglob("*.read")]
        print(
            f"{first.statistics.prompt_tokens:,} tokens in a context of {context_size:,}: read in "
            f"{first.statistics.prompt_s:.2f} s; {sum(sizes) / 1e6:,.0f} MB in {len(sizes)} parts, all written "
            f"{written_s:.2f} s after the reply; the target's thread was held for {max(copies) * 1000:.0f} ms at most, "
            f"{sum(copies) * 1000:.0f} ms in all"
        )
        asked: dict[bool, list[Asked]] = {True: [], False: []}
        for number in range(arguments.replies):
            for is_kept in (True, False):
                again = folder / f"again-{number}-{is_kept}"
                left_out = () if is_kept else ("readings",)
                shutil.copytree(folder / "first", again, ignore=shutil.ignore_patterns(*left_out))
                with started(again, arguments.target, _GIGABYTES if is_kept else 0.0) as start:
                    asked[is_kept].append(start.ask("And which one is the first?", first.conversation))
                shutil.rmtree(again, ignore_errors=True)
    begun = {is_kept: median(each.begun_s for each in replies) for is_kept, replies in asked.items()}
    for is_kept, replies in asked.items():
        speed = median(each.statistics.tokens_per_s for each in replies)
        print(
            f"{'kept' if is_kept else 'nothing kept':12} begins after {begun[is_kept]:.3f} s, "
            f"{replies[0].statistics.evaluated_tokens:,} tokens evaluated; then {speed:.1f} tokens/s"
        )
    print(f"{begun[False] / begun[True]:.1f} times sooner (at least {BAR:.0f})")
    return 0 if begun[False] >= BAR * begun[True] else 1


if __name__ == "__main__":
    raise SystemExit(main())
