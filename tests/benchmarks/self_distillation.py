"""What self-distillation brings and costs: replies that the target writes to earlier prompts again while no one waits.

    python -m tests.benchmarks.self_distillation [--minutes 3] [--interrupts 40] [--seed 1]

In a temporary folder, on the starter, with the built-in drafter in torch as the one that learns. Prints: tokens per
second side by side and one after the other; lessons and tokens per minute of it, and so what an hour with the
usual budget brings; the memory that it takes; and how long it takes, after somebody begins to wait, until the pass that
was under way has ended (on a busy machine the time of the processors says more), and until the memory is free again.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

from engine import EngineConfig, SamplingSettings, TargetSettings
from engine.backend.storage import Repository
from engine.backend.teaching import self_distillation
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.self_distillation import CONTEXT_SIZE, TargetAtHand, num_slots
from engine.loading import load_target, open_beside
from engine.speculation.drafter.choice import built_in_source
from engine.speculation.model.interface import ParallelTarget, Target
from engine.speculation.proposers.costs import measure_passes
from engine.speculation.proposers.supply import open_drafting
from engine.speculation.replies.prompt import PromptBuilder
from engine.speculation.replies.side_by_side import Task, write_side_by_side
from engine.use_cases.chat import resolve
from engine.values.config import LearningSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.events import Event
from engine.values.stop_signal import StopSignal
from tests.benchmarks.learning import SUBJECTS, memory_mb

WAY_BAR_MS = 25.0
KINDS = ("Write about {}.", "Why do people like {}?", "List five facts about {}.", "Tell a short story with {} in it.")
_PATIENCE_S = 120.0


class Desk:
    """A target at rest, a drafter that learns, and chats to answer again."""

    def __init__(self, folder: Path) -> None:
        config = EngineConfig(folder)
        self.target: Target = load_target(
            resolve(config, "starter"), TargetSettings(context_size=1024), lambda _progress: None, StopSignal()
        )
        self.passes = measure_passes(self.target, StopSignal())
        self.drafting = open_drafting(config, built_in_source(), self.target.vocabulary)
        self.repository = Repository.open(folder)
        self.opened_mb: list[float] = []
        for kind in KINDS:
            for subject in SUBJECTS:
                chat = self.repository.create_conversation(subject, "")
                self.repository.add_message(chat.id, None, Role.USER, kind.format(subject))
        self.service = LearningService(
            lambda: self.repository,
            LearningSettings(self_distillation_minutes=30),
            self._hear,
            lambda: False,
            open_beside=self._open_beside,
        )
        self.service.open(self.drafting)

    def _hear(self, event: Event) -> None: ...

    def _open_beside(self, target: Target, num_slots: int, context_size: int) -> ParallelTarget:
        before = memory_mb()
        opened = open_beside(target, num_slots, context_size)
        self.opened_mb.append(memory_mb() - before)
        return opened

    @property
    def num_kept(self) -> int:
        return len(self.repository.load_self_distilled(self.target.vocabulary.fingerprint, 1000))

    @property
    def num_tokens(self) -> int:
        kept = self.repository.load_self_distilled(self.target.vocabulary.fingerprint, 1000)
        return sum(len(lesson.reply.tokens) for lesson in kept)

    def begin(self) -> None:
        self.service.self_distil_with(TargetAtHand(self.target, SamplingSettings, lambda: self.passes))

    def wait_until(self, is_under_way: bool) -> None:
        end = time.monotonic() + _PATIENCE_S
        while self.service._self_distillation.is_under_way is not is_under_way:
            assert time.monotonic() < end
            time.sleep(0.0005)


def measure_speed(desk: Desk, num_sequences: int, times: int) -> float:
    """Tokens per second of so many sequences."""
    with closing(open_beside(desk.target, max(2, num_sequences), CONTEXT_SIZE)) as target:
        prompts = PromptBuilder(target)
        tasks = [
            Task(subject, prompts.build([ChatTurn(Role.USER, KINDS[0].format(subject))], ()).tokens, SAMPLING, 96)
            for subject in SUBJECTS[: max(1, 8 // max(times, 1))]
        ]
        began, num_tokens = time.perf_counter(), 0
        groups = [[task] for task in tasks] if num_sequences == 1 else [tasks]
        for group in groups:
            num_tokens += sum(len(reply.tokens) for _, reply in write_side_by_side(target, group, times, StopSignal()))
        return num_tokens / (time.perf_counter() - began)


SAMPLING = SamplingSettings(temperature=0.8)


def measure_giving_way(desk: Desk, num_interrupts: int, random_: random.Random) -> None:
    """How long the pass and the memory take to go. Self-distillation begins again each time."""
    raised: list[tuple[float, float]] = []

    def watch(target: ParallelTarget) -> ParallelTarget:
        evaluate = target.evaluate

        def watched(*arguments: object) -> object:
            try:
                return evaluate(*arguments)  # type: ignore[arg-type]
            except BaseException:
                raised.append((time.perf_counter(), time.process_time()))
                raise

        target.evaluate = watched  # type: ignore[assignment, method-assign]
        return target

    original = desk.service._self_distillation._open_beside
    assert original is not None
    desk.service._self_distillation._open_beside = lambda *arguments: watch(original(*arguments))
    of_pass, of_memory, computed = [], [], []
    for _ in range(num_interrupts):
        desk.begin()
        desk.wait_until(True)
        time.sleep(random_.uniform(0.2, 1.5))
        raised.clear()
        came, computed_before = time.perf_counter(), time.process_time()
        with desk.service.pause():
            desk.service.end_self_distillation()
            of_memory.append((time.perf_counter() - came) * 1e3)
            if raised:
                of_pass.append((raised[0][0] - came) * 1e3)
                computed.append((raised[0][1] - computed_before) * 1e3)
            desk.service.self_distil_with(None)
    longest = max(of_pass, default=0.0)
    verdict = "" if longest <= WAY_BAR_MS else f", above {WAY_BAR_MS:g}"
    print(
        f"gives way within {longest:.1f} ms (median {statistics.median(of_pass or [0.0]):.1f}, {len(of_pass)} times)"
        f"{verdict}; processors compute for {max(computed, default=0.0):.1f} ms of that at most (median "
        f"{statistics.median(computed or [0.0]):.1f}); its memory is free and what was written is stored within "
        f"{max(of_memory, default=0.0):.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--interrupts", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    self_distillation._LULL_S = 0.0
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        slots = num_slots(desk.passes)
        single, batched = measure_speed(desk, 1, 1), measure_speed(desk, slots, 2)
        print(
            f"{slots} side by side: {batched:.0f} tokens/s; one after the other: {single:.0f} ({batched / single:.2f})"
        )
        if arguments.minutes:
            began = time.monotonic()
            over = threading.Timer(60 * arguments.minutes, lambda: desk.service.self_distil_with(None))
            over.start()
            desk.begin()
            desk.wait_until(True)
            over.join()
            minutes = (time.monotonic() - began) / 60
            lessons, tokens = desk.num_kept / minutes, desk.num_tokens / minutes
            usual = LearningSettings().self_distillation_minutes
            print(
                f"{lessons:.1f} lessons and {tokens:.0f} tokens in a minute; with the usual {usual} minutes of an hour "
                f"{usual * lessons:.0f} lessons; it takes {max(desk.opened_mb):.0f} MB meanwhile"
            )
        measure_giving_way(desk, arguments.interrupts, random.Random(arguments.seed))
        desk.service.close()
        desk.service.join(30)
        desk.repository.close()
        desk.target.close()


if __name__ == "__main__":
    main()
