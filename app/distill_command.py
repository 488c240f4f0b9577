"""Makes a drafter, with a line on how far it is."""

from __future__ import annotations

from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from engine import DistillSettings, EngineConfig, TrainingProgress, distill


def make(config: EngineConfig, settings: DistillSettings, folder: Path) -> None:
    """Raises what `engine.distill` raises."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[figures]}"),
    )
    with Progress(*columns) as bar:
        task = bar.add_task("Training", total=settings.minutes * 60, figures="reading the corpus")
        agreement = ""

        def show(progress: TrainingProgress) -> None:
            nonlocal agreement
            if progress.agreement is not None:
                agreement = f", agreement {progress.agreement:.3f}"
            figures = f"step {progress.step}, epoch {progress.epoch:.2f}, loss {progress.loss:.3f}{agreement}"
            bar.update(task, completed=progress.seconds, figures=figures)

        distill(config, settings, folder, show)
    print(f"The drafter is in {folder}; use it with --drafter {folder}")
