"""`slipstream bench` and `slipstream replay`: measure the ways of decoding against each other and show the figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from app.commands.bench_table import print_report
from app.commands.interrupts import INTERRUPTED, stopped_by_ctrl_c
from engine import BenchOrder, EngineConfig, open_bench
from engine.errors import SettingInvalid


def bench(config: EngineConfig, order: BenchOrder, out: Path | None) -> None:
    """Prints a table, and writes the whole report to `out`. Ctrl+C ends it early, with the figures so far. Raises what
    reading the prompts, loading the target and answering raise."""
    if out is not None:
        _check_writable(out)
    with stopped_by_ctrl_c() as stop:
        measurement = open_bench(config, order, stop)
        try:
            with _progress() as progress:
                task = progress.add_task("answering", total=measurement.num_questions)
                report = measurement.run(stop, lambda _id: progress.advance(task))
        finally:
            measurement.close()
    print_report(report)
    if out is not None:
        _write(out, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    if report["interrupted"]:
        sys.exit(INTERRUPTED)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())


def _check_writable(out: Path) -> None:
    """Before hours of measuring, not after them."""
    is_new = not out.exists()
    try:
        out.open("a").close()
        if is_new:
            out.unlink()
    except OSError as error:
        raise SettingInvalid(
            f"The report cannot be written to {out} ({error.strerror}); name a file in a folder that exists."
        ) from error


def _write(out: Path, text: str) -> None:
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingInvalid(f"The report cannot be written to {out} ({error.strerror}); name another file.") from error
