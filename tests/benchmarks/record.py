"""Records what a target writes, to replay it without the target's noise.

    python -m tests.benchmarks.record OUT.jsonl --prompts F.jsonl [--target starter] [--max-tokens 128]

Asks every prompt, greedily and without drafts. A line of the result is `{"id", "source", "task", "prompt", "messages",
"response"}`, for `slipstream bench --target trace:TARGET.gguf --prompts OUT.jsonl` (a target's own file serves as the
vocabulary) and for `tests.benchmarks.draft_policy`. At the end stands the option `--pass-costs` with what passes over 1
to 64 tokens cost here: medians over the first `--timed` replies, timed after each with that reply's own tokens. The
sizes 1 to 16, 24, 32, 48 and 64 are timed, those between them interpolated.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from engine import STARTER, EngineConfig, ReplySettings, SamplingSettings, StopSignal
from engine.lab.measuring.modes import ModeAnswer, WriterMode
from engine.lab.measuring.prompts import BenchQuestion, read_prompts
from engine.loading import load_target
from engine.speculation.model.interface import Target
from engine.speculation.numerics.draft_length import filled
from engine.use_cases.chat import resolve
from engine.values.clock import now
from engine.values.config import TargetSettings
from engine.values.errors import PromptTooLong

_SIZES = (*range(1, 17), 24, 32, 48, 64)  # tokens of a pass


class PassTimer:
    """Times passes over as many tokens as drafts may need."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._ratios: dict[int, list[float]] = {}
        self._single_s: list[float] = []

    def time(self, tokens: Sequence[int]) -> None:
        """Passes over the first of these, behind what the target holds."""
        limits = self._target.limits
        most = min(len(tokens), limits.max_tokens, limits.max_rows, limits.context_size - self._target.num_held)
        seconds = {num_rows: self._time(tokens[:num_rows]) for num_rows in _SIZES if num_rows <= most}
        if seconds:
            self._single_s.append(seconds[1])
        for num_rows, spent_s in seconds.items():
            self._ratios.setdefault(num_rows, []).append(spent_s / seconds[1])

    @property
    def single_ms(self) -> float:
        return median(self._single_s) * 1e3

    @property
    def costs(self) -> dict[int, float]:
        """V(n) as multiples of V(1), for some n, 1 among them; empty where nothing was timed."""
        return {num_rows: median(self._ratios[num_rows]) for num_rows in sorted(self._ratios)}

    def _time(self, tokens: Sequence[int]) -> float:
        """Of the second pass; the first builds the graph of this size."""
        num_held, stop, seconds = self._target.num_held, StopSignal(), 0.0
        for _ in range(2):
            began = now()
            self._target.evaluate(tokens, len(tokens), stop)
            seconds = now() - began
            self._target.roll_back(num_held)
        return seconds


def recorded(question: BenchQuestion, answer: ModeAnswer, source: str) -> dict[str, object]:
    """One line of a trace."""
    return {
        "id": question.id,
        "source": source,
        "task": question.task,
        "prompt": question.turns[-1].text,
        "messages": [{"role": turn.role.value, "content": turn.text} for turn in question.turns],
        "response": answer.text,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--prompts", type=Path, required=True)
    parser.add_argument("--target", default=STARTER)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--timed", type=int, default=20)
    arguments = parser.parse_args()
    stop, num_recorded = StopSignal(), 0
    with tempfile.TemporaryDirectory() as folder, arguments.out.open("w", encoding="utf-8") as out:
        source = resolve(EngineConfig(Path(folder)), arguments.target)
        target = load_target(source, TargetSettings(), lambda _progress: None, stop)
        settings = ReplySettings(SamplingSettings(temperature=0), arguments.max_tokens)
        mode, timer = WriterMode(target, settings, None), PassTimer(target)
        for chat in read_prompts(arguments.prompts, arguments.limit):
            replies: list[str] = []
            while len(replies) < len(chat.prompts):
                question = chat.question(replies)
                try:
                    answer = mode.answer(question, stop)
                except PromptTooLong:
                    print(f"{question.id} is too long for the context, and left out")
                    break
                replies.append(answer.text)
                if not answer.text.strip():
                    print(f"{question.id} has an empty reply, and is left out")
                    continue
                if num_recorded < arguments.timed:
                    timer.time(answer.tokens)
                out.write(json.dumps(recorded(question, answer, source.name), ensure_ascii=False) + "\n")
                num_recorded += 1
        target.close()
    print(f"{num_recorded} replies in {arguments.out}")
    if timer.costs:
        print(f"a pass over one token takes {timer.single_ms:.2f} ms")
        all_costs = filled(timer.costs)[: max(timer.costs)]
        print(f"--pass-costs {','.join(f'{cost:.3f}' for cost in all_costs)}")


if __name__ == "__main__":
    main()
