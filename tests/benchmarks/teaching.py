"""What a drafter learns from few replies: recorded replies in order, each scored before it is learned from.

    python -m tests.benchmarks.teaching VOCABULARY.gguf REPLIES.jsonl [--replies 75] [--window 25] [--built-in]
        [--recipe rank=8,reads=4 --recipe layers=30,averaging=0 …] [--rounded] [--judged]

A recipe sets fields of TrainingSettings, and `reads`: replies read for each new one, half of them among the newest.
Greedy, along the text, in the drafter's tokens, with drafts of five. For every window of replies and for their second
half, against the same drafter untaught: tokens written per round, by the drafter alone and beside memory of the replies
before (recall and habits, as the judge counts them), the share of tokens guessed right, and the mean negative
log-likelihood (nats); at the end the processor time of learning for each reply. `--judged` prints instead what becomes
of the app's own recipe: what the judge rules, and what the adapter in use then saves of the rounds that it counts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from engine.lab.measuring.prompts import read_prompts
from engine.speculation.drafter.adapter import Adapter, adapted
from engine.speculation.drafter.checkpoint import LoadedDrafter, load_drafter
from engine.speculation.drafter.choice import built_in_drafter
from engine.speculation.drafter.from_gguf import torch_folder
from engine.speculation.learning.adapting import AdaptedModel, never_stop
from engine.speculation.learning.evaluation import chances
from engine.speculation.learning.judge import STRENGTHS, Ruling
from engine.speculation.learning.judge import Score as JudgedScore
from engine.speculation.learning.learner import Learner, Trial
from engine.speculation.learning.remembered import RecentTexts, Remembered
from engine.speculation.learning.samples import MAX_TOKENS, CorpusLesson, LabelTable, Sample, SampleMaker, spellings
from engine.speculation.learning.training import Example, Training, TrainingSettings
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.llama.trace import TraceTarget
from engine.speculation.model.llama.vocabulary import load_vocabulary
from engine.values.learned import VerifiedReply

DRAFT_LENGTH = 5
Hits = npt.NDArray[np.bool_]
_NEWEST = 16  # replies
_ROWS = 64  # whose logits are in memory at once


@dataclass(frozen=True, slots=True)
class Score:
    """Of one reply."""

    hits: Hits  # which tokens the drafter's likeliest were
    remembered: Hits  # which tokens would have been drafted beside memory
    surprise: float  # nats, of all tokens


def all_rounds(replies: Iterable[Hits]) -> int:
    """Of greedy drafts, where these are the tokens that would stand."""
    count = 0
    for hits in replies:
        place = 0
        while place < len(hits):
            draft = hits[place : place + DRAFT_LENGTH]
            place += 1 + (len(draft) if draft.all() else int(draft.argmin()))
            count += 1
    return count


@dataclass(frozen=True, slots=True)
class Recipe:
    text: str
    settings: TrainingSettings
    reads: int

    @classmethod
    def parse(cls, text: str) -> Recipe:
        given = dict(part.split("=", 1) for part in text.split(",") if part)
        reads = int(given.pop("reads", "4"))
        defaults = TrainingSettings()
        kinds = {field.name: type(getattr(defaults, field.name)) for field in fields(TrainingSettings)}
        layers = given.pop("layers", None)
        settings = TrainingSettings(**{name: kinds[name](value) for name, value in given.items()})
        return cls(text, settings if layers is None else replace(settings, layers=((0, int(layers)),)), reads)


class Course:
    """One drafter, and replies of one target in its tokens."""

    def __init__(self, drafter: LoadedDrafter, vocabulary: Path, replies: Path, count: int) -> None:
        self.drafter = drafter
        self.shape, self.weights = drafter.model.shape, drafter.model.weights
        self._model = AdaptedModel(self.shape, self.weights, 1, MAX_TOKENS)
        target = TraceTarget(load_vocabulary(vocabulary), vocabulary)
        strings = spellings(target.vocabulary, drafter.tokenizer, self.shape.outputs)
        self._maker = SampleMaker(target.vocabulary, drafter.tokenizer, strings)
        ends = sorted(target.vocabulary.end_of_generation)[:1]
        self._lessons: list[CorpusLesson] = []
        self.samples: list[Sample] = []
        for number, chat in enumerate(read_prompts(replies, count, recorded=True)):
            question = chat.question([])
            assert question.response is not None
            ids = np.array([0, *target.tokenize(question.response), *ends], np.int32)  # something comes before a reply
            self._lessons.append(CorpusLesson(number, question.turns, ids, 1))
            self.samples += self._maker.make(self._lessons[-1:], {})[0][:1]
        target.close()
        self._examples = [Example(number, sample, LabelTable.of((), 1)) for number, sample in enumerate(self.samples)]
        memory = RecentTexts()
        self._remembered: dict[int, Remembered] = {}  # by the number of the reply
        for number, sample in enumerate(self.samples):
            self._remembered[number] = memory.of(sample, never_stop)
            memory.add(number, sample.tokens)

    @cached_property
    def untaught(self) -> list[Score]:
        return [self._score(self._model, number) for number in range(len(self.samples))]

    def judged(self) -> Iterator[Trial]:
        """What comes of each reply as in the app."""
        learner = Learner.going_on(self.shape, self.weights, self._maker)
        for lesson in self._lessons:
            likeliest = lesson.reply[:, None]
            reply = VerifiedReply(lesson.reply, likeliest, np.zeros(likeliest.shape, np.float16))
            learner.take(lesson.line, lesson.line, lesson.turns, reply)
            while learner.has_work:
                trial = learner.work(never_stop)
                if trial is not None:
                    yield trial

    def taught(self, recipe: Recipe, rounded: bool) -> tuple[list[Score], float]:
        """Each reply before it was learned from, and the processor time of learning."""
        training = Training(self.shape, self.weights, recipe.settings)
        dice = np.random.default_rng(recipe.settings.seed)
        scores, spent_s = [], 0.0
        for number in range(len(self.samples)):
            scores.append(self._score(self._carrying(training.adapter, rounded), number))
            began = time.process_time()
            for _ in range(recipe.reads):
                first = max(0, number + 1 - _NEWEST) if dice.random() < 0.5 else 0
                chosen = int(dice.integers(first, number + 1))
                training.read(self._examples[chosen], never_stop)
            training.count(self._examples[number].num_tokens)
            spent_s += time.process_time() - began
        return scores, spent_s

    def _carrying(self, adapter: Adapter, rounded: bool) -> AdaptedModel:
        if rounded:
            return AdaptedModel(self.shape, adapted(self.weights, adapter), 1, MAX_TOKENS)
        return self._model.carrying(adapter)

    @torch.no_grad()
    def _score(self, model: AdaptedModel, number: int) -> Score:
        sample = self.samples[number]
        known = chances(model, sample, LabelTable.of((), 1), self._remembered[number], 0.0, never_stop)
        states = model.states(sample.tokens[:-1].tolist())[sample.reply_start - 1 :]
        written = torch.from_numpy(sample.tokens[sample.reply_start :].astype(np.int64))
        is_known = written < self.shape.outputs
        hits, surprise = [], 0.0
        for rows in range(0, len(states), _ROWS):
            part = slice(rows, rows + _ROWS)
            logits = model.logits(states[part])
            hits.append(logits.argmax(-1) == written[part])
            surprise += float(
                functional.cross_entropy(logits[is_known[part]], written[part][is_known[part]], reduction="sum")
            )
        return Score(torch.cat(hits).numpy(), known > 0, surprise)


def compared(taught: Sequence[Score], untaught: Sequence[Score]) -> str:
    alone = all_rounds(each.hits for each in untaught) / all_rounds(each.hits for each in taught) - 1
    beside = all_rounds(each.remembered for each in untaught) / all_rounds(each.remembered for each in taught) - 1
    num_tokens = sum(len(each.hits) for each in taught)
    right = sum(int(each.hits.sum()) for each in taught) / num_tokens
    before = sum(int(each.hits.sum()) for each in untaught) / num_tokens
    surprises = [sum(each.surprise for each in scores) / num_tokens for scores in (untaught, taught)]
    return (
        f"tokens per round {alone:+6.1%}, beside memory {beside:+6.1%}, right {before:.3f} to {right:.3f}, "
        f"nats {surprises[0]:.3f} to {surprises[1]:.3f}"
    )


def tell_judged(course: Course, size: int) -> None:
    """Each ruling, and for each window of replies the rounds that what was in use saved, and that all of it would."""
    scores: list[JudgedScore] = []
    for trial in course.judged():
        scores.append(trial.score)
        if trial.ruling is not Ruling.KEPT:
            print(f"after {len(scores)}: {trial.ruling}")
        if len(scores) % size == 0 or len(scores) == len(course.samples):
            part = scores[(len(scores) - 1) // size * size :]
            tokens = sum(each.num_tokens for each in part)
            original, in_use, full = (
                sum(rounds) for rounds in zip(*((e.original, e.in_use, e.rounds[-1]) for e in part), strict=True)
            )
            strength = sum(STRENGTHS[each.chosen] for each in part) / len(part)
            print(
                f"  {len(scores) - len(part) + 1:4} to {len(scores):4}: {tokens / original:.3f} tokens per round, "
                f"in use {original / in_use - 1:+.1%} (strength {strength:.2f}), all {original / full - 1:+.1%}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("recorded", type=Path)
    parser.add_argument("--replies", type=int, default=75)
    parser.add_argument("--window", type=int, default=25)
    parser.add_argument("--built-in", action="store_true", help="the built-in drafter; otherwise the starter")
    parser.add_argument("--recipe", type=Recipe.parse, action="append", default=[])
    parser.add_argument("--judged", action="store_true", help="as in the app: at the strengths that the judge chooses")
    parser.add_argument("--rounded", action="store_true", help="score as it runs: added into rounded matrices")
    arguments = parser.parse_args()
    made = Path(tempfile.gettempdir()) / "slipstream-teaching"
    folder = built_in_drafter() if arguments.built_in else torch_folder(starter_path(), made)
    course = Course(load_drafter(folder, "cpu"), arguments.vocabulary, arguments.recorded, arguments.replies)
    if arguments.judged:
        tell_judged(course, arguments.window)
        return
    num_tokens = sum(len(each.hits) for each in course.untaught)
    alone = all_rounds(each.hits for each in course.untaught)
    beside = all_rounds(each.remembered for each in course.untaught)
    print(
        f"{len(course.samples)} replies, {num_tokens} tokens; untaught {num_tokens / alone:.3f} tokens per round, "
        f"{num_tokens / beside:.3f} beside memory"
    )
    for recipe in arguments.recipe or [Recipe.parse("")]:
        scores, spent_s = course.taught(recipe, arguments.rounded)
        print(f"{recipe.text or 'as it is'}: {spent_s / len(scores):.2f} s of a core for each reply")
        count, size = len(scores), arguments.window
        for first, last in [*((start, start + size) for start in range(0, count, size)), (count // 2, count)]:
            found = compared(scores[first:last], course.untaught[first:last])
            print(f"  {first + 1:4} to {min(last, count):4}: {found}", flush=True)


if __name__ == "__main__":
    main()
