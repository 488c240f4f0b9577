"""A drafter that was exported, in a llama-server, beside the same drafter here: whether both guess equally well.

    python -m tests.benchmarks.exported BINARY --drafter FOLDER --prompts F.jsonl [--teach CONVERSATIONS.jsonl]
        [--target starter] [--replies 40] [--limit 20] [--max-tokens 128] [--draft-length 4] [--bits 8] [--data FOLDER]

The drafter learns from conversations of the target (as `slipstream distill --corpus` takes them), is stored with what
it learned, and exported as `slipstream drafter export` does. Then both write the same replies: greedily, with drafts of
a fixed length, whatever the drafter thinks of their chances. Prints accepted over drafted tokens of both; the exit code
is 1 where they are further apart than a twentieth.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path

import numpy as np

from engine import STARTER, EngineConfig, ReplySettings, SamplingSettings, StopSignal
from engine.lab.distillation.corpus import read_lessons
from engine.lab.measuring.bench import Bench, ModeComparison
from engine.lab.measuring.modes import Mode, WriterMode
from engine.lab.measuring.prompts import read_prompts
from engine.loading import load_target
from engine.opening import open_repository
from engine.speculation.decoding.speculation import Speculation, open_speculation
from engine.speculation.drafter.checkpoint import load_drafter
from engine.speculation.drafter.choice import drafter_source
from engine.speculation.learning.adapting import never_stop
from engine.speculation.learning.samples import LabelTable, SampleMaker, spellings
from engine.speculation.learning.training import Example, Training, TrainingSettings
from engine.speculation.model.interface import Target
from engine.speculation.model.llama.vocabulary import load_vocabulary
from engine.speculation.proposers import catalogue
from engine.speculation.proposers.costly import Always
from engine.speculation.proposers.costs import measure_passes
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Supplies
from engine.speculation.proposers.supply import DrafterSupply
from engine.use_cases.chat import resolve
from engine.use_cases.lab import export_drafter
from engine.values.config import SpeculationSettings, TargetSettings
from engine.values.exports import DrafterExported, ExportEngine, ExportOrder
from tests.benchmarks.llama_server import ServerMode, running

_MOST_APART = 0.05
_OURS, _SERVER = "Slipstream", "llama-server"
_READS = 4  # replies read for each that is learned from


def teach(config: EngineConfig, target: Path, folder: Path, conversations: Path, count: int) -> None:
    """Stores what the drafter makes of these conversations, as an adapter in use."""
    drafter = load_drafter(folder, "cpu")
    with closing(load_vocabulary(target)) as words:
        vocabulary = words.vocabulary
    strings = spellings(vocabulary, drafter.tokenizer, drafter.model.shape.outputs)
    maker = SampleMaker(vocabulary, drafter.tokenizer, strings)
    lessons = islice(read_lessons(conversations, vocabulary.pieces), count)
    samples, _ = maker.make(list(lessons), {})
    training = Training(drafter.model.shape, drafter.model.weights, TrainingSettings())
    dice = np.random.default_rng(0)
    for number in range(_READS * len(samples)):
        chosen = int(dice.integers(0, 1 + number // _READS))
        training.read(Example(chosen, samples[chosen], LabelTable.of((), 1)), never_stop)
        print(f"\rlearned {number + 1} of {_READS * len(samples)}", end="", flush=True)
    print()
    with closing(open_repository(config)) as repository:
        repository.save_adapter(
            vocabulary.fingerprint, drafter.fingerprint, 0.0, 0.0, 0, len(samples), training.adapter.to_bytes()
        )


def always_drafting(config: EngineConfig, target: Target, length: int) -> Speculation:
    """The drafter alone, with what it learned, so many tokens in every round."""
    supply = DrafterSupply(config, target)
    costs = measure_passes(target, StopSignal())
    source = drafter_source(config.speculation.drafter, config.data_dir)
    supply.choose(costs)
    drafting = supply.open(source)
    with closing(open_repository(config)) as repository:
        teachable = drafting.teachable
        record = None if teachable is None else repository.published_adapter(*teachable.pair)
    if teachable is not None and record is not None:
        teachable.use(teachable.read_adapter(record.weights))
    policy = DraftPolicy(costs, always=Always(length, length), draws_trees=False)
    supplies = Supplies(target, load_drafter=lambda _is_cancelled: drafting.proposer)
    alone = [each for each in catalogue.proposers(source) if each.origin.key == catalogue.DRAFTER.key]
    return open_speculation(policy, supplies, alone, at_once=True)


def accepted_share(answers: Sequence[tuple[int, int]]) -> float:
    """Of (accepted, drafted) of each reply."""
    return sum(accepted for accepted, _ in answers) / max(1, sum(drafted for _, drafted in answers))


def counts(comparisons: Sequence[ModeComparison], mode: str) -> list[tuple[int, int]]:
    figures = [each.answers[mode].figures for each in comparisons]
    return [(each.num_accepted, each.num_drafted) for each in figures]


def error_of(ours: Sequence[tuple[int, int]], theirs: Sequence[tuple[int, int]]) -> float:
    """Standard error of how far apart they are relatively, from replies drawn again (bootstrap)."""
    dice = np.random.default_rng(0)
    apart = []
    for _ in range(1000):
        drawn = dice.integers(0, len(ours), len(ours))
        apart.append(accepted_share([theirs[i] for i in drawn]) / max(1e-9, accepted_share([ours[i] for i in drawn])))
    return float(np.std(apart))


def exported(config: EngineConfig, target: str, folder: Path, out: Path, bits: int) -> DrafterExported:
    done = export_drafter(config, ExportOrder(ExportEngine.LLAMA_CPP, target, out, str(folder), bits=bits))
    learned = 0 if done.snapshot is None else done.snapshot.num_learned
    print(f"exported with what it learned from {learned} replies, {done.size_bytes / 2**20:.0f} MiB")
    print("\n".join(done.check.proven))
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--drafter", type=Path, required=True)
    parser.add_argument("--prompts", type=Path, required=True)
    parser.add_argument("--teach", type=Path)
    parser.add_argument("--data", type=Path, help="a data folder whose store has learned already; else one for once")
    parser.add_argument("--target", default=STARTER)
    parser.add_argument("--replies", type=int, default=40, help="that it learns from")
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--draft-length", type=int, default=4)
    parser.add_argument("--bits", type=int, default=8)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        data = arguments.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        config, stop = EngineConfig(data, SpeculationSettings(drafter=str(arguments.drafter.absolute()))), StopSignal()
        source = resolve(config, arguments.target)
        if arguments.teach is not None:
            teach(config, source.path, arguments.drafter.absolute(), arguments.teach, arguments.replies)
        out = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "exported.gguf"
        exported(config, arguments.target, arguments.drafter.absolute(), out, arguments.bits)
        target = load_target(source, TargetSettings(), lambda _progress: None, stop)
        stack.callback(target.close)
        length = ("--spec-draft-n-max", arguments.draft_length, "--spec-draft-n-min", 0, "--spec-draft-p-min", 0)
        size, threads = target.limits.context_size, target.description.threads
        more = ("--spec-draft-model", out, *length)
        server = stack.enter_context(
            running(arguments.binary, source.path, "draft-simple", threads, size, out.with_suffix(".log"), more)
        )
        settings = ReplySettings(SamplingSettings(temperature=0), arguments.max_tokens)
        modes: dict[str, Mode] = {
            _OURS: WriterMode(target, settings, always_drafting(config, target, arguments.draft_length)),
            _SERVER: ServerMode(server, target, arguments.max_tokens),
        }
        chats = read_prompts(arguments.prompts, arguments.limit)
        comparisons = Bench(modes).run(chats, stop, print_reply).comparisons
        print_result(*(counts(comparisons, mode) for mode in modes))
        same = sum(each.answers[_OURS].tokens == each.answers[_SERVER].tokens for each in comparisons)
        print(f"{same} of {len(comparisons)} replies have the same tokens")


def print_reply(comparison: ModeComparison) -> None:
    found = "".join(
        f"  {name} {accepted:>3} / {drafted:<4}"
        for name in (_OURS, _SERVER)
        for accepted, drafted in counts([comparison], name)
    )
    print(f"{comparison.question.id:24}{found}", flush=True)


def print_result(ours: Sequence[tuple[int, int]], theirs: Sequence[tuple[int, int]]) -> None:
    """Ends the program where they are too far apart."""
    for name, found in ((_OURS, ours), (_SERVER, theirs)):
        accepted, drafted = (sum(each[place] for each in found) for place in (0, 1))
        print(f"{name:14} {accepted:>6} / {drafted:<6} {accepted_share(found):.4f}")
    apart = accepted_share(theirs) / accepted_share(ours) - 1
    print(f"apart {apart:+.1%} ± {error_of(ours, theirs):.1%}, {len(ours)} replies")
    if abs(apart) > _MOST_APART:
        sys.exit(1)


if __name__ == "__main__":
    main()
