"""`slipstream distill`: makes a drafter or heads, with a line on how far it is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import engine
from app.commands.options import TargetOption
from app.commands.terminal import INTERRUPTED, chosen_drafter
from engine.values.config import STARTER, EngineConfig, data_dir
from engine.values.distilling import DistillSettings

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_USUAL = DistillSettings(STARTER)
_OF_TARGET = "target"  # of --vocabulary


def distill(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Where to write it; replaced if it exists. Left out with --heads, where the app looks.",
        ),
    ] = None,
    target: TargetOption = STARTER,
    heads: Annotated[
        int | None,
        typer.Option(
            help="Make this many heads, which guess from what the model computes anyway, instead of a drafter."
        ),
    ] = None,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(
            "--corpus",
            metavar="F.jsonl",
            help="File or folder of conversations that the model wrote; may be repeated. Left out, it writes its own.",
        ),
    ] = None,
    conversations: Annotated[int, typer.Option(help="How many it writes where none are given.")] = _USUAL.conversations,
    held_back: Annotated[
        list[Path] | None,
        typer.Option("--held-back", metavar="F.jsonl", help="Others like them, to judge by; else a twentieth of them."),
    ] = None,
    trace: Annotated[
        list[str] | None,
        typer.Option(
            "--trace", metavar="VOCAB.gguf=F.jsonl", help="Recorded replies of another model, to judge by as well."
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(help="Train this drafter on (`built-in` or a folder); with --layers only its weights are used."),
    ] = None,
    layers: Annotated[
        str | None, typer.Option(help="Layers of the model that the drafter keeps, as 0,29; else the first and last.")
    ] = None,
    vocabulary: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|target",
            help="Tokens that the drafter reads; `target`: those of the model, as other programs need it.",
        ),
    ] = str(_USUAL.vocabulary_size),
    outputs: Annotated[
        int, typer.Option(help="Of these, the most frequent ones, which it can guess.")
    ] = _USUAL.num_outputs,
    feed_forward: Annotated[int | None, typer.Option(help="Neurons of a layer; else as many as the model has.")] = None,
    minutes: Annotated[float, typer.Option(help="Minutes of training.")] = _USUAL.minutes,
    judge_every: Annotated[
        float, typer.Option(help="Minutes of training from one judgement to the next.")
    ] = _USUAL.judge_every_minutes,
    learning_rate: Annotated[
        float, typer.Option(help="The highest; it rises at the start and falls to the end.")
    ] = _USUAL.learning_rate,
    seed: Annotated[int, typer.Option(help="For what is written and the order of training.")] = _USUAL.seed,
    states: Annotated[
        float, typer.Option(help="Gigabytes of what the model thought, kept on disk for --heads; more is read again.")
    ] = _USUAL.states_gb,
    labels: Annotated[
        bool, typer.Option(help="Let the model read given conversations again, to learn from all it thought of.")
    ] = True,
    licence: Annotated[
        str | None, typer.Option(help="Of the drafter, for its card; that of the model, as a rule.")
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where to keep what resuming needs; by default next to the drafter."),
    ] = None,
) -> None:
    """Make a drafter for a model: let it write conversations, cut a small model out of it, and train that on them.

    It can be stopped or killed at any time; the same command goes on where it was.

    Example: slipstream distill --target starter --out my-drafter
    """
    if out is None and heads is None:
        raise typer.BadParameter("Say where the drafter is to be.", param_hint="--out")
    folder = out or engine.heads_folder(target, data_dir())
    settings = DistillSettings(
        target=target,
        heads=heads,
        states_gb=states,
        corpus=tuple(corpus or ()),
        held_back=tuple(held_back or ()),
        traces=tuple(_trace(each) for each in trace or ()),
        conversations=conversations,
        labels=labels,
        start=None if start is None else engine.drafter_source(chosen_drafter(start, data_dir()), data_dir()).path,
        layers=None if layers is None else _layers(layers),
        target_vocabulary=vocabulary == _OF_TARGET,
        vocabulary_size=_USUAL.vocabulary_size if vocabulary == _OF_TARGET else _number(vocabulary),
        num_outputs=outputs,
        feed_forward=feed_forward,
        minutes=minutes,
        judge_every_minutes=judge_every,
        learning_rate=learning_rate,
        seed=seed,
        licence=licence,
        work=work,
    )
    _make(settings, folder)


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"Write a number of tokens, or `{_OF_TARGET}`.", param_hint="--vocabulary") from None


def _layers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(layer) for layer in text.split(","))
    except ValueError:
        raise typer.BadParameter("Layers are numbers with commas between them.", param_hint="--layers") from None


def _trace(text: str) -> tuple[Path, Path]:
    vocabulary, found, replies = text.partition("=")
    if not found:
        raise typer.BadParameter("Write it as VOCABULARY.gguf=REPLIES.jsonl.", param_hint="--trace")
    return Path(vocabulary), Path(replies)


def _make(settings: DistillSettings, folder: Path) -> None:
    """Ctrl+C ends it; the same command goes on later. Raises what `engine.distill` raises."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[figures]}"),
    )
    with Progress(*columns) as bar:
        try:
            engine.distill(EngineConfig(data_dir()), settings, folder, _Bars(bar, settings).show)
        except KeyboardInterrupt:
            bar.stop()
            print("Stopped. The same command goes on where this ended.", file=sys.stderr)
            sys.exit(INTERRUPTED)
    what = "drafter is" if settings.heads is None else "heads are"
    print(f"The {what} in {folder}; use with --drafter {folder}")


class _Bars:
    """One bar for each stage that takes long."""

    def __init__(self, bar: Progress, settings: DistillSettings) -> None:
        self._bar = bar
        self._minutes = settings.minutes
        self._tasks: dict[str, TaskID] = {}
        self._agreement = ""

    def show(self, progress: engine.DistillProgress) -> None:
        match progress:
            case engine.InventProgress():
                speed = progress.num_tokens / progress.seconds if progress.seconds > 0 else 0.0
                figures = f"{progress.num_done} of {progress.num_conversations} conversations, {speed:.0f} tok/s"
                self._update("Writing conversations", progress.num_done, progress.num_conversations, figures)
            case engine.LabelProgress():
                figures = f"{progress.num_done} of {progress.num_replies} replies"
                self._update("Reading replies", progress.num_done, progress.num_replies, figures)
            case engine.TrainingProgress():
                if progress.agreement is not None:
                    self._agreement = f", agreement {progress.agreement:.3f}, {progress.accepted:.2f} accepted a round"
                figures = f"step {progress.step}, epoch {progress.epoch:.2f}, loss {progress.loss:.3f}{self._agreement}"
                self._update("Training", progress.seconds, 60 * self._minutes, figures)
            case engine.Judgement():
                for line in _lines(progress):
                    self._bar.console.print(line, markup=False, highlight=False)

    def _update(self, name: str, done: float, total: float, figures: str) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(name, total=total, figures="")
        self._bar.update(self._tasks[name], completed=done, total=total, figures=figures)


def _lines(judgement: engine.Judgement) -> list[str]:
    lines = [f"After {judgement.minutes:.0f} minutes of training, a draft step takes {judgement.step_ms:.2f} ms."]
    for text in judgement.texts:
        accepted = ", ".join(f"{share:.3f}" for share in text.accepted)
        lines.append(f"  {text.name}: {text.tokens_per_round:.3f} tokens per round; guesses that stood: {accepted}")
    return lines
