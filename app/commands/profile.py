"""`slipstream profile`: shows what is learned, carries it to another machine, and forgets it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import engine
from engine.values.config import EngineConfig, data_dir

if TYPE_CHECKING:
    from engine.values.learned import AdapterSummary, ImportOutcome, LearnedSummary, TargetStatistics

_SHORT = 12  # characters of a fingerprint, enough to distinguish them

profile = typer.Typer(help="What was learned from your chats, and how to take it along.", no_args_is_help=True)


@profile.command("show")
def show_profile(
    file: Annotated[Path | None, typer.Argument(help="A profile to look into; else what is learned here.")] = None,
) -> None:
    """Show what is learned for each model, or what a profile holds."""
    if file is not None:
        _show_profile(file)
    else:
        _show_learned(engine.summarize_learned(EngineConfig(data_dir())))


@profile.command("export")
def export_profile(
    file: Annotated[Path, typer.Argument(help="Where to write it, as me.slipstream.")],
    with_recall: Annotated[
        bool, typer.Option("--with-recall", help="With texts to recall, which hold what you typed.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write what was learned into one file, to take it along or to keep it safe. Your chats are not in it."""
    engine.export_profile(EngineConfig(data_dir()), file, with_recall, force)
    _show_profile(file)


@profile.command("import")
def import_profile(
    file: Annotated[Path, typer.Argument(help="A profile that was exported.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Forget what was learned here first; otherwise both are joined.")
    ] = False,
) -> None:
    """Take in what a profile holds: all of it, or nothing unless all of it is in order."""
    _show_profile(file)
    print(outcome_line(engine.import_profile(EngineConfig(data_dir()), file, replace)))


@profile.command("use")
def use_adapter(
    number: Annotated[int, typer.Argument(help="Of a snapshot that `profile show` lists; 0: none, for all models.")],
) -> None:
    """Go back to an earlier state of what a drafter learned, or forth again. It holds when a model is loaded next."""
    engine.use_adapter(EngineConfig(data_dir()), number or None)
    _show_learned(engine.summarize_learned(EngineConfig(data_dir())))


@profile.command("reset")
def reset_profile(yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False) -> None:
    """Forget for good what was learned: word patterns, snapshots, lessons and text to reuse. Your chats stay."""
    if not yes:
        typer.confirm("Forget all that was learned for good? Chats stay.", abort=True)
    left = engine.forget_learned(EngineConfig(data_dir()))
    print("All that was learned is forgotten. Chats stay, and are learned from as they are read and continued.")
    for sentence in left:
        print(sentence)


def _show_profile(file: Path) -> None:
    found = engine.summarize_profile(file)
    print(f"{file}: written by Slipstream {found.program} on {found.created_at.astimezone():%Y-%m-%d %H:%M}")
    _show_learned(found.learned)


def _show_learned(learned: LearnedSummary) -> None:
    print("\n".join(learned_lines(learned)))


def learned_lines(learned: LearnedSummary) -> list[str]:
    lines = []
    for vocabulary in learned.vocabularies:
        names = ", ".join(learned.target_names.get(vocabulary, ()))
        lines.append(f"Models with the vocabulary {vocabulary[:_SHORT]}" + (f" ({names})" if names else ""))
        lines += [f"  {line}" for line in _vocabulary_lines(learned, vocabulary)]
    if learned.statistics:
        lines.append("Replies")
        lines += [f"  {_statistics_line(each)}" for each in learned.statistics]
    return lines or ["Nothing has been learned yet."]


def outcome_line(outcome: ImportOutcome) -> str:
    if not (outcome.num_ngrams or outcome.num_adapters or outcome.num_published or outcome.num_texts):
        return "All of it is already here."
    ngrams, adapters = _counted(outcome.num_ngrams, "word pattern"), _counted(outcome.num_adapters, "snapshot")
    used = f" ({outcome.num_published:,} now in use)" if outcome.num_published else ""
    return f"New: {ngrams}, {adapters}{used}, {_counted(outcome.num_texts, 'text')} to reuse."


def _vocabulary_lines(learned: LearnedSummary, vocabulary: str) -> list[str]:
    lines = []
    for (target, drafter), num_ngrams in sorted(learned.ngrams.items()):
        if target == vocabulary:
            lines.append(f"{_counted(num_ngrams, 'word pattern')} of the drafter vocabulary {drafter[:_SHORT]}")
    for (target, drafter), adapters in sorted(learned.adapters.items()):
        if target == vocabulary:
            lines.append(f"{_counted(len(adapters), 'snapshot')} of the drafter {drafter[:_SHORT]}")
            lines += [f"  {_adapter_line(adapter)}" for adapter in adapters]
    if num_lessons := learned.lessons.get(vocabulary):
        lines.append(f"{_counted(num_lessons, 'reply', 'replies')} to learn from")
    if num_self_distilled := learned.self_distilled.get(vocabulary):
        lines.append(f"{_counted(num_self_distilled, 'practised reply', 'practised replies')} to learn from")
    if size := learned.recall.get(vocabulary):
        lines.append(f"{_counted(size.num_texts, 'text')} to reuse, of {_counted(size.num_tokens, 'token')}")
    return lines


def _adapter_line(adapter: AdapterSummary) -> str:
    judged = f"{adapter.before:.2f} -> {adapter.after:.2f} tokens accepted per round on {adapter.num_replies} replies"
    made = f"learned from {adapter.num_learned}, {adapter.created_at.astimezone():%Y-%m-%d %H:%M}"
    return f"{adapter.number}: {judged}, {made}" + (", in use" if adapter.is_published else "")


def _statistics_line(statistics: TargetStatistics) -> str:
    parts = [_counted(statistics.num_replies, "reply", "replies"), _counted(statistics.num_tokens, "token")]
    if statistics.tokens_per_round:
        parts.append(f"{statistics.tokens_per_round:.2f} tokens per round")
    if statistics.speedup is not None:
        parts.append(f"{statistics.speedup:.2f}x as fast as without drafts")
    return f"{statistics.name}: {', '.join(parts)}"


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
