"""How often the drafter predicts what the starter writes next, at every token of its replies to real prompts.

    python -m tests.benchmarks.agreement --prompts prompts.jsonl --limit 100

Greedy, in the target's tokens, as in the app: the n-grams of a reply are learned on the way.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from engine import STARTER, EngineConfig, ReplySettings, SamplingSettings, StopSignal
from engine.lab.measuring.modes import ModeAnswer, WriterMode
from engine.lab.measuring.prompts import BenchQuestion, read_prompts
from engine.loading import load_target
from engine.speculation.drafter.choice import BUILT_IN, drafter_source
from engine.speculation.numerics.sampling import RandomDice
from engine.speculation.proposers.drafted import DrafterProposer
from engine.speculation.proposers.interface import Context
from engine.speculation.proposers.supply import open_drafting
from engine.use_cases.chat import resolve
from engine.values.config import TargetSettings
from tests.fakes.proposers import Generous

_LENGTH = 8  # tokens of a draft
_GREEDY = SamplingSettings(temperature=0)


def count(
    proposer: DrafterProposer, question: BenchQuestion, answer: ModeAnswer, asked: Counter[int], right: Counter[int]
) -> None:
    """Counts, for the first, second, … token of a draft, how often those before it were right, and how often it was."""
    dice = RandomDice(0)
    for place in range(1, len(answer.tokens)):
        written, pending = [*answer.prompt, *answer.tokens[: place - 1]], answer.tokens[place - 1]
        context = Context(question.turns, written, pending, len(answer.prompt), _GREEDY, dice)
        guess = proposer.propose(context, _LENGTH, Generous()).tokens
        for length, token in enumerate(answer.tokens[place : place + _LENGTH], 1):
            asked[length] += 1
            if length > len(guess) or guess[length - 1] != token:
                break
            right[length] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--drafter", default=BUILT_IN, help="built-in, starter, starter-torch, a GGUF file or a folder")
    arguments = parser.parse_args()
    asked: Counter[int] = Counter()
    right: Counter[int] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        config = EngineConfig(Path(folder))
        stop = StopSignal()
        target = load_target(resolve(config, STARTER), TargetSettings(), lambda _progress: None, stop)
        writer = WriterMode(target, ReplySettings(_GREEDY, arguments.max_tokens), None)
        source = drafter_source(arguments.drafter, config.data_dir)
        proposer = open_drafting(config, source, target.vocabulary).proposer
        assert isinstance(proposer, DrafterProposer)
        chats = read_prompts(arguments.prompts, arguments.limit)
        for chat in chats:
            question = chat.question([])
            count(proposer, question, writer.answer(question, stop), asked, right)
            proposer.end_reply()
        target.close()
    print(f"{len(chats)} replies, {asked[1]:,} tokens; greedy next-token agreement {right[1] / asked[1]:.3f}")
    for length in sorted(asked):
        print(f"  guess {length}: {right[length] / asked[length]:.3f} of {asked[length]:,}, those before being right")


if __name__ == "__main__":
    main()
