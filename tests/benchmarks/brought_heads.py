"""Heads that models bring: what they draft here and in llama-server, and that replies follow the target's distribution.

    python -m tests.benchmarks.brought_heads [--server LLAMA_SERVER | --sources LLAMA_CPP] [--prompts 50]
        [--max-tokens 64] [--depth 4] [--rounds 20000] [--temperature 0.8]

The models are tiny ones of random weights (`tests/fakes/guessing_heads.py`), the same every time. Each method drafts
greedily to one depth after random prompts, with llama-server's `--spec-type` and here. To be the same: how many tokens
were drafted and accepted; the drafted tokens, as far as the server's log names them (it does not for DFlash 2); and the
replies, which are also to be those of plain decoding, unless two tokens are nearly tied where they part.

Without a server, only the replies are compared with plain decoding. `--sources` builds one from the folder
`vendor/llama.cpp` of llama-cpp-python's sources, which takes some ten minutes of two cores. Then chi-square of the
first two tokens of ROUNDS sampled rounds, against their distribution. Exits with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.speculation.model.interface import FollowingHeads
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.values.config import SamplingSettings, TargetSettings
from engine.values.stop_signal import StopSignal
from tests.benchmarks.llama_server import Server, running
from tests.fakes.guessing_heads import VOCABULARY, all_heads
from tests.unit.engine.speculation.proposers.test_brought import METHODS, PROMPT, Rounds, proposer_for

GO = StopSignal()
_BEGUN = b"| new prompt, "  # in the log, before what a prompt brings
# Of the drafted tokens: passes have other sizes there, too. After a near-tie a draft may end elsewhere, and all
# that follow begin at other places.
_ALIKE = 0.99
_TIED = 0.05  # of logits, which passes of other sizes compute a little otherwise
CONTEXT = 256
_LOGGED = re.compile(rb"draft candidate +0, pos +\d+: +(\d+) \(")
_ONLY_WHAT_IS_NEEDED = (
    *("LLAMA_OPENSSL", "LLAMA_BUILD_TESTS", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_APP", "LLAMA_BUILD_UI"),
    *("LLAMA_USE_PREBUILT_UI", "LLAMA_ALL_WARNINGS", "LLAMA_CURL", "MTMD_VIDEO"),
)


@dataclass(slots=True)
class Drafted:
    """What came of all prompts."""

    replies: list[list[int]] = field(default_factory=list)
    drafts: list[list[int]] = field(default_factory=list)  # all drafted tokens of each prompt; none at all: not known
    num_checked: int = 0
    num_accepted: int = 0


def build_server(sources: Path, folder: Path) -> Path:
    """Builds a llama-server. Raises CalledProcessError."""
    options = [f"-D{name}=OFF" for name in _ONLY_WHAT_IS_NEEDED]
    commands = (
        ["cmake", "-S", str(sources), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release", *options],
        ["cmake", "--build", str(folder), "--target", "llama-server", "--parallel", "2"],
    )
    for command in commands:
        subprocess.run(["nice", *command], check=True, stdout=subprocess.DEVNULL)
    return folder / "bin" / "llama-server"


def prompts(count: int) -> list[list[int]]:
    dice = np.random.default_rng(11)
    return [[1, *dice.integers(3, VOCABULARY, int(dice.integers(4, 60))).tolist()] for _ in range(count)]


def by_server(server: Server, log: Path, asked: Sequence[list[int]], max_tokens: int) -> Drafted:
    found = Drafted()
    for prompt in asked:
        answer = server.complete(prompt, max_tokens)
        tokens, timings = answer["tokens"], answer["timings"]
        assert isinstance(tokens, list)
        assert isinstance(timings, dict)
        found.replies.append(tokens)
        found.num_checked += timings.get("draft_n", 0)
        found.num_accepted += timings.get("draft_n_accepted", 0)
    parts = log.read_bytes().split(_BEGUN)[1:]
    drafts = [[int(token) for token in _LOGGED.findall(part)] for part in parts]
    found.drafts = drafts if any(drafts) else []
    return found


def by_us(
    target: LlamaCppTarget, heads: FollowingHeads | None, asked: Sequence[list[int]], most: int, depth: int
) -> Drafted:
    """Greedy rounds as llama-server has them: a draft has one depth, and what is too much of it is left unchecked.
    Without heads: plain decoding."""
    found = Drafted()
    ends = target.vocabulary.end_of_generation
    for prompt in asked:
        target.roll_back(0)
        found.drafts.append([])
        reply = [int(target.evaluate(prompt, 1, GO)[-1].argmax())]
        while len(reply) < most and reply[-1] not in ends:
            draft = []
            if heads is not None and most - len(reply) > 1:
                draft = [*guesses(heads, reply[-1], min(depth, heads.max_guesses or depth))]
                found.drafts[-1] += draft
                draft = draft[: most - len(reply) - 1]
            held = target.num_held
            best = target.evaluate([reply[-1], *draft], 1 + len(draft), GO).argmax(axis=1).tolist()
            accepted = next((place for place, token in enumerate(draft) if token != best[place]), len(draft))
            written = best[: accepted + 1]
            target.roll_back(held + 1 + accepted)
            found.num_checked += len(draft)
            end = next((place for place, token in enumerate(written) if token in ends), len(written))
            found.num_accepted += min(accepted, end + 1)
            reply += written[: end + 1]
        found.replies.append(reply)
    return found


def guesses(heads: FollowingHeads, pending: int, depth: int) -> Iterator[int]:
    row = heads.start(pending, depth)
    for place in range(depth):
        guess = int(row.argmax())
        yield guess
        if place + 1 < depth:
            row = heads.next(guess)


def opened(path: Path) -> LlamaCppTarget:
    settings = TargetSettings(context_size=CONTEXT, threads=1, gpu_layers=0)
    return LlamaCppTarget.load(path, "tiny", settings, lambda _: None, GO, with_heads=True)


class Comparison:
    """One method on its tiny model."""

    def __init__(self, name: str, folder: Path, options: argparse.Namespace) -> None:
        self._name, self._folder, self._options = name, folder, options
        self._files = all_heads(folder)
        self._asked = prompts(options.prompts)

    def drafts(self, server: Path | None) -> bool:
        """Prints a line of a table; True if all is the same."""
        options, (path, head) = self._options, self._files[self._name]
        with closing(opened(path)) as target:
            plain = by_us(target, None, self._asked, options.max_tokens, 0)
            proposer = proposer_for(self._name, target, self._files)
            heads = proposer._brought.heads
            target.lead(heads)
            began = time.perf_counter()
            ours = by_us(target, heads, self._asked, options.max_tokens, options.depth)
            seconds = time.perf_counter() - began
        theirs = ours if server is None else self._of_server(server, path, head)
        logged, alike = theirs.drafts or ours.drafts, sum(map(list.__eq__, ours.replies, theirs.replies))
        gaps = [self._gap(*pair) for pair in zip(self._asked, plain.replies, ours.replies, strict=True)]
        as_plain = f"{gaps.count(0.0)}, widest gap {max(gaps):.3f}"
        counts = (ours.num_checked, ours.num_accepted), (theirs.num_checked, theirs.num_accepted)
        named = "" if theirs.drafts else " (not logged)"
        num_drafted = sum(map(len, ours.drafts))
        same = sum(sum(map(int.__eq__, *pair)) for pair in zip(logged, ours.drafts, strict=True))
        print(
            f"| {self._name} | {as_plain} | {alike} of {len(self._asked)} | {counts[1][0]} / {counts[0][0]} | "
            f"{counts[1][1]} / {counts[0][1]} | {same} of {num_drafted}"
            f"{named} | {seconds:.1f} s |",
            flush=True,
        )
        are_counts_alike = all(abs(one - other) <= (1 - _ALIKE) * one for one, other in zip(*counts, strict=True))
        is_alike = same >= _ALIKE * num_drafted and are_counts_alike
        return is_alike and alike == len(self._asked) and max(gaps) < _TIED

    def _gap(self, prompt: list[int], plain: list[int], reply: list[int]) -> float:
        """How far apart the logits of two tokens are by which a reply parts from plain decoding; 0 if it does not."""
        place = next((place for place, pair in enumerate(zip(plain, reply, strict=False)) if pair[0] != pair[1]), None)
        if place is None:
            return 0.0
        with closing(opened(self._files[self._name][0])) as target:
            row = target.evaluate([*prompt, *plain[:place]], 1, GO)[-1]
            return abs(float(row[plain[place]] - row[reply[place]]))

    def _of_server(self, server: Path, path: Path, head: Path | None) -> Drafted:
        log, options = self._folder / f"{self._name}.log", self._options
        more = ["--spec-draft-n-max", options.depth, "--no-spec-draft-backend-sampling", "--no-warmup", "-v"]
        more += [] if head is None else ["--spec-draft-model", head]
        with running(server, path, self._name.split()[0].rstrip("2"), 1, CONTEXT, log, more) as ready:
            return by_server(ready, log, self._asked, options.max_tokens)

    def distribution(self) -> bool:
        """Prints chi-square of sampled rounds; True if it may be luck."""
        options = self._options
        sampling = SamplingSettings(temperature=options.temperature, top_k=20, top_p=1, min_p=0)
        path = self._files[self._name][0]
        with closing(opened(path)) as target, closing(opened(path)) as judge:
            proposer = proposer_for(self._name, target, self._files)
            target.lead(proposer._brought.heads)
            target.evaluate(PROMPT[:-1], 1, GO)
            rounds = Rounds(judge, proposer, sampling)
            statistic = rounds.chi_square(options.rounds, seed=1)
        print(
            f"{self._name}: {options.rounds:,} rounds at temperature {options.temperature:g}, "
            f"{rounds.num_accepted / options.rounds:.2f} drawn tokens accepted in each; chi-square {statistic:.1f} "
            f"with {rounds.freedom} degrees of freedom (once in ten thousand times it is above {rounds.bound:.1f})",
            flush=True,
        )
        return statistic < rounds.bound


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", type=Path, help="a llama-server of the sources that are in use")
    parser.add_argument("--sources", type=Path, help="the folder of llama.cpp's sources, to build one")
    parser.add_argument("--prompts", type=int, default=50)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--temperature", type=float, default=0.8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        server = options.server
        if server is None and options.sources is not None:
            server = build_server(options.sources, folder / "build")
        compared = [Comparison(name, folder, options) for name in METHODS]
        print(
            "| method | replies as plain | as the server's | drafted (server / ours) | accepted | drafted alike | |\n"
            "|---|---|---|---|---|---|---|"
        )
        are_same = [each.drafts(server) for each in compared]
        are_same += [each.distribution() for each in compared]
    sys.exit(not all(are_same))


if __name__ == "__main__":
    main()
