"""What own code costs: all of a reply's time that is neither the target's passes nor a drafter's.

    python -m tests.benchmarks.own_code [--prompts F.jsonl] [--limit 12] [--max-tokens 128] [--target starter]

Every prompt is answered by plain decoding and by `auto`, each with and without the notes that learning takes (the
learner itself works between replies), in turns. Prints milliseconds for each token and for each round, medians over the
replies: on a busy machine the operating system takes its share of every millisecond, so a quiet one is wanted.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median

from engine import STARTER, EngineConfig, ReplySettings, SamplingSettings, StopSignal
from engine.lab.measuring.bench import Bench, ModeComparison
from engine.lab.measuring.modes import Mode, ModeAnswer, WriterMode
from engine.lab.measuring.order import AUTO, PLAIN
from engine.lab.measuring.prompts import ScriptedChat, read_prompts
from engine.loading import load_target, speculate
from engine.speculation.proposers.supply import DrafterSupply
from engine.use_cases.chat import resolve
from engine.values.config import TargetSettings
from tests.benchmarks.plain_decoding import PROMPTS

LEARNING = ", learning"  # behind the name of a mode
PLAIN_BAR_MS = 0.20  # a token
AUTO_BAR_MS = 0.10  # a round, more than plain
LEARNING_BAR_MS = 0.05  # a round, more than without


def own_ms(answer: ModeAnswer) -> float:
    return (answer.wall_s - answer.figures.target_s - answer.figures.draft_s) * 1e3


def per_round_ms(comparisons: Sequence[ModeComparison]) -> dict[str, float]:
    """By mode; the median over its replies."""
    answers: dict[str, list[ModeAnswer]] = {}
    for comparison in comparisons:
        for mode, answer in comparison.answers.items():
            if answer.figures.num_rounds:
                answers.setdefault(mode, []).append(answer)
    return {mode: median(own_ms(each) / each.figures.num_rounds for each in given) for mode, given in answers.items()}


def bars(round_ms: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """What is measured, how much of it there is, and how much there may be."""
    plain, auto = round_ms[PLAIN], round_ms[AUTO]
    return [
        ("plain, a token", plain, PLAIN_BAR_MS),
        ("auto over plain, a round", auto - plain, AUTO_BAR_MS),
        ("learning, over plain without", round_ms[PLAIN + LEARNING] - plain, LEARNING_BAR_MS),
        ("learning, over auto without", round_ms[AUTO + LEARNING] - auto, LEARNING_BAR_MS),
    ]


def print_table(comparisons: Sequence[ModeComparison]) -> bool:
    """Whether all is within its bar."""
    round_ms = per_round_ms(comparisons)
    for mode, spent_ms in round_ms.items():
        answers = [each.answers[mode] for each in comparisons]
        rounds, written = (
            sum(getattr(answer.figures, name) for answer in answers) for name in ("num_rounds", "num_written")
        )
        print(f"{mode:16} {spent_ms:.3f} ms a round, {spent_ms * rounds / written:.3f} a token ({written} tokens)")
    found = bars(round_ms)
    for name, spent_ms, most_ms in found:
        print(f"{name:28} {spent_ms:.3f} ms (at most {most_ms}{'' if spent_ms <= most_ms else ': NOT MET'})")
    return all(spent_ms <= most_ms for _, spent_ms, most_ms in found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=Path)
    parser.add_argument("--limit", type=int, default=12)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--target", default=STARTER)
    arguments = parser.parse_args()
    chats: Sequence[ScriptedChat] = [
        ScriptedChat(str(place), "", (), (prompt,)) for place, prompt in enumerate(PROMPTS)
    ]
    if arguments.prompts is not None:
        chats = read_prompts(arguments.prompts, arguments.limit)
    with tempfile.TemporaryDirectory() as folder:
        config, stop, sampling = EngineConfig(Path(folder)), StopSignal(), SamplingSettings(temperature=0)
        source = resolve(config, arguments.target)
        with closing(load_target(source, TargetSettings(), lambda _progress: None, stop)) as target:
            modes: dict[str, Mode] = {}
            for learns in (False, True):
                settings = ReplySettings(sampling, arguments.max_tokens, keeps_distributions=learns)
                auto = speculate(config, target, stop, DrafterSupply(config, target), at_once=True)
                for name, speculation in {PLAIN: None, AUTO: auto}.items():
                    modes[name + LEARNING * learns] = WriterMode(target, settings, speculation)
            return 0 if print_table(Bench(modes).run(chats, stop).comparisons) else 1


if __name__ == "__main__":
    raise SystemExit(main())
