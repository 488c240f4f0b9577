"""How the library's models are told in lists, and found by words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.models.rows import Row
from app.text.amounts import count_words, size_words
from app.text.translation import translate
from engine.messages.targets import LibraryTarget


def target_rows(targets: Sequence[LibraryTarget], in_use: Path | None, words: str = "") -> tuple[Row, ...]:
    """Those that all the words fit to, in the order they came in."""
    return tuple(target_row(target, target.path == in_use) for target in targets if _fits(target, words))


def target_row(target: LibraryTarget, is_in_use: bool = False) -> Row:
    can_draft = target.details is None or target.details.can_speculate
    tag, token = (translate("Library", "In use"), "accent") if is_in_use else ("", "quiet")
    no_drafts = [] if can_draft else [translate("Library", "no speed-up")]
    return Row(
        key=target.path,
        title=target_title(target),
        subtitle=target.problem or " · ".join([*_kinds(target), *no_drafts]),
        tag=tag,
        tag_token=token,
        dimmed=bool(target.problem),
        tooltip=_tooltip(target),
    )


def target_title(target: LibraryTarget) -> str:
    return translate("Library", "{name} (starter)").format(name=target.name) if target.is_starter else target.name


def _kinds(target: LibraryTarget) -> list[str]:
    """What is known of size, quantization and architecture."""
    details = target.details
    parts = [size_words(target.size_bytes)]
    if details is not None:
        parameters = count_words(details.num_parameters) if details.num_parameters else ""
        parts += [details.quantization, details.architecture, parameters]
    return [part for part in parts if part]


def _tooltip(target: LibraryTarget) -> str:
    details = target.details
    why = details.speculation if details is not None and not details.can_speculate and not target.problem else ""
    return "\n".join(filter(None, (str(target.path), target.problem, why)))


def _fits(target: LibraryTarget, words: str) -> bool:
    told = " ".join((target_title(target), *_kinds(target), target.path.name)).casefold()
    return all(word in told for word in words.casefold().split())
