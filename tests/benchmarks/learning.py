"""What learning costs a user who waits, and what a kill costs one whose chats were learned from.

    python -m tests.benchmarks.learning [--replies 12] [--kills 20] [--seed 1]

In a temporary folder, on the starter with the built-in drafter. Prints: how long the learner takes to give way when
somebody waits; the speed of decoding with a learner that has work and notes of the target's distributions, over the
speed without either, interleaved; memory before the learner began and the most while it worked. Then an engine that
chats and learns is killed many times at random moments: whether the store opens, and whether all replies are there.
"""

from __future__ import annotations

import argparse
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

from engine import EngineConfig, ReplySettings, SamplingSettings, TargetSettings
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.loading import load_target
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.drafter.choice import built_in_source
from engine.speculation.model.interface import Target
from engine.speculation.proposers.supply import open_drafting
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import Reply
from engine.use_cases.chat import resolve
from engine.values.config import LearningSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.stop_signal import StopSignal
from tests.fakes.listener import RecordingReply

WAIT_BAR_MS = 50.0
DROP_BAR = 0.95
MEMORY_BAR_MB = 600.0
SUBJECTS = ("lighthouses", "rye bread", "the number seven", "rain", "bicycles", "maps", "an old piano", "bees")
_CHILD = """
import sys
from pathlib import Path
from engine import BUILT_IN, Engine, EngineConfig, ReplySettings, SamplingSettings, TargetSettings
from engine.values.orders import Send
from engine.values.config import LearningSettings, SpeculationSettings
from engine.values.events import ReplyFinished, TargetReady
from tests.fakes.listener import EventQueue
from engine.values.targets import LoadOrder
events = EventQueue()
speculation = SpeculationSettings(drafter=BUILT_IN)
learning = LearningSettings(share=1.0, on_battery=True)
engine = Engine(EngineConfig(Path(sys.argv[1]), speculation, learning), events)
engine.ask(engine.target.load, LoadOrder("starter", TargetSettings(context_size=1024)))
events.wait_for(TargetReady)
print("ready", flush=True)
number = 0
while True:
    number += 1
    settings = ReplySettings(SamplingSettings(temperature=0.8), max_tokens=24)
    order = Send(f"Tell me something about {sys.argv[2]}, part {number}.", None, settings)
    engine.ask(engine.chat.answer, order).result()
    print("stored", events.wait_for(ReplyFinished).message.id, flush=True)
"""


class Desk:
    """A target, a drafter and a store, with the learning between them."""

    def __init__(self, folder: Path) -> None:
        config = EngineConfig(folder)
        self.target: Target = load_target(
            resolve(config, "starter"), TargetSettings(context_size=1024), lambda _progress: None, StopSignal()
        )
        self.drafting = open_drafting(config, built_in_source(), self.target.vocabulary)
        self.repository = Repository.open(folder)
        self.service = LearningService(
            lambda: self.repository, LearningSettings(share=1.0), lambda _event: None, lambda: False
        )

    def write(self, subject: str, keeps_distributions: bool, max_tokens: int = 96) -> Reply:
        self.target.roll_back(0)
        writer = ReplyWriter(self.target, Speculation.off("It is measured without."))
        prepared = writer.prepare([ChatTurn(Role.USER, f"Write about {subject}.")])
        settings = ReplySettings(
            SamplingSettings(temperature=0.8, seed=7), max_tokens, keeps_distributions=keeps_distributions
        )
        return writer.write(prepared, settings, StopSignal(), RecordingReply())

    def learn_from(self, subject: str) -> None:
        turns = (ChatTurn(Role.USER, f"Write about {subject}."),)
        reply = self.write(subject, keeps_distributions=True)
        chat = self.repository.create_conversation(subject, "")
        prompt = self.repository.add_message(chat.id, None, Role.USER, turns[0].text)
        message = self.repository.add_message(chat.id, prompt.id, Role.ASSISTANT, reply.text)
        self.service.take(message, turns, reply.verified, self.target.vocabulary)


