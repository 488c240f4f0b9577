"""Both ways of running the starter as a drafter, side by side: by llama.cpp, and in torch.

    python -m tests.benchmarks.drafters [--prompts prompts.jsonl] [--limit 8]

Each way in a process of its own: a step (median, with 200 tokens held), reading 512 tokens, memory, and how often its
likeliest token is what the starter, as target, writes next (greedy, in its own chat format).
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from engine import ReplySettings, SamplingSettings, StopSignal, TargetSettings
from engine.lab.measuring.modes import WriterMode
from engine.lab.measuring.prompts import read_prompts
from engine.speculation.drafter.choice import built_in_drafter
from engine.speculation.drafter.gguf import load_gguf
from engine.speculation.drafter.interface import Drafter
from engine.speculation.model.apart.child import ask_child
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.llama.cpu import usable_cores
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget

_PROMPTS = Path(__file__).parent / "prompts" / "repetition.jsonl"
_HELD, _READ, _STEPS, _READS = 200, 512, 200, 5
_CONTEXT = 2048
_MIB = 2**20

Reply = tuple[list[int], list[int]]  # a prompt and the reply to it, in the target's tokens


def load_target() -> LlamaCppTarget:
    settings = TargetSettings(context_size=_CONTEXT)
    return LlamaCppTarget.load(starter_path(), "starter", settings, lambda _progress: None, StopSignal())


def open_drafter(way: str) -> Drafter:
    """`llama.cpp`, or the folder of a drafter to run in torch."""
    if way == "llama.cpp":
        return load_gguf(starter_path(), "starter", True, StopSignal())[0]
    from engine.speculation.drafter.checkpoint import load_drafter  # torch, whose memory must not count for llama.cpp

    return load_drafter(Path(way), "cpu", usable_cores()).model


def figures(way: str, replies: Sequence[Reply]) -> str:
    """In a process of its own, as JSON."""
    before = psutil.Process().memory_info().rss
    drafter = open_drafter(way)
    reads, steps, hits = [], [], []
    tokens = [(token * 7919) % 5000 + 100 for token in range(_READ)]
    for _ in range(_READS):
        drafter.roll_back(0)
        reads.append(_timed(drafter, tokens))
    for token in tokens[:_STEPS]:
        drafter.roll_back(_HELD)
        steps.append(_timed(drafter, [token]))
    memory = psutil.Process().memory_info()
    for prompt, reply in replies:
        drafter.roll_back(0)
        row = drafter.read(prompt)
        for token in reply:
            hits.append(int(row.argmax()) == token)
            row = drafter.read([token])
    found = {"step_ms": statistics.median(steps), "read_ms": statistics.median(reads)}
    found |= {"memory": (memory.rss - before) / _MIB}
    return json.dumps(found | {"agreement": statistics.fmean(hits) if hits else None})


def _timed(drafter: Drafter, tokens: Sequence[int]) -> float:
    start = time.perf_counter()
    drafter.read(tokens)
    return 1000 * (time.perf_counter() - start)


def starter_folder(data_dir: str) -> str:
    from engine.speculation.drafter.from_gguf import torch_folder  # torch, which this process does without

    return str(torch_folder(starter_path(), Path(data_dir)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=Path, default=_PROMPTS)
    parser.add_argument("--limit", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=128)
    arguments = parser.parse_args()
    target = load_target()
    writer = WriterMode(target, ReplySettings(SamplingSettings(temperature=0), arguments.max_tokens), None)
    chats = read_prompts(arguments.prompts, arguments.limit)
    answers = [writer.answer(chat.question([]), StopSignal()) for chat in chats]
    replies = [(list(answer.prompt), list(answer.tokens)) for answer in answers]
    target.close()
    print(f"{len(replies)} replies, {sum(len(reply) for _prompt, reply in replies):,} tokens")
    with tempfile.TemporaryDirectory() as data_dir:
        made = ask_child(starter_folder, (data_dir,), lambda: False)
        if made is None:
            parser.error("the starter could not be converted")
        ways: list[tuple[str, str, Sequence[Reply]]] = [
            ("starter, llama.cpp", "llama.cpp", replies),
            ("starter, torch", made, replies),
            ("built-in, torch", str(built_in_drafter()), ()),  # has another vocabulary: see agreement.py
        ]
        for label, way, texts in ways:
            answer = ask_child(figures, (way, texts), lambda: False)
            if answer is None:
                print(f"{label:20} ended its process")
                continue
            found = json.loads(answer)
            agreement = "" if found["agreement"] is None else f", next tokens {found['agreement']:.3f}"
            print(
                f"{label:20} step {found['step_ms']:6.2f} ms, {_READ} tokens {found['read_ms']:6.0f} ms, "
                f"{found['memory']:5.0f} MB{agreement}"
            )


if __name__ == "__main__":
    main()
