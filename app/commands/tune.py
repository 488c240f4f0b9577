"""`slipstream models tune`: what a model costs on this machine, and whether another quantization of its weights is
faster."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import engine
from app.commands.terminal import in_gib, json_line, progress_bar, stopped_by_ctrl_c, wide_console
from engine.values.config import STARTER, EngineConfig, data_dir
from engine.values.errors import TargetMissing
from engine.values.places import expanded

if TYPE_CHECKING:
    from rich.table import Table

    from engine.values.quantizations import QuantizationAdvice, QuantizationFigures, TuneProgress, TuneReport

_DOING = {"making": "making {form}", "writing": "writing replies", "timing": "timing {form}", "comparing": "comparing"}


def tune_model(
    name: Annotated[str, typer.Argument(help="`starter`, a model in the library, or the path of a GGUF file.")],
    quantization: Annotated[
        str | None,
        typer.Option(
            "--form", metavar="Q8_0,…", help="Compare with these forms of the weights instead of the usual ones."
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the forms that are made, beside the model and in the library.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Of the starter: decide in seconds, unless that was done before.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Of the starter: use it as it was installed from now on.")
    ] = False,
    own: Annotated[
        bool, typer.Option("--own-prompts", help="Compare replies to what you asked last, as far as there is enough.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
) -> None:
    """Measure what a model costs on this machine, and whether another quantization of its weights would write faster.

    Other quantizations are made from its file for that, and removed again. The starter is then used in the fastest one
    whose replies are practically the same; with any other model nothing changes by itself.

    Example: slipstream models tune starter
    """
    quantizations = None if quantization is None else tuple(each.strip().upper() for each in quantization.split(","))
    if (quick or undo) and (name != STARTER or keep or quantization is not None or (quick and undo)):
        raise typer.BadParameter("It is for the starter, and goes with no other option.", param_hint="--quick, --undo")
    if undo:
        _undo()
    elif name == STARTER and not keep:
        _tune_starter(quantizations, quick, own, as_json)
    else:
        _tune(_path_of(name), quantizations, keep, own, as_json)


def _undo() -> None:
    with engine.open_tuning(EngineConfig(data_dir())) as tuning:
        tuning.reset_starter()
    print("The starter is used as it was installed; `slipstream models tune starter` thinks that over again.")


def _tune(path: Path, quantizations: tuple[str, ...] | None, keep: bool, own: bool, as_json: bool) -> None:
    with _shown() as (stop, show), engine.open_tuning(EngineConfig(data_dir())) as tuning:
        report, kept = tuning.tune(path, quantizations, keep, own, stop, show)
    _show(path.stem, report, as_json)
    if not as_json:
        print(*_advice(report, str(path), kept), sep="\n")


def _tune_starter(quantizations: tuple[str, ...] | None, quick: bool, own: bool, as_json: bool) -> None:
    with _shown() as (stop, show), engine.open_tuning(EngineConfig(data_dir())) as tuning:
        quantization, report = tuning.tune_starter(
            quantizations, is_quick=quick, again=not quick, own_prompts=own, stop=stop, progress=show
        )
    if report is not None:
        _show(STARTER, report, as_json)
    if as_json:
        return
    if report is not None and not quantization:
        print(*_advice(report, STARTER, kept=()), sep="\n")
    if quantization:
        print(
            f"The starter is used in {quantization} from now on; `slipstream models tune {STARTER} --undo` takes that "
            "back."
        )
    elif report is None:
        print("The starter stays as it was installed; that was decided before.")
    else:
        print("The starter stays as it was installed: nothing that is practically the same is clearly faster here.")


def _path_of(name: str) -> Path:
    """The file of the starter, of a model in the library, or of any path. Raises TargetMissing."""
    if name == STARTER:
        return engine.starter_path()
    with engine.open_library(EngineConfig(data_dir())) as library:
        named = next((target.path for target in library.list() if target.name == name), None)
    path = expanded(name).absolute() if named is None else named
    if not path.is_file():
        raise TargetMissing(f"There is no model {name}; `slipstream models list` shows those that are in the library.")
    return path


@contextmanager
def _shown() -> Iterator[tuple[engine.StopSignal, Callable[[TuneProgress], None]]]:
    """The signal of Ctrl+C and a callback that shows the progress."""
    with stopped_by_ctrl_c(says_so=True) as stop, progress_bar() as bar:
        task = bar.add_task("", total=1.0)

        def show(now: TuneProgress) -> None:
            bar.update(task, description=_DOING[now.step].format(form=now.quantization or "it"), completed=now.progress)

        yield stop, show


def _show(name: str, report: TuneReport, as_json: bool) -> None:
    if as_json:
        print(json_line({"model": name, **_figures(report)}))
        return
    console = wide_console()
    console.print(f"{name}, {report.threads} threads", markup=False, highlight=False)
    console.print(_table(report))


def _figures(report: TuneReport) -> dict[str, object]:
    advice = report.advice
    quantizations = (report.original, *report.quantizations)
    return {
        "build": report.build,
        "threads": report.threads,
        "measured_at": report.measured_at.isoformat(),
        "forms": [
            {
                **_named_form(each),
                "passes": {str(num_tokens): seconds for num_tokens, seconds in each.passes},
                "plain_tokens_per_s": each.plain_tokens_per_s,
            }
            for each in quantizations
        ],
        "advice": {**_named_form(advice), "faster": [_named_form(each) for each in report.faster]},
    }


def _named_form(measured: QuantizationFigures | QuantizationAdvice) -> dict[str, object]:
    """The fields, with the quantization under the key that scripts know."""
    found = asdict(measured)
    return {"form": found.pop("quantization"), **found}


def _table(report: TuneReport) -> Table:
    from rich.table import Table

    original = report.original
    sizes = [num_tokens for num_tokens, _ in original.passes]
    table = Table(box=None, pad_edge=False)
    table.add_column("form")
    columns = (
        "size",
        "tok/s",
        "V(1) ms",
        *(f"V({n})" for n in sizes[1:]),
        "plain",
        "drafting",
        "mean KL",
        "same token",
    )
    for column in columns:
        table.add_column(column, justify="right")
    for each in (original, *report.quantizations):
        seconds = dict(each.passes)
        table.add_row(
            f"{each.quantization} (as it is)" if each is original else each.quantization,
            in_gib(each.size_bytes),
            f"{each.plain_tokens_per_s:.1f}",
            f"{1000 * seconds[1]:.1f}",
            *(f"{seconds[n] / seconds[1]:.2f}" for n in sizes[1:]),
            *(f"{each.speeds_over(original)[place]:.2f}×" for place in (0, 1)),
            *_distance(each),
        )
    return table


def _distance(quantization: QuantizationFigures) -> tuple[str, str]:
    found = quantization.distance
    return ("", "") if found is None else (f"{found.mean_kl:.4f} ± {found.kl_error:.4f}", f"{found.equal_greedy:.0%}")


def _advice(report: TuneReport, name: str, kept: Sequence[Path]) -> list[str]:
    lines = [f"{each.quantization} would {_gain(each)}, {_nearness(report, each)}." for each in report.faster]
    if report.quantizations and not lines:
        lines.append("No other form that was measured is clearly faster here.")
    if not report.is_sure:
        lines.append("The machine was busy, so these speeds are uncertain; measure again when it is idle.")
    distances = [each.distance for each in report.quantizations if each.distance is not None]
    if distances:
        first = distances[0]
        whole = f"the {first.num_likeliest} likeliest tokens" if first.num_likeliest else "all tokens"
        asked = f", {first.num_own} of them to what you asked" if first.num_own else ""
        lines.append(f"Distances are means over {first.num_tokens:,} tokens of its own replies{asked}, by {whole}.")
    lines += [f"Kept and in the library: {path}" for path in kept]
    if report.faster and not kept:
        lines.append(
            f"To have it: slipstream models tune {shlex.quote(name)} --form {report.advice.quantization} --keep"
        )
    return lines


def _gain(advice: QuantizationAdvice) -> str:
    return f"write {advice.speed:.2f} times as fast, {advice.drafting_speed:.2f} times with drafts"


def _nearness(report: TuneReport, advice: QuantizationAdvice) -> str:
    found = next(each.distance for each in report.quantizations if each.quantization == advice.quantization)
    assert found is not None
    if advice.is_free:
        return "and its replies are practically the same"
    return f"but its replies differ: it finds the same token likeliest in {found.equal_greedy:.0%} of all places"
