"""`slipstream profile`: shows what is learned, carries it to another machine, and forgets it."""

from __future__ import annotations

from pathlib import Path

import typer

from app.commands.profile_text import learned_lines, outcome_line
from engine import (
    EngineConfig,
    export_profile,
    forget_learned,
    import_profile,
    summarize_learned,
    summarize_profile,
    use_adapter,
)


def show(config: EngineConfig, file: Path | None) -> None:
    """Raises what `engine.summarize_learned` and `engine.summarize_profile` raise."""
    if file is not None:
        _show_profile(file)
        return
    _print(learned_lines(summarize_learned(config)))


def export(config: EngineConfig, file: Path, with_recall: bool, overwrite: bool) -> None:
    """Raises what `engine.export_profile` raises."""
    export_profile(config, file, with_recall, overwrite)
    _show_profile(file)


def take_in(config: EngineConfig, file: Path, replace: bool) -> None:
    """Raises what `engine.import_profile` raises."""
    _show_profile(file)
    print(outcome_line(import_profile(config, file, replace)))


def use(config: EngineConfig, number: int) -> None:
    """Raises AdapterUnusable and StoreUnusable."""
    use_adapter(config, number or None)
    _print(learned_lines(summarize_learned(config)))


def reset(config: EngineConfig, is_sure: bool) -> None:
    """Raises StoreUnusable, and typer's Abort where nobody says yes."""
    if not is_sure:
        question = "Forget all n-grams, adapters, lessons and recall for good? Chats stay."
        typer.confirm(question, abort=True)
    forget_learned(config)
    print("All that was learned is forgotten. Chats stay, and are learned from as they are read and continued.")


def _show_profile(file: Path) -> None:
    profile = summarize_profile(file)
    print(f"{file}: written by Slipstream {profile.program} on {profile.created_at.astimezone():%Y-%m-%d %H:%M}")
    _print(learned_lines(profile.learned))


def _print(lines: list[str]) -> None:
    print("\n".join(lines))