def measure_waiting(desk: Desk, random_: random.Random) -> float:
    """The longest time, in milliseconds, that the learner continued after somebody began to wait. Prints it."""
    ended: list[float] = []
    original = LearningService._check

    def check(self: LearningService) -> None:
        try:
            original(self)
        except BaseException:
            ended.append(time.perf_counter())
            raise

    LearningService._check = check  # type: ignore[method-assign]
    waits = []
    try:
        for _ in range(60):
            time.sleep(random_.uniform(0.05, 0.5))
            if desk.service._pupil is None or not desk.service._pupil.has_work:
                desk.learn_from(random_.choice(SUBJECTS))
                continue
            ended.clear()
            came = time.perf_counter()
            with desk.service.pause():
                time.sleep(0.5)
                if ended:
                    waits.append((ended[0] - came) * 1e3)
    finally:
        LearningService._check = original  # type: ignore[method-assign]
    longest = max(waits, default=0.0)
    middle = statistics.median(waits or [0.0])
    verdict = "" if longest <= WAIT_BAR_MS else f", above {WAIT_BAR_MS:g}"
    print(f"the learner gives way within {longest:.1f} ms (median {middle:.1f}, {len(waits)} times){verdict}")
    return longest


def measure_decoding(desk: Desk, num_replies: int) -> None:
    ratios = []
    for number in range(num_replies):
        subject = SUBJECTS[number % len(SUBJECTS)]
        speeds: dict[bool, float] = {}
        for learns in (True, False) if number % 2 else (False, True):
            if learns:
                desk.learn_from(subject)  # so that the learner has work
                with desk.service.pause():
                    speeds[learns] = desk.write(subject, keeps_distributions=True).statistics.tokens_per_s
            else:
                while desk.service._has_work:
                    time.sleep(0.05)
                speeds[learns] = desk.write(subject, keeps_distributions=False).statistics.tokens_per_s
        ratios.append(speeds[True] / speeds[False])
    ratio = statistics.median(ratios)
    verdict = "" if ratio >= DROP_BAR else f", below {DROP_BAR:g}"
    print(
        f"decoding with a learner that has work, over without: {ratio:.3f} (median of {len(ratios)}, "
        f"{min(ratios):.3f} to {max(ratios):.3f}){verdict}"
    )


class MemoryWatch:
    """The most memory that this process held, measured every twentieth of a second."""

    def __init__(self) -> None:
        self.most_mb = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> float:
        self._over.set()
        self._thread.join()
        return self.most_mb

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            self.most_mb = max(self.most_mb, memory_mb())


def memory_mb() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20


def kill_again_and_again(folder: Path, num_kills: int, random_: random.Random) -> bool:
    """Whether no reply was lost. Prints what was found."""
    stored: set[int] = set()
    broken = []
    for number in range(num_kills):
        child = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(folder), random_.choice(SUBJECTS)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        kill = threading.Timer(random_.uniform(0.5, 12.0), child.send_signal, (signal.SIGKILL,))
        kill.start()
        for line in child.stdout:
            if line.startswith("stored"):
                stored.add(int(line.split()[1]))
        child.wait()
        try:
            repository = Repository.open(folder)
            found = {
                message.id
                for summary in repository.list_conversations()
                for message in repository.open_conversation(summary.id).messages
            }
            repository.close()
            if not stored <= found:
                broken.append(f"kill {number + 1}: {len(stored - found)} replies are gone")
        except Exception as error:
            broken.append(f"kill {number + 1}: {error}")
    print(f"killed {num_kills} times; {len(stored)} replies were stored; lost or broken: {broken or 'nothing'}")
    return not broken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=12)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random_ = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.replies:
            desk = Desk(Path(folder) / "learning")
            for subject in SUBJECTS[:2]:
                desk.write(subject, keeps_distributions=False)
            before, watch = memory_mb(), MemoryWatch()
            desk.service.open(desk.drafting)
            for subject in SUBJECTS:
                desk.learn_from(subject)
            measure_waiting(desk, random_)
            measure_decoding(desk, arguments.replies)
            print(
                f"memory: {before:.0f} MB with target and drafter, at most {watch.end():.0f} MB while learning "
                f"(wanted: less than {MEMORY_BAR_MB:g} more)"
            )
            desk.service.close()
            desk.service.join(10)
            desk.repository.close()
            desk.target.close()
        if arguments.kills:
            kill_again_and_again(Path(folder) / "killed", arguments.kills, random_)


if __name__ == "__main__":
    main()
