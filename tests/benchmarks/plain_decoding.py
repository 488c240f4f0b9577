"""Plain decoding against the same model through `llama_cpp.Llama`, greedy, interleaved.

    python -m tests.benchmarks.plain_decoding [--pairs 12] [--tokens 128]

Both read the same prompt tokens with the same number of threads and write until the number of tokens is reached. The
ratio is tokens per second of ours over theirs, pair by pair; above 1 is faster. Within a pair they take turns of a few
tokens, because the speed of a machine drifts within a second; reading the prompt is not timed.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Iterator

from llama_cpp import Llama

from engine.speculation.decoding.loop import Decoder
from engine.speculation.decoding.session import Session
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.values.config import SamplingSettings, TargetSettings
from engine.values.stop_signal import StopSignal

PROMPTS = (
    "Tell me a long story about a lighthouse keeper.",
    "Explain how a bicycle stays upright.",
    "Write a Python function that sorts a list of names, and explain it.",
    "Describe a walk through a forest in autumn.",
)
_CONTEXT_SIZE = 2048
_TURN = 8  # tokens


def _ours(target: LlamaCppTarget, tokens: list[int]) -> Iterator[int]:
    target.roll_back(0)
    session = Session(target)
    rows = session.read(tokens, StopSignal())
    rounds = Decoder(target, session, SamplingSettings(temperature=0)).rounds(rows, StopSignal())
    return itertools.chain.from_iterable(rounds)


def _theirs(llama: Llama, tokens: list[int]) -> Iterator[int]:
    llama.reset()  # type: ignore[no-untyped-call]
    return iter(llama.generate(tokens, temp=0.0, reset=True))


def _race(ours: Iterator[int], theirs: Iterator[int], num_tokens: int) -> tuple[float, float, bool]:
    """Seconds of each for the same number of tokens, taking turns, and whether the tokens were the same."""
    runs = {"ours": ours, "theirs": theirs}
    seconds = dict.fromkeys(runs, 0.0)
    written: dict[str, list[int]] = {name: [next(run)] for name, run in runs.items()}  # reads the prompt
    order = list(runs)
    while len(written["ours"]) < num_tokens:
        for name in order:
            began = time.perf_counter()
            written[name] += itertools.islice(runs[name], _TURN)
            seconds[name] += time.perf_counter() - began
        order.reverse()
    return seconds["ours"], seconds["theirs"], written["ours"] == written["theirs"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=128)
    options = parser.parse_args()

    path = starter_path()
    target = LlamaCppTarget.load(path, "starter", TargetSettings(_CONTEXT_SIZE), lambda _progress: None, StopSignal())
    threads = target.description.threads
    # Flash attention is llama.cpp's own choice and ours, but off by default in Llama: with it both compute the same.
    llama = Llama(
        str(path), n_ctx=_CONTEXT_SIZE, n_threads=threads, n_threads_batch=threads, flash_attn=True, verbose=False
    )
    prompts = [target.tokenize(f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n") for prompt in PROMPTS]
    ratios, num_identical = [], 0
    for pair in range(-1, options.pairs):  # the first pair warms up
        tokens = prompts[pair % len(prompts)]
        ours_s, theirs_s, identical = _race(_ours(target, tokens), _theirs(llama, tokens), options.tokens)
        if pair < 0:
            continue
        ratios.append(theirs_s / ours_s)
        num_identical += identical
        speeds = [options.tokens / seconds for seconds in (ours_s, theirs_s)]
        print(f"pair {pair + 1:2}: ours {speeds[0]:6.1f} tok/s   Llama {speeds[1]:6.1f} tok/s   ratio {ratios[-1]:.3f}")
    print(
        f"median ratio {statistics.median(ratios):.3f} (lowest {min(ratios):.3f}, highest {max(ratios):.3f}) over "
        f"{options.pairs} pairs of {options.tokens} tokens, {threads} threads; the same text in {num_identical}"
    )
    target.close()
    llama.close()


if __name__ == "__main__":
    main()
