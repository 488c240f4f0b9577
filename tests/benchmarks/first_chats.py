"""The first chats of a new user: how many replies are slower than plain, and whether Speed agrees with `bench`.

    python -m tests.benchmarks.first_chats FILE.jsonl [FILE.jsonl …] [--chats 60] [--seed 7] [--max-tokens 256]

Prompts are drawn from the files, all tasks in turn (`tests.benchmarks.draw`), and each begins a chat of its own, one
after the other, in an engine on an empty folder, set as the app sets it. Prints the lines that the app's log has on
slow replies, and what the page Speed shows of all of them, by task and together, beside `bench` on the same prompts,
sampled alike; `bench` forgets one prompt before the next. Exits 0 if at most 3 of 60 replies are logged, and the ratio
of the page is within 5 % of that of `bench`.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from engine import (
    STARTER,
    BenchOrder,
    Engine,
    EngineConfig,
    ReplySettings,
    StopSignal,
    TargetSettings,
    open_bench,
    open_repository,
)
from engine.lab.measuring.order import AUTO, PLAIN
from engine.values.config import SamplingSettings
from engine.values.events import ReplyFinished, TargetReady
from engine.values.history import Tally, total
from engine.values.orders import Send
from engine.values.replies import ReplyStatistics
from engine.values.speed import SLOWER
from engine.values.targets import LoadOrder
from tests.benchmarks.draw import draw, read_sources
from tests.fakes.listener import EventQueue

MOST_SLOW = 3 / 60  # of the replies
BAR = 0.05  # between the page and `bench`
_LOGGER = "slipstream.chat"


@contextmanager
def logged() -> Iterator[list[str]]:
    """What the log of the app gets meanwhile on replies."""
    lines: list[str] = []
    handler, logger = logging.Handler(logging.WARNING), logging.getLogger(_LOGGER)
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)


def answer(folder: Path, target: str, prompts: Sequence[str], settings: ReplySettings) -> list[ReplyStatistics]:
    events, statistics = EventQueue(), []
    engine = Engine(EngineConfig(folder), events)
    try:
        engine.ask(engine.target.load, LoadOrder(target, TargetSettings()))
        events.wait_for(TargetReady)
        for prompt in prompts:
            engine.ask(engine.chat.answer, Send(prompt, None, settings)).result(600)
            found = events.wait_for(ReplyFinished).message.statistics
            assert found is not None
            statistics.append(found)
    finally:
        engine.close()
    return statistics


def shown_by_page(folder: Path) -> Tally:
    repository = open_repository(EngineConfig(folder))
    try:
        return total(portion.tally for portion in repository.read_history().days)
    finally:
        repository.close()


def benched(order: BenchOrder) -> Mapping[str, object]:
    """The figures of `auto`."""
    with tempfile.TemporaryDirectory() as folder:
        measurement = open_bench(EngineConfig(Path(folder)), order, StopSignal())
        try:
            report = measurement.run(StopSignal())
        finally:
            measurement.close()
    modes = report["modes"]
    assert isinstance(modes, dict)
    figures = modes[AUTO]
    assert isinstance(figures, dict)
    return figures


def is_met(num_replies: int, num_logged: int, page: float, bench: float) -> bool:
    return num_logged <= MOST_SLOW * num_replies and abs(page / bench - 1) <= BAR


def main() -> int:
    usual = SamplingSettings()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--chats", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--temperature", type=float, default=usual.temperature)
    parser.add_argument("--target", default=STARTER)
    arguments = parser.parse_args()
    drawn = draw(read_sources(arguments.files, "task"), arguments.chats, arguments.seed, even=True)
    lines = [json.loads(line) for line in drawn]
    for line in lines:
        del line["turns"][1:]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prompts.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        order = BenchOrder(
            arguments.target,
            file,
            modes=(PLAIN, AUTO),
            max_tokens=arguments.max_tokens,
            temperature=arguments.temperature,
            seed=arguments.seed,
        )
        with logged() as slow:
            statistics = answer(
                Path(folder) / "data", arguments.target, [line["turns"][0] for line in lines], order.reply_settings
            )
        for place, (line, reply) in enumerate(zip(lines, statistics, strict=True), 1):
            print(
                f"{place:3} {line['task']:12} {reply.reply_tokens:5} tokens, {reply.ratio:.3f} by counts, "
                f"{reply.num_accepted} of {reply.num_drafted} accepted{', repeats itself' if reply.repeats else ''}"
            )
        for each in slow:
            print(f"logged: {each}")
        page, bench = shown_by_page(Path(folder) / "data"), benched(order)
    speedup, ratios = page.speedup, bench["ratio_by_counts"]
    assert speedup is not None
    assert isinstance(ratios, dict)
    print(
        f"{len(slow)} of {len(lines)} replies logged below {SLOWER} of plain (at most {MOST_SLOW:.0%}); "
        f"the page counts {page.num_slow} slow ones, and leaves out {page.num_repeating} that repeated themselves"
    )
    print(
        f"ratio: page {speedup.ratio:.3f} ± {speedup.error:.3f}, bench {ratios['median']:.3f} by counts, "
        f"{speedup.ratio / ratios['median'] - 1:+.1%} (at most {BAR:.0%}); worst: page {min(page.ratios):.3f}, bench "
        f"{ratios['worst']:.3f}"
    )
    print(f"tokens per round: page {page.tokens_per_round:.3f}, bench {bench['tokens_per_round']:.3f}")
    return 0 if is_met(len(lines), len(slow), speedup.ratio, ratios["median"]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
