"""`slipstream bench` and `slipstream replay`: measure the ways of decoding against each other and show the figures."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

import engine
from app.commands.options import (
    BodyOption,
    DrafterCostOption,
    DrafterDeviceOption,
    DrafterOption,
    DraftLengthOption,
    LengthOption,
    MeasuredTargetOption,
    MemoryOption,
    PassCostsOption,
    ProfileOption,
    ReportOption,
    SeedOption,
    TeachingOption,
    TemperatureOption,
)
from app.commands.terminal import INTERRUPTED, chosen_drafter, progress_bar, stopped_by_ctrl_c
from engine.values.config import AUTOMATIC, STARTER, SpeculationSettings, data_dir
from engine.values.errors import SettingInvalid


def bench(
    prompts: Annotated[
        Path, typer.Option("--prompts", metavar="F.jsonl", help="Lines of {id, turns}, or of {id, prompt, response}.")
    ],
    target: MeasuredTargetOption = STARTER,
    body: BodyOption = None,
    limit: Annotated[int | None, typer.Option(help="Ask only the first N prompts.")] = None,
    modes: Annotated[
        str,
        typer.Option(
            help="Ways of decoding: plain; auto, as the app does; chain, the same without branches; "
            "auto-without-lookahead, the same without Lookahead; neural, drafting "
            "in every round; tree, the same with branches; medusa and medusa-tree, the same of heads; brought, the "
            "same of the drafter made for the model; self, of a copy of the model with fewer layers; recall or "
            "lookahead alone. plain,plain,… measures plain against itself as plain-2: that much is the machine's noise."
        ),
    ] = "plain,auto",
    profile_file: ProfileOption = None,
    draft_length: DraftLengthOption = None,
    max_tokens: LengthOption = 128,
    temperature: TemperatureOption = 0.0,
    seed: SeedOption = 0,
    report: ReportOption = None,
    drafter: DrafterOption = AUTOMATIC,
    drafter_device: DrafterDeviceOption = None,
    merge: Annotated[
        str, typer.Option(help="on, or off: draft only tokens that are equal in both vocabularies.")
    ] = "on",
    teaching: TeachingOption = False,
    memory: MemoryOption = False,
    drafter_cost: DrafterCostOption = "0.075",
    pass_costs: PassCostsOption = None,
) -> None:
    """Measure how fast a model writes, prompt by prompt, in several ways of decoding.

    Example: slipstream bench --target starter --prompts prompts.jsonl --limit 20 --modes plain,auto
    """
    if merge not in ("on", "off"):
        raise typer.BadParameter("Merging is either on or off.", param_hint="--merge")
    order = engine.BenchOrder(
        target=target,
        body=body,
        prompts=prompts,
        limit=limit,
        modes=engine.BenchOrder.parse_modes(modes),
        max_tokens=max_tokens,
        temperature=temperature,
        seed=seed,
        draft_length=draft_length,
        profile=profile_file,
        costs=engine.SimulatedCosts.parse(drafter_cost, pass_costs or "1"),
        counts=pass_costs is not None,
        speculation=SpeculationSettings(
            drafter=chosen_drafter(drafter, data_dir()), device=drafter_device, merge=merge == "on"
        ),
        teaches=teaching,
        remembers=memory,
    )
    _measure(order, report)


def replay(
    prompts: Annotated[
        Path, typer.Option("--prompts", metavar="F.jsonl", help="A user's chats, in order: lines as of `bench`.")
    ],
    target: MeasuredTargetOption = STARTER,
    body: BodyOption = None,
    limit: Annotated[int | None, typer.Option(help="Play only the first N chats.")] = None,
    window: Annotated[int, typer.Option(help="Replies of a window, whose figures are shown separately.")] = 25,
    mode: Annotated[
        str, typer.Option(help="auto, as the app does; neural, drafting in every round; recall or lookahead alone.")
    ] = "auto",
    shift: Annotated[
        Path | None, typer.Option("--shift", metavar="F2.jsonl", help="Then go on with these, of another kind.")
    ] = None,
    profile_file: ProfileOption = None,
    draft_length: DraftLengthOption = None,
    max_tokens: LengthOption = 128,
    temperature: TemperatureOption = 0.0,
    seed: SeedOption = 0,
    teaching: TeachingOption = True,
    memory: MemoryOption = True,
    learning: Annotated[bool, typer.Option(help="--no-learning: neither of both, as a control.")] = True,
    report: ReportOption = None,
    drafter: DrafterOption = AUTOMATIC,
    drafter_cost: DrafterCostOption = "0.075",
    pass_costs: PassCostsOption = None,
) -> None:
    """Play a user's chats in order, learning as it goes, and show how the figures change. Nothing of it is kept.

    Example: slipstream replay --target starter --prompts chats.jsonl --window 20
    """
    order = engine.BenchOrder(
        target=target,
        body=body,
        prompts=prompts,
        limit=limit,
        modes=("plain", mode),
        profile=profile_file,
        shift=shift,
        draft_length=draft_length,
        max_tokens=max_tokens,
        temperature=temperature,
        seed=seed,
        costs=engine.SimulatedCosts.parse(drafter_cost, pass_costs or "1"),
        counts=pass_costs is not None,
        speculation=SpeculationSettings(drafter=chosen_drafter(drafter, data_dir())),
        teaches=teaching and learning,
        remembers=memory and learning,
        window=window,
    )
    _measure(order, report)


def _measure(order: engine.BenchOrder, out: Path | None) -> None:
    """Prints a table, and writes the whole report to `out`. Ctrl+C ends it early, with the figures so far. Raises what
    reading the prompts, loading the target and answering raise."""
    from rich.progress import MofNCompleteColumn, TimeElapsedColumn

    from app.commands.bench_table import print_report

    config = engine.EngineConfig(data_dir(), order.speculation)
    if out is not None:
        _check_writable(out)
    with (
        stopped_by_ctrl_c() as stop,
        closing(engine.open_bench(config, order, stop)) as measurement,
        progress_bar(MofNCompleteColumn(), TimeElapsedColumn()) as progress,
    ):
        task = progress.add_task("answering", total=measurement.num_questions)
        report = measurement.run(stop, lambda _id: progress.advance(task))
    print_report(report)
    if out is not None:
        _write(out, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    if report["interrupted"]:
        sys.exit(INTERRUPTED)


def _check_writable(out: Path) -> None:
    """Checks that before measuring for hours. Raises SettingInvalid."""
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
