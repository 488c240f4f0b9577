"""The figures of `slipstream bench` as a table in the terminal."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from app.commands.terminal import wide_console

_MOST_PLACES = 8  # of a draft that are shown
_SPREAD = ("median", "p10", "p90", "worst")


def print_report(report: dict[str, Any]) -> None:
    """`report` is what `engine.lab.measuring.report.make_report` makes."""
    console = wide_console()
    label = ", simulated: all seconds are computed from counts" if report["simulated"] else ""
    if (body := report["settings"].get("body")) is not None:
        label = f", in the time that passes of {body} take"
    console.print(f"{report['target']}{label}", markup=False, highlight=False)
    console.print(_summary(report))
    console.print(_speeds(report))
    console.print(_ratios(report))
    console.print(_times(report))
    if any(figures["by_task"] for figures in report["modes"].values()):
        console.print(_tasks(report))
    for mode, each in report.get("windows", {}).items():
        if mode != "plain":
            console.print(_windows(mode, each))
    for mode, each in report.get("learning", {}).items():
        console.print(_trials(mode, each))
    for line in _lines(report):
        console.print(line, markup=False, highlight=False)


def _summary(report: dict[str, Any]) -> Table:
    """What each mode is worth, and what it takes."""
    table = _table("mode", "tok/round", "ratio", "of attainable", "memory MB", "minutes to prepare")
    for mode, figures in report["modes"].items():
        ratios, best = figures["ratio_by_counts"], figures["attainable"]
        table.add_row(
            mode,
            f"{figures['tokens_per_round']:.3f}",
            f"{ratios['median']:.3f}" if ratios else "-",
            f"{best['share']:.0%}" if best else "-",
            f"{figures['prepared_mb']:.0f}",
            f"{figures['prepare_s'] / 60:.1f}",
        )
    return table


def _speeds(report: dict[str, Any]) -> Table:
    table = _table("mode", "prompts", "tokens", "tok/s", "tok/round", "accepted", "same")
    for mode, figures in report["modes"].items():
        accepted = f"{figures['accepted']}/{figures['drafted']}" if figures["drafted"] else "-"
        table.add_row(
            mode,
            str(figures["num_prompts"]),
            str(figures["tokens"]),
            f"{figures['tokens_per_s']:.2f}",
            f"{figures['tokens_per_round']:.3f}",
            accepted,
            "-" if figures["identical"] is None else str(figures["identical"]),
        )
    return table


def _ratios(report: dict[str, Any]) -> Table:
    """Each mode's speed over plain decoding: as measured, and from counts of passes, which leave out the machine's
    noise."""
    table = _table("ratio to plain", *_SPREAD, *(f"{name} by counts" for name in _SPREAD))
    for mode, figures in report["modes"].items():
        table.add_row(mode, *_spreads(figures))
    return table


def _spreads(figures: dict[str, Any]) -> list[str]:
    spreads = (figures["ratio_to_plain"], figures["ratio_by_counts"])
    return [f"{spread[name]:.3f}" if spread else "-" for spread in spreads for name in _SPREAD]


def _times(report: dict[str, Any]) -> Table:
    """Milliseconds for each token; own is what is neither the target's nor the drafter's."""
    parts = ("draft", "translate", "target", "accept", "other")
    table = _table("ms per token", *parts, "own", "own per round", "peak MB")
    for mode, figures in report["modes"].items():
        written = max(1, figures["written"])
        own = (figures["own_ms"][name] for name in ("per_token", "per_round"))
        table.add_row(
            mode,
            *(f"{figures['ms'][part] / written:.3f}" for part in parts),
            *("-" if figure is None else f"{figure:.3f}" for figure in own),
            f"{figures['peak_rss_mb']:.0f}",
        )
    return table


def _tasks(report: dict[str, Any]) -> Table:
    """Ratios to plain of each kind of prompt."""
    modes = [mode for mode in report["modes"] if mode != "plain"]
    table = _table("task", "mode", "prompts", *_SPREAD, *(f"{name} by counts" for name in _SPREAD))
    tasks = sorted({task for mode in modes for task in report["modes"][mode]["by_task"]})
    for task in tasks:
        for mode in modes:
            figures = report["modes"][mode]["by_task"][task]
            table.add_row(task, mode, str(figures["num_prompts"]), *_spreads(figures))
    return table


def _windows(mode: str, windows: list[dict[str, Any]]) -> Table:
    table = _table(f"{mode}: replies", "acceptance", "tok/round", "guessed", "ratio")
    for window in windows:
        figures = (window[name] for name in ("acceptance", "tokens_per_round", "guessed_share", "ratio_to_plain"))
        table.add_row(
            f"{window['from']}-{window['to']}", *("-" if figure is None else f"{figure:.3f}" for figure in figures)
        )
    return table


def _trials(mode: str, trials: list[dict[str, Any]]) -> Table:
    table = _table(f"{mode}: learned after", "original", "in use", "at full strength", "replies", "outcome")
    for trial in trials:
        figures = (f"{trial[name]:.3f}" for name in ("original", "in_use", "at_full_strength"))
        table.add_row(str(trial["after"]), *figures, str(trial["replies"]), trial["outcome"])
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


def _bar(ratios: dict[str, float], best: dict[str, Any] | None, pass_costs: dict[str, float]) -> str:
    """The figures reached, next to the best possible ones."""
    costs = ", ".join(f"V({rows}) {cost:.2f}" for rows, cost in pass_costs.items() if rows != "1")
    share = "" if best is None else f", {best['share_of_allowed']:.0%} of the {best['allowed']:.3f} that costs allow"
    return f"{ratios['median']:.3f} times plain, worst {ratios['worst']:.3f}{share}{f' ({costs})' if costs else ''}"


def _lines(report: dict[str, Any]) -> list[str]:
    lines = []
    for mode, figures in report["modes"].items():
        if report["simulated"]:
            lines.append(
                f"{mode}: own work took {figures['own_ms_measured']:.0f} ms really, which no figure above counts"
            )
        else:
            lines.append(f"{mode}: own overhead {figures['overhead_share']:.2%} of the time")
        if figures["by_place"]:
            places = ", ".join(f"{each['stood'] / each['checked']:.3f}" for each in figures["by_place"][:_MOST_PLACES])
            lines.append(f"{mode}: guesses that stood, of those reached: {places} (1st, 2nd, …)")
        if (step := figures["draft_step"]) is not None:
            lines.append(
                f"{mode}: a draft step took {step['ms']:.2f} ms, {step['share']:.3f} of a one-row pass of the target"
            )
        if (ratios := figures["ratio_to_plain"]) is not None and mode != "plain":
            lines.append(f"{mode}: {_bar(ratios, figures['attainable'], report['pass_costs'])}")
            if report["simulated"]:
                ratios = figures["ratio_with_reading"]
                lines.append(
                    f"{mode}: {ratios['median']:.3f} times plain, worst {ratios['worst']:.3f}, with the drafter's "
                    f"reading of prompts, {figures['drafter_prompt_s']:.2f} s"
                )
        if (best := figures["attainable"]) is not None:
            costs = ", ".join(f"V({rows}) {cost:.2f}" for rows, cost in best["pass_costs"].items())
            lines.append(
                f"{mode}: {best['share']:.0%} of the attainable {best['ratio']:.3f}, "
                f"{best['share_of_covered']:.0%} of {best['covered']:.3f} for the rounds with a guess "
                f"(acceptance {best['acceptance']:.3f}; {costs})"
            )
        gaps = [fork["logit_gap"] for fork in figures["forks"] if fork["logit_gap"] is not None]
        if figures["forks"]:
            widest = f"; widest logit gap {max(gaps):.3f}" if gaps else ""
            lines.append(f"{mode}: parted from plain's text in {len(figures['forks'])}{widest}")
    if report["skipped"]:
        lines.append(f"too long for the context, left out: {', '.join(report['skipped'])}")
    if report["interrupted"]:
        lines.append("ended early; these are the figures so far")
    return lines
