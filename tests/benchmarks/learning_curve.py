"""The learning curve of a drafter: what it guesses of replies held out, after ever more tokens of the same target.

    python -m tests.benchmarks.learning_curve VOCABULARY.gguf REPLIES.jsonl [--tokens 2000,15000,50000] [--test 24]
        [--again 1] [--first VOCABULARY.gguf:REPLIES.jsonl …] [--built-in]

Replies whose id's digest is a multiple of five are held out, with every turn of theirs: --test of each kind (chat, and
all else), 128 tokens of each. The others are read once in a random order, and --again older samples with each, by the
recipe of the app (`TrainingSettings`); --first reads replies of other targets before. After so many tokens, for each
strength: tokens per round of the held-out replies against the untaught drafter, alone and beside memory of all that was
read, with drafts of five, greedy, by the written tokens; ± is the standard error by drawing the replies again.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from engine.lab.measuring.prompts import read_prompts
from engine.speculation.drafter.adapter import share_of
from engine.speculation.drafter.checkpoint import LoadedDrafter, load_drafter
from engine.speculation.drafter.choice import built_in_drafter
from engine.speculation.drafter.from_gguf import torch_folder
from engine.speculation.learning.adapting import AdaptedModel, never_stop
from engine.speculation.learning.evaluation import chances
from engine.speculation.learning.judge import STRENGTHS
from engine.speculation.learning.remembered import RecentTexts, Remembered
from engine.speculation.learning.samples import (
    MAX_TOKENS,
    CorpusLesson,
    LabelTable,
    Sample,
    SampleMaker,
    spellings,
    whole_text,
)
from engine.speculation.learning.training import Example, Training, TrainingSettings
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.llama.trace import TraceTarget
from engine.speculation.model.llama.vocabulary import load_vocabulary
from tests.benchmarks.teaching import Hits, all_rounds

_TEST_TOKENS, _TEST_PROMPT = 128, 192
_NEWEST = 16  # samples
_DRAWS = 500
_NONE = LabelTable.of((), 1)

Lessons = list[tuple[str, str, list[Sample]]]  # id, kind and samples of each reply


def read_lessons(drafter: LoadedDrafter, vocabulary: Path, replies: Path) -> Lessons:
    target = TraceTarget(load_vocabulary(vocabulary), vocabulary)
    strings = spellings(target.vocabulary, drafter.tokenizer, drafter.model.shape.outputs)
    maker = SampleMaker(target.vocabulary, drafter.tokenizer, strings)
    ends = sorted(target.vocabulary.end_of_generation)[:1]
    found: Lessons = []
    for number, chat in enumerate(read_prompts(replies, recorded=True)):
        question = chat.question([])
        assert question.response is not None
        ids = np.array([0, *target.tokenize(question.response), *ends], np.int32)  # something comes before a reply
        samples, _ = maker.make([CorpusLesson(number, question.turns, ids, 1)], {})
        if samples:
            found.append((chat.id.removesuffix("-t2"), "chat" if chat.task == "chat" else "maths, code", samples))
    target.close()
    np.random.default_rng(1).shuffle(found)
    return found


def is_held_out(name: str) -> bool:
    return int(hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest(), 16) % 5 == 0


def cut(sample: Sample) -> Sample:
    """The beginning of a reply, and the end of what it answers."""
    first, end = max(0, sample.reply_start - _TEST_PROMPT), sample.reply_start + _TEST_TOKENS
    part = slice(first, end)
    return Sample(sample.tokens[part], sample.weights[part], sample.rows[part], sample.reply_start - first)


class Exam:
    """Replies held out, by kind, and how the untaught drafter does."""

    def __init__(self, model: AdaptedModel, lessons: Lessons, most: int) -> None:
        self._untaught = model.carrying(None)
        self._samples: dict[str, list[Sample]] = {}
        for name, kind, samples in lessons:
            known = self._samples.setdefault(kind, [])
            if is_held_out(name) and len(known) < most:
                known.append(cut(samples[0]))

    def tell(self, taught: Callable[[float], AdaptedModel], memory: RecentTexts) -> None:
        for kind, samples in self._samples.items():
            known = [memory.of(sample, never_stop) for sample in samples]
            before = [_hits(self._untaught, *each) for each in zip(samples, known, strict=True)]
            for strength in STRENGTHS[1:]:
                after = [_hits(taught(strength), *each) for each in zip(samples, known, strict=True)]
                alone, beside = (_gain([each[at] for each in before], [each[at] for each in after]) for at in (0, 1))
                print(f"    {kind:12} strength {strength:4}: alone {alone}, beside memory {beside}", flush=True)


@torch.no_grad()
def _hits(model: AdaptedModel, sample: Sample, known: Remembered) -> tuple[Hits, Hits]:
    """Which tokens are guessed right, alone and beside memory."""
    found = []
    for each in (Remembered.nothing(len(known.copied)), known):
        found.append(chances(model, sample, _NONE, each, 0.0, never_stop) > 0)
    return found[0], found[1]


def _gain(before: Sequence[Hits], after: Sequence[Hits]) -> str:
    pairs = [[all_rounds([each]) for each in some] for some in (before, after)]
    rounds: npt.NDArray[np.int64] = np.array(pairs)
    drawn = rounds[:, np.random.default_rng(0).integers(rounds.shape[1], size=(_DRAWS, rounds.shape[1]))].sum(-1)
    total = rounds.sum(-1)
    return f"{total[0] / total[1] - 1:+.1%} ± {(drawn[0] / drawn[1]).std():.1%}"


def read_all(training: Training, lessons: Lessons, again: int, memory: RecentTexts) -> Iterator[int]:
    """Yields the number of tokens read after each reply."""
    dice, examples, num_tokens = np.random.default_rng(0), list[Example](), 0
    for name, _, samples in lessons:
        if is_held_out(name):
            continue
        memory.add(len(examples), whole_text(samples))
        for sample in samples:
            examples.append(Example(len(examples), sample, _NONE))
            training.read(examples[-1], never_stop)
            training.count(examples[-1].num_tokens)
            num_tokens += examples[-1].num_tokens
            for _ in range(again):
                first = max(0, len(examples) - _NEWEST) if dice.random() < 0.5 else 0
                training.read(examples[int(dice.integers(first, len(examples)))], never_stop)
        yield num_tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("recorded", type=Path)
    parser.add_argument("--tokens", default="2000,15000,50000")
    parser.add_argument("--test", type=int, default=24)
    parser.add_argument("--again", type=int, default=1)
    parser.add_argument("--first", action="append", default=[], metavar="VOCABULARY:REPLIES")
    parser.add_argument("--built-in", action="store_true", help="the built-in drafter; otherwise the starter")
    arguments = parser.parse_args()
    made = Path(tempfile.gettempdir()) / "slipstream-teaching"
    drafter = load_drafter(built_in_drafter() if arguments.built_in else torch_folder(starter_path(), made), "cpu")
    shape, weights = drafter.model.shape, drafter.model.weights
    training, memory = Training(shape, weights, TrainingSettings()), RecentTexts()
    for others in arguments.first:
        vocabulary, _, replies = others.partition(":")
        for _ in read_all(training, read_lessons(drafter, Path(vocabulary), Path(replies)), arguments.again, memory):
            pass
    lessons = read_lessons(drafter, arguments.vocabulary, arguments.recorded)
    model = AdaptedModel(shape, weights, 1, MAX_TOKENS)
    exam, began = Exam(model, lessons, arguments.test), time.process_time()
    marks = [int(each) for each in arguments.tokens.split(",")]
    spent_s = 0.0
    for num_tokens in read_all(training, lessons, arguments.again, memory):
        if num_tokens < marks[0]:
            continue
        spent_s += time.process_time() - began
        adapter = training.adapter
        print(f"  {num_tokens} tokens, {training.num_tokens} in all, {spent_s:.0f} s of a core")
        exam.tell(lambda strength: model.carrying(share_of(adapter, strength)), memory)  # noqa: B023
        marks, began = marks[1:], time.process_time()
        if not marks:
            return


if __name__ == "__main__":
    main()
