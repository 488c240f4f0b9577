"""How often learning is said to save rounds where it saves none, how soon where it does, and what harm costs.

    python -m tests.benchmarks.judging [--data ../shared/data] [--replies 120] [--scores FILE.npz] [--runs 2000]

A drafter is trained along recorded replies of DATA/traces: once on them, once on the same with their tokens shuffled,
once on as much German (sentences of the window). Before it learns from a reply, the rounds of that reply are computed
with the original drafter and with all three, beside memory of the replies until then; that takes seconds for each
reply, so they are kept in FILE. From them thousands of runs of the judge are drawn, of 400 replies each, in which as
much of what was learned drafts as the judge says; a share of it takes that share of the difference in rounds:

- worthless: for each reply a coin says which of both drafters counts as the original;
- shuffled, foreign: what was learned is what the drafter learned from shuffled tokens, or from German;
- better or worse by some per cent: as worthless, but what was learned accepts so many more or fewer tokens.

Prints the share of runs in which it is claimed that learning saves rounds, the replies until then (median, and the
share of runs within 30); the share in which training starts over; and the share of all rounds that was saved by then.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.lab.measuring.prompts import read_prompts
from engine.speculation.drafter.choice import built_in_source
from engine.speculation.learning.adapting import never_stop
from engine.speculation.learning.judge import STRENGTHS, Evidence, Judge, Ruling, Score, Strengths, expected_rounds
from engine.speculation.learning.remembered import RecentTexts
from engine.speculation.learning.samples import CorpusLesson, Labels, SampleMaker
from engine.speculation.learning.training import Example, Training, TrainingSettings
from engine.speculation.model.llama.trace import TraceTarget
from engine.speculation.model.llama.vocabulary import load_vocabulary
from engine.speculation.proposers.teachable import open_teachable
from engine.values.config import SpeculationSettings

_ROOT = Path(__file__).parents[2]
_TRACE, _VOCABULARY = "llama-3-8b-instruct.jsonl", "ggml-vocab-llama-bpe.gguf"
_MOST_TOKENS = 180  # of a reply
_READS = 2  # of replies, for each new one
# Learns fast, and wavers as much.
_SETTINGS = TrainingSettings(rank=16, learning_rate=1e-3, batch=4, anchor=0.0)
_MOST_REPLIES = 400  # of a run
_SOON = 30

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """Rounds of n replies, each found before anything was learned from the reply."""

    num_tokens: Floats
    original: Floats
    taught: Floats  # with the drafter that learned from the replies before
    misled: Floats  # with the one that learned from them with their tokens shuffled
    foreign: Floats  # with the one that learned from another language

    @classmethod
    def read(cls, path: Path) -> Scores:
        with np.load(path) as stored:
            return cls(*(stored[each.name] for each in fields(cls)))

    def save(self, path: Path) -> None:
        np.savez(path, **{each.name: getattr(self, each.name) for each in fields(self)})


def score_replies(data: Path, num_replies: int) -> Scores:
    vocabulary = load_vocabulary(data / "vocabs" / _VOCABULARY)
    target = TraceTarget(vocabulary, data / "vocabs" / _VOCABULARY)
    chats = list(read_prompts(data / "traces" / _TRACE, recorded=True))
    random = np.random.default_rng(1)
    random.shuffle(chats)
    with tempfile.TemporaryDirectory() as maps:
        drafting = open_teachable(
            SpeculationSettings(device="cpu"), built_in_source(), Path(maps), target.vocabulary, None
        )
    maker = SampleMaker(target.vocabulary, drafting._drafter.tokenizer, drafting._strings)
    shape, weights = drafting._drafter.model.shape, drafting._own_weights
    trainings = [Training(shape, weights, _SETTINGS) for _ in range(3)]
    lessons: dict[int, list[Example]] = {}
    memory, german = RecentTexts(), foreign_tokens(target, random)
    rows = []
    for number, chat in enumerate(chats[:num_replies]):
        assert chat.response is not None
        said = np.array(target.tokenize(chat.response)[:_MOST_TOKENS], np.int32)
        turns, end = chat.question([]).turns, np.array([target._end], np.int32)
        examples = []
        for tokens in (said, random.permutation(said), german[: len(said)]):
            reply = np.concatenate([np.zeros(1, np.int32), tokens, end])
            labels = Labels(reply[1:, None], np.zeros((len(reply) - 1, 1), np.float16))
            samples, table = maker.make([CorpusLesson(number, turns, reply, 1)], {number: labels})
            examples += [Example(number, sample, table) for sample in samples]
        if len(examples) != len(trainings):
            continue
        german = np.roll(german, -len(said))
        whole = examples[0]
        remembered = memory.of(whole.sample, never_stop)
        memory.add(number, whole.sample.tokens)
        adapters = [None, *(training.adapter for training in trainings)]
        chances = trainings[0].chances(adapters, whole.sample, whole.table, remembered, 0.0, never_stop)
        rows.append([whole.num_tokens, *(float(expected_rounds(each)) for each in chances)])
        lessons[number] = examples
        for _ in range(_READS):
            known = [*lessons][-16:] if random.random() < 0.5 else [*lessons]
            chosen = lessons[known[int(random.integers(len(known)))]]
            for training, example in zip(trainings, chosen, strict=True):
                training.read(example, never_stop)
        print(f"\rreply {number + 1} of {num_replies}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    target.close()
    return Scores(*np.array(rows).T)


def foreign_tokens(target: TraceTarget, random: np.random.Generator) -> npt.NDArray[np.int32]:
    """What the window says in German, in any order."""
    said = json.loads((_ROOT / "resources" / "translations" / "de.json").read_text("utf-8"))["messages"]
    sentences = [text for texts in said.values() for text in texts.values() if isinstance(text, str)]
    random.shuffle(sentences)
    return np.array(target.tokenize(" ".join(sentences)), np.int32)


Draw = Callable[[np.random.Generator], tuple[float, float, float]]  # tokens; rounds by the original, and with all of it


@dataclass(frozen=True, slots=True)
class Run:
    """What came of the judge's work until training started over, if it did."""

    proven_after: int | None  # replies
    started_over_after: int | None
    saved: float  # of all rounds by the original drafter, the share


