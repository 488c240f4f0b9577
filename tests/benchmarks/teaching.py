"""What a drafter learns from few replies: recorded replies in order, each scored before it is learned from.

    python -m tests.benchmarks.teaching VOCABULARY.gguf REPLIES.jsonl [--replies 75] [--window 25] [--built-in]
        [--recipe rank=8,reads=4 --recipe layers=30,averaging=0 …] [--rounded]

A recipe sets fields of TrainingSettings, and `reads`: replies read for each new one, half of them among the newest.
Greedy, along the text, in the drafter's tokens, with drafts of five. For every window of replies and for their second
half, against the same drafter untaught: tokens written per round, the share of tokens guessed right, and the mean
negative log-likelihood (nats); at the end the processor time of learning for each reply. What the untaught drafter says
of a reply is kept in the temporary folder, so that further recipes need not ask it again.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from engine.drafter.adapter import Adapter, adapted
from engine.drafter.checkpoint import LoadedDrafter, load_drafter
from engine.drafter.choice import built_in_drafter
from engine.drafter.from_gguf import torch_folder
from engine.lab.measuring.prompts import read_prompts
from engine.learning.adapting import AdaptedModel, never_stop
from engine.learning.samples import MAX_TOKENS, CorpusLesson, LabelTable, Sample, SampleMaker, spellings
from engine.learning.training import Example, Training, TrainingSettings
from engine.target.sources import starter_path
from engine.target.trace import TraceTarget
from engine.target.vocabulary import load_vocabulary

DRAFT_LENGTH = 5
_NEWEST = 16  # replies
_ROWS = 64  # whose logits are in memory at once


@dataclass(frozen=True, slots=True)
class Score:
    """Of one reply."""

    hits: npt.NDArray[np.bool_]  # which tokens the drafter's likeliest were
    surprise: float  # nats, of all tokens

    @property
    def rounds(self) -> int:
        place = count = 0
        while place < len(self.hits):
            draft = self.hits[place : place + DRAFT_LENGTH]
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
        return cls(text, TrainingSettings(**{name: kinds[name](value) for name, value in given.items()}), reads)


class Course:
    """One drafter, and replies of one target in its tokens."""

    def __init__(self, drafter: LoadedDrafter, vocabulary: Path, replies: Path, count: int) -> None:
        self.drafter = drafter
        self.shape, self.weights = drafter.model.shape, drafter.model.weights
        self._model = AdaptedModel(self.shape, self.weights, 1, MAX_TOKENS)
        target = TraceTarget(load_vocabulary(vocabulary), vocabulary)
        strings = spellings(target.vocabulary, drafter.tokenizer, self.shape.outputs)
        maker = SampleMaker(target.vocabulary, drafter.tokenizer, strings)
        ends = sorted(target.vocabulary.end_of_generation)[:1]
        self.samples: list[Sample] = []
        for number, chat in enumerate(read_prompts(replies, count, recorded=True)):
            question = chat.question([])
            assert question.response is not None
            ids = np.array([0, *target.tokenize(question.response), *ends], np.int32)  # something comes before a reply
            self.samples += maker.make([CorpusLesson(number, question.turns, ids, 1)], {})[0]
        target.close()
        self.untaught = [self._remembered(sample) for sample in self.samples]

    def taught(self, recipe: Recipe, rounded: bool) -> tuple[list[Score], float]:
        """Each reply before it was learned from, and the processor time of learning."""
        training = Training(self.shape, self.weights, recipe.settings)
        dice = np.random.default_rng(recipe.settings.seed)
        scores, spent_s = [], 0.0
        for number, sample in enumerate(self.samples):
            scores.append(self._score(self._carrying(training.adapter, rounded), sample))
            began = time.process_time()
            for _ in range(recipe.reads):
                first = max(0, number + 1 - _NEWEST) if dice.random() < 0.5 else 0
                chosen = int(dice.integers(first, number + 1))
                training.read(Example(chosen, self.samples[chosen], LabelTable.of((), 1)), never_stop)
            spent_s += time.process_time() - began
        return scores, spent_s

    def _carrying(self, adapter: Adapter, rounded: bool) -> AdaptedModel:
        if rounded:
            return AdaptedModel(self.shape, adapted(self.weights, adapter), 1, MAX_TOKENS)
        return self._model.carrying(adapter)

    def _remembered(self, sample: Sample) -> Score:
        name = hashlib.sha256(self.drafter.fingerprint.encode() + sample.tokens.tobytes()).hexdigest()
        file = Path(tempfile.gettempdir()) / "slipstream-teaching" / f"{name[:32]}.npz"
        if not file.exists():
            score = self._score(self._model, sample)
            file.parent.mkdir(exist_ok=True)
            np.savez(file, hits=score.hits, surprise=score.surprise)
        with np.load(file) as found:
            return Score(found["hits"], float(found["surprise"]))

    @torch.no_grad()
    def _score(self, model: AdaptedModel, sample: Sample) -> Score:
        states = model.states(sample.tokens[:-1].tolist())[sample.reply_start - 1 :]
        written = torch.from_numpy(sample.tokens[sample.reply_start :].astype(np.int64))
        known = written < self.shape.outputs
        hits, surprise = [], 0.0
        for rows in range(0, len(states), _ROWS):
            part = slice(rows, rows + _ROWS)
            logits = model.logits(states[part])
            hits.append(logits.argmax(-1) == written[part])
            surprise += float(
                functional.cross_entropy(logits[known[part]], written[part][known[part]], reduction="sum")
            )
        return Score(torch.cat(hits).numpy(), surprise)


def compared(taught: Sequence[Score], untaught: Sequence[Score]) -> str:
    gain = sum(each.rounds for each in untaught) / sum(each.rounds for each in taught) - 1
    num_tokens = sum(len(each.hits) for each in taught)
    right = sum(int(each.hits.sum()) for each in taught) / num_tokens
    before = sum(int(each.hits.sum()) for each in untaught) / num_tokens
    surprises = [sum(each.surprise for each in scores) / num_tokens for scores in (untaught, taught)]
    return (
        f"tokens per round {gain:+6.1%}, right {before:.3f} to {right:.3f}, "
        f"nats {surprises[0]:.3f} to {surprises[1]:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("recorded", type=Path)
    parser.add_argument("--replies", type=int, default=75)
    parser.add_argument("--window", type=int, default=25)
    parser.add_argument("--built-in", action="store_true", help="the built-in drafter; otherwise the starter")
    parser.add_argument("--recipe", type=Recipe.parse, action="append", default=[])
    parser.add_argument("--rounded", action="store_true", help="score as it runs: added into rounded matrices")
    arguments = parser.parse_args()
    made = Path(tempfile.gettempdir()) / "slipstream-teaching"
    folder = built_in_drafter() if arguments.built_in else torch_folder(starter_path(), made)
    course = Course(load_drafter(folder, "cpu"), arguments.vocabulary, arguments.recorded, arguments.replies)
    num_tokens, num_rounds = (
        sum(len(each.hits) for each in course.untaught),
        sum(each.rounds for each in course.untaught),
    )
    print(
        f"{len(course.samples)} replies, {num_tokens} tokens; untaught {num_tokens / num_rounds:.3f} tokens per round"
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
