"""Draws prompts or recorded replies for a measurement, from all sources.

    python -m tests.benchmarks.draw OUT.jsonl FILE.jsonl [FILE.jsonl …] --count 60 --seed 7 [--even KIND | --person]

A line of a file is `{"id", "source", "task", "turns"}` or `{"id", "source", "task", "prompt", "response"}`; what is
drawn is written as it was read, in random order. Every line is as likely as any other; with `--even`, the sources (or
tasks) of every file take turns until there are enough: their numbers differ by one at most, except where one has no
more. With `--person` they come as one person's chats over weeks do: some of one subject, then of another, and every
subject comes back. The same files, count and seed draw the same lines on any machine. The result is for `slipstream
bench --prompts OUT.jsonl`, recorded replies for `--target trace:VOCAB.gguf` beside it.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_VISIT = 2, 8  # lines


def read_sources(paths: Sequence[Path], kind: str = "source") -> dict[tuple[str, str], list[str]]:
    """The lines of these files, by the name of the file and what the line says of `kind`."""
    sources: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            for line in map(str.strip, lines):
                if line:
                    sources[path.name, json.loads(line)[kind]].append(line)
    return dict(sources)


def draw(sources: Mapping[tuple[str, str], Sequence[str]], count: int, seed: int, even: bool = False) -> list[str]:
    """`count` lines, or all of them where there are fewer; with `even`, as many of each source as of any other."""
    dice = random.Random(seed)
    if not even:
        lines = [line for name in sorted(sources) for line in sources[name]]
        return dice.sample(lines, min(count, len(lines)))
    shuffled = [dice.sample(sources[name], len(sources[name])) for name in sorted(sources)]
    dice.shuffle(shuffled)  # who gives one more than others is chance, too
    drawn = [line for line, _ in zip(_in_turn(shuffled), range(count), strict=False)]
    return dice.sample(drawn, len(drawn))


def in_visits(sources: Mapping[tuple[str, str], Sequence[str]], count: int, seed: int) -> list[str]:
    """`count` lines, or all of them where there are fewer, in the order in which one person might ask: some of a
    source in a row, then of another one, which is as likely as it has lines left."""
    dice = random.Random(seed)
    piles = [dice.sample(sources[name], len(sources[name])) for name in sorted(sources)]
    drawn: list[str] = []
    while len(drawn) < count and any(piles):
        (pile,) = dice.choices(piles, [len(pile) for pile in piles])
        length = min(dice.randint(*_VISIT), len(pile), count - len(drawn))
        drawn += [pile.pop() for _ in range(length)]
    return drawn


def _in_turn(piles: Sequence[Sequence[str]]) -> Iterator[str]:
    for place in range(max(map(len, piles), default=0)):
        yield from (pile[place] for pile in piles if place < len(pile))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--even", nargs="?", const="source", choices=("source", "task"), help="as many of each as of any other"
    )
    parser.add_argument("--person", action="store_true", help="as one person's chats over weeks")
    arguments = parser.parse_args()
    sources = read_sources(arguments.files, arguments.even or "source")
    if arguments.person:
        drawn = in_visits(sources, arguments.count, arguments.seed)
    else:
        drawn = draw(sources, arguments.count, arguments.seed, arguments.even is not None)
    arguments.out.write_text("".join(line + "\n" for line in drawn), "utf-8")
    print(f"{len(drawn)} lines of {len(sources)} kinds in {arguments.out}")


if __name__ == "__main__":
    main()
