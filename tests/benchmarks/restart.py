"""The first reply after a second start, beside the same reply of an engine that has been writing for a while.

    python -m tests.benchmarks.restart [--replies 6] [--max-tokens 128] [--prompts F.jsonl]

A first start of the engine answers some prompts, so that costs and chances are known. On its folder another one, the
warm engine, answers them again and stays. Each further prompt is the first one of a second start on a copy of that
folder, of a start on an empty one (a cold start), and is answered by the warm engine, too; each then writes the same
reply plainly. All chats but those of the first start are incognito: nobody recalls them. Prints speeds over each
start's own plain one, as measured and by counts of passes, medians over the prompts, and how far the second start is
from the warm one by counts; 2 % is the bar.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Protocol

import pytest

from engine import (
    STARTER,
    Engine,
    EngineConfig,
    LearningSettings,
    Reply,
    ReplySettings,
    SamplingSettings,
    SpeculationSettings,
    StopSignal,
    TargetSettings,
)
from engine.lab.measuring.prompts import read_prompts
from engine.lab.measuring.report import PassMeans, pass_means, ratio_by_counts
from engine.speculation.decoding.figures import DecodingFigures
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.run import PreparedReply
from engine.values.events import ReplyFinished, TargetReady
from engine.values.growing_reply import GrowingReply
from engine.values.orders import Send
from engine.values.targets import LoadOrder
from tests.fakes.listener import EventQueue

BAR = 0.02
COLD, SECOND, WARM = "cold", "second start", "warm"
_TEACHING = (
    "Write a Python function that sorts a list of names, and explain it.",
    "List ten fruits, each with its colour.",
    "Explain how a bicycle stays upright.",
    "Repeat the following sentence five times: The quick brown fox jumps over the lazy dog.",
    "Translate to French: Good morning, how are you today?",
    "What is 17 times 23? Show every step.",
)
_ASKED = (
    "Write a Python function that counts the words of a text.",
    "List ten animals, each with what it eats.",
    "Explain why the sky is blue.",
    "Repeat the following sentence five times: All that glitters is not gold.",
    "Translate to German: Where is the next train station, please?",
    "A shop sells 12 apples for 3 dollars. What do 20 apples cost? Show every step.",
)


@dataclass(frozen=True, slots=True)
class Written:
    """A reply."""

    tokens_per_s: float
    figures: DecodingFigures


class Start(Protocol):
    """A start of the engine, with the target loaded."""

    def ask(self, prompt: str, speculate: bool = True, incognito: bool = True) -> Written: ...


OpenStart = Callable[[Path], AbstractContextManager[Start]]


class EngineStart:
    """Implements `Start`."""

    def __init__(self, engine: Engine, events: EventQueue, max_tokens: int, figures: Sequence[DecodingFigures]) -> None:
        """`figures`: of all replies so far."""
        self._engine = engine
        self._events = events
        self._settings = ReplySettings(SamplingSettings(temperature=0), max_tokens)
        self._figures = figures

    def ask(self, prompt: str, speculate: bool = True, incognito: bool = True) -> Written:
        settings = replace(self._settings, speculate=speculate)
        self._engine.ask(self._engine.chat.answer, Send(prompt, None, settings, incognito=incognito)).result()
        statistics = self._events.wait_for(ReplyFinished).message.statistics
        assert statistics is not None
        return Written(statistics.tokens_per_s, self._figures[-1])


@contextmanager
def kept_figures() -> Iterator[list[DecodingFigures]]:
    """Those of every reply that is written meanwhile, which events do not tell."""
    kept: list[DecodingFigures] = []
    write_one = ReplyWriter.write

    def write(
        writer: ReplyWriter, prepared: PreparedReply, settings: ReplySettings, stop: StopSignal, growing: GrowingReply
    ) -> Reply:
        reply = write_one(writer, prepared, settings, stop, growing)
        kept.append(reply.figures)
        return reply

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReplyWriter, "write", write)
        yield kept


def engine_starts(target: str, max_tokens: int) -> OpenStart:
    @contextmanager
    def start(folder: Path) -> Iterator[Start]:
        events = EventQueue()
        with kept_figures() as figures:
            engine = Engine(EngineConfig(folder, SpeculationSettings(), LearningSettings(enabled=False)), events)
            try:
                engine.ask(engine.target.load, LoadOrder(target, TargetSettings()))
                events.wait_for(TargetReady)
                yield EngineStart(engine, events, max_tokens, figures)
            finally:
                engine.close()

    return start


@dataclass(frozen=True, slots=True)
class First:
    """A reply, beside the same one without drafts."""

    drafted: Written
    plain: Written

    @classmethod
    def of(cls, start: Start, prompt: str) -> First:
        return cls(start.ask(prompt), start.ask(prompt, speculate=False))

    @property
    def measured(self) -> float:
        return self.drafted.tokens_per_s / self.plain.tokens_per_s

    def counted(self, means: PassMeans) -> float:
        return ratio_by_counts(self.plain.figures, self.drafted.figures, means) or 0.0


def compare(
    open_start: OpenStart, folder: Path, teaching: Sequence[str], asked: Sequence[str]
) -> dict[str, list[First]]:
    """By kind of start, a reply to each prompt."""
    found: dict[str, list[First]] = {COLD: [], SECOND: [], WARM: []}
    with open_start(folder / "first") as first:
        for prompt in teaching:
            first.ask(prompt, incognito=False)
    shutil.copytree(folder / "first", folder / "left")
    with open_start(folder / "first") as warm:
        for prompt in teaching:
            warm.ask(prompt)
        for place, prompt in enumerate(asked):
            second = folder / f"second-{place}"
            shutil.copytree(folder / "left", second)
            for kind, where in ((SECOND, second), (COLD, folder / f"cold-{place}")):
                with open_start(where) as start:
                    found[kind].append(First.of(start, prompt))
                shutil.rmtree(where, ignore_errors=True)
            found[WARM].append(First.of(warm, prompt))
    return found


def means_of(found: Mapping[str, Sequence[First]]) -> PassMeans:
    replies = [reply for each in found.values() for reply in each]
    return pass_means(figures for reply in replies for figures in (reply.drafted.figures, reply.plain.figures))


def distance(found: Mapping[str, Sequence[First]]) -> float:
    """Of the second start from the warm one, by counts: the median over the prompts, as a share."""
    means = means_of(found)
    pairs = zip(found[SECOND], found[WARM], strict=True)
    return median(second.counted(means) / warm.counted(means) for second, warm in pairs) - 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=len(_ASKED))
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--prompts", type=Path, help="others than the built-in ones; the first six are to learn from")
    parser.add_argument("--target", default=STARTER)
    arguments = parser.parse_args()
    teaching: Sequence[str] = _TEACHING
    asked: Sequence[str] = _ASKED
    if arguments.prompts is not None:
        prompts = tuple(chat.prompts[0] for chat in read_prompts(arguments.prompts))
        teaching, asked = prompts[: len(_TEACHING)], prompts[len(_TEACHING) :]
    with tempfile.TemporaryDirectory() as folder:
        starts = engine_starts(arguments.target, arguments.max_tokens)
        found = compare(starts, Path(folder), teaching, asked[: arguments.replies])
    means = means_of(found)
    for kind, replies in found.items():
        counted = [reply.counted(means) for reply in replies]
        print(
            f"{kind:13} {median(counted):.3f} times plain by counts (worst {min(counted):.3f}), "
            f"{median(reply.measured for reply in replies):.3f} measured"
        )
    away = distance(found)
    print(f"second start over warm: {away:+.1%} (at most {BAR:.0%} apart)")
    return 0 if abs(away) <= BAR else 1


if __name__ == "__main__":
    raise SystemExit(main())
