"""`--drafter`: the built-in one, a folder, or a name on the hub, which is downloaded on the way."""

from __future__ import annotations

import sys
from pathlib import Path

from app.commands.download_bar import download_bar
from app.commands.interrupts import INTERRUPTED, stopped_by_ctrl_c
from engine import EngineConfig, built_in_drafter, drafter_folder, fetch_drafter, hub_name
from engine.errors import Cancelled
from engine.messages.events import DrafterFetching


def chosen_drafter(choice: str, data_dir: Path) -> Path | None:
    """The folder of the choice, None for the built-in drafter. Ctrl+C ends the download and the program.

    Raises DrafterUnusable and FetchFailed.
    """
    name = hub_name(choice)
    if name is not None:
        _fetch(name, data_dir)
    return drafter_folder(choice, data_dir)


def chosen_start(choice: str, data_dir: Path) -> Path:
    """The folder of a drafter that is to be trained on. Raises what `chosen_drafter` raises."""
    return chosen_drafter(choice, data_dir) or built_in_drafter()


def _fetch(name: str, data_dir: Path) -> None:
    with stopped_by_ctrl_c() as stop, download_bar() as bar:
        task = bar.add_task(name, total=None, visible=False)  # nothing to show for what is here already

        def show(progress: DrafterFetching) -> None:
            bar.update(task, completed=progress.num_bytes, total=progress.total_bytes, visible=True)

        try:
            fetch_drafter(EngineConfig(data_dir), name, show, stop)
        except Cancelled as error:
            bar.stop()
            print(error, file=sys.stderr)
            sys.exit(INTERRUPTED)