def run_of(draw: Draw, random: np.random.Generator) -> Run:
    judge, proven = Judge(Evidence(strengths=Strengths())), None
    original = used = 0.0
    for chat in range(_MOST_REPLIES):
        num_tokens, before, after = draw(random)
        rounds = tuple(before + strength * (after - before) for strength in STRENGTHS)
        score = Score(chat, int(num_tokens), rounds, judge.evidence.strengths.chosen)
        original, used = original + score.original, used + score.in_use
        ruling = judge.hear(score, float(random.random()))
        if ruling is Ruling.PROVEN:
            proven = chat + 1
        if ruling is Ruling.STARTED_OVER:
            return Run(proven, chat + 1, 1 - used / original)
    return Run(proven, None, 1 - used / original)


def better_by(scores: Scores, gain: float) -> Draw:
    """What was learned differs from the original by the share `gain` of the accepted tokens, and by chance."""

    def draw(random: np.random.Generator) -> tuple[float, float, float]:
        place = int(random.integers(len(scores.original)))
        pair = float(scores.original[place]), float(scores.taught[place])
        original, other = pair if random.random() < 0.5 else pair[::-1]
        num_tokens = float(scores.num_tokens[place])
        return num_tokens, original, other - gain * (num_tokens - other)

    return draw


def taught(scores: Scores, rounds: Floats) -> Draw:
    """What was learned takes these rounds."""

    def draw(random: np.random.Generator) -> tuple[float, float, float]:
        place = int(random.integers(len(scores.original)))
        return float(scores.num_tokens[place]), float(scores.original[place]), float(rounds[place])

    return draw


def tell(name: str, draw: Draw, num_runs: int) -> None:
    random = np.random.default_rng(2)
    runs = [run_of(draw, random) for _ in range(num_runs)]
    after = np.array([each.proven_after or _MOST_REPLIES + 1 for each in runs])
    over = np.mean([each.started_over_after is not None for each in runs])
    line = f"{name:16} claimed in {np.mean(after <= _MOST_REPLIES):6.1%} of runs"
    if (after <= _MOST_REPLIES).any():
        line += f", after {np.median(after):.0f} replies (median), {np.mean(after <= _SOON):.0%} within {_SOON}"
    print(f"{line}; started over in {over:.1%}; saved {np.mean([each.saved for each in runs]):+.2%}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=_ROOT.parent / "shared" / "data")
    parser.add_argument("--replies", type=int, default=120)
    parser.add_argument("--scores", type=Path)
    parser.add_argument("--runs", type=int, default=2000)
    arguments = parser.parse_args()
    path: Path | None = arguments.scores
    if path is not None and path.exists():
        scores = Scores.read(path)
    elif not (arguments.data / "traces" / _TRACE).exists():
        print(f"skipped: {arguments.data} holds no recorded replies; name the folder with --data")
        return
    else:
        scores = score_replies(arguments.data, arguments.replies)
        if path is not None:
            scores.save(path)
    usual = float(scores.original.mean())
    noise = float((scores.original - scores.taught).std())
    means = (scores.taught.mean(), scores.misled.mean(), scores.foreign.mean())
    print(
        f"{len(scores.original)} replies of {scores.num_tokens.mean():.0f} tokens, {usual:.1f} rounds by the original "
        f"drafter, {means[0]:.1f}, {means[1]:.1f} and {means[2]:.1f} by those that learned from them, from shuffled "
        f"ones and from German; two drafters differ by {noise:.1f} in a reply (standard deviation)"
    )
    tell("worthless", better_by(scores, 0.0), arguments.runs)
    tell("shuffled", taught(scores, scores.misled), arguments.runs)
    tell("foreign", taught(scores, scores.foreign), arguments.runs)
    for gain in (0.03, 0.05, 0.1, -0.03, -0.05, -0.1):
        tell(f"{'better' if gain > 0 else 'worse'} by {abs(gain):.0%}", better_by(scores, gain), arguments.runs // 4)


if __name__ == "__main__":
    main()
