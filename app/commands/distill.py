"""Makes a drafter, with a line on how far it is."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from app.commands.interrupts import INTERRUPTED
from engine import (
    DistillProgress,
    DistillSettings,
    EngineConfig,
    InventProgress,
    Judgement,
    LabelProgress,
    TrainingProgress,
    distill,
)


def make(config: EngineConfig, settings: DistillSettings, folder: Path) -> None:
    """Ctrl+C ends it; what was done is kept. Raises what `engine.distill` raises."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[figures]}"),
    )
    with Progress(*columns) as bar:
        try:
            distill(config, settings, folder, _Bars(bar, settings).show)
        except KeyboardInterrupt:
            bar.stop()
            print("Stopped. The same command goes on where this ended.", file=sys.stderr)
            sys.exit(INTERRUPTED)
    print(f"The drafter is in {folder}; use it with --drafter {folder}")


class _Bars:
    """One bar for each thing that takes long."""

    def __init__(self, bar: Progress, settings: DistillSettings) -> None:
        self._bar = bar
        self._minutes = settings.minutes
        self._tasks: dict[str, TaskID] = {}
        self._agreement = ""

    def show(self, progress: DistillProgress) -> None:
        match progress:
            case InventProgress():
                speed = progress.num_tokens / progress.seconds if progress.seconds > 0 else 0.0
                figures = f"{progress.num_done} of {progress.num_conversations} conversations, {speed:.0f} tok/s"
                self._update("Writing conversations", progress.num_done, progress.num_conversations, figures)
            case LabelProgress():
                figures = f"{progress.num_done} of {progress.num_replies} replies"
                self._update("Reading replies", progress.num_done, progress.num_replies, figures)
            case TrainingProgress():
                if progress.agreement is not None:
                    self._agreement = f", agreement {progress.agreement:.3f}, {progress.accepted:.2f} accepted a round"
                figures = f"step {progress.step}, epoch {progress.epoch:.2f}, loss {progress.loss:.3f}{self._agreement}"
                self._update("Training", progress.seconds, 60 * self._minutes, figures)
            case Judgement():
                for line in _lines(progress):
                    self._bar.console.print(line, markup=False, highlight=False)

    def _update(self, name: str, done: float, total: float, figures: str) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(name, total=total, figures="")
        self._bar.update(self._tasks[name], completed=done, total=total, figures=figures)


def _lines(judgement: Judgement) -> list[str]:
    lines = [f"After {judgement.minutes:.0f} minutes of training, a draft step takes {judgement.step_ms:.2f} ms."]
    for text in judgement.texts:
        stood = ", ".join(f"{share:.3f}" for share in text.stood)
        lines.append(f"  {text.name}: {text.tokens_per_round:.3f} tokens per round; guesses that stood: {stood}")
    return lines
