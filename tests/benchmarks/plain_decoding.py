"""Plain decoding against the same model through `llama_cpp.Llama`, greedy, interleaved.

    python -m tests.benchmarks.plain_decoding [--pairs 12] [--tokens 128]

Both read the same prompt tokens with the same number of threads and write until the number of tokens is reached. The
ratio is tokens per second of ours over theirs, pair by pair; above 1 is faster. Prompt reading is timed apart.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator

from llama_cpp import Llama

from engine.config import SamplingSettings, TargetSettings
from engine.decoding import Decoder
from engine.session import Session
from engine.stop_signal import StopSignal
from engine.target.llama_cpp import LlamaCppTarget
from engine.targets import starter_path

PROMPTS = (
    "Tell me a long story about a lighthouse keeper.",
    "Explain how a bicycle stays upright.",
    "Write a Python function that sorts a list of names, and explain it.",
    "Describe a walk through a forest in autumn.",
)
_CONTEXT_SIZE = 2048


def _ours(target: LlamaCppTarget, tokens: list[int]) -> Iterator[int]:
    target.roll_back(0)
    session = Session(target)
    rows, _ = session.read(tokens, StopSignal())
    return Decoder(session, SamplingSettings(temperature=0)).rounds(rows, StopSignal())


def _theirs(llama: Llama, tokens: list[int]) -> Iterator[int]:
    llama.reset()
    return iter(llama.generate(tokens, temp=0.0, reset=True))


def _time(begin: Callable[[], Iterator[int]], num_tokens: int) -> tuple[float, list[int]]:
    """Seconds from the first token to the last, and the tokens."""
    rounds = begin()
    written = [next(rounds)]
    began = time.perf_counter()
    while len(written) < num_tokens:
        written.append(next(rounds))
    return time.perf_counter() - began, written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=128)
    options = parser.parse_args()

    path = starter_path()
    target = LlamaCppTarget.load(path, "starter", TargetSettings(_CONTEXT_SIZE), lambda _progress: None, StopSignal())
    threads = target.description.threads
    # Flash attention is llama.cpp's own choice and ours, but off by default in Llama: on, both compute the very same.
    llama = Llama(
        str(path), n_ctx=_CONTEXT_SIZE, n_threads=threads, n_threads_batch=threads, flash_attn=True, verbose=False
    )
    prompts = [target.tokenize(f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n") for prompt in PROMPTS]
    ratios, identical = [], 0
    for pair in range(-1, options.pairs):  # the first pair warms up
        tokens = prompts[pair % len(prompts)]
        runs = {
            "ours": lambda tokens=tokens: _ours(target, tokens),
            "theirs": lambda tokens=tokens: _theirs(llama, tokens),
        }
        order = ("ours", "theirs") if pair % 2 else ("theirs", "ours")
        results = {name: _time(runs[name], options.tokens) for name in order}
        if pair < 0:
            continue
        (ours_s, ours), (theirs_s, theirs) = results["ours"], results["theirs"]
        ratios.append(theirs_s / ours_s)
        identical += ours == theirs
        speeds = [(options.tokens - 1) / seconds for seconds in (ours_s, theirs_s)]
        print(f"pair {pair + 1:2}: ours {speeds[0]:6.1f} tok/s   Llama {speeds[1]:6.1f} tok/s   ratio {ratios[-1]:.3f}")
    print(
        f"median ratio {statistics.median(ratios):.3f} (lowest {min(ratios):.3f}, highest {max(ratios):.3f}) over "
        f"{options.pairs} pairs of {options.tokens} tokens, {threads} threads; the same text in {identical}"
    )
    target.close()
    llama.close()


if __name__ == "__main__":
    main()
