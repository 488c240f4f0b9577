"""How the models of the library and of the hub are shown in lists, and found by words."""

from __future__ import annotations

from collections.abc import Sequence

from app.models.rows import DrawnRow
from app.text.amounts import count_words, day_words, size_words
from app.text.hub_files import ABOUT_FIT, FileAdvice, Fit
from app.text.numbers import decimal
from app.text.suggestions import PURPOSES, SuggestionAdvice, speed_words
from app.text.translation import QT_TRANSLATE_NOOP, Words, translate
from engine.values.targets import HubModel, LibraryTarget

_RECOMMENDED = {
    Fit.FITS: QT_TRANSLATE_NOOP("Hub", "recommended, fits"),
    Fit.TIGHT: QT_TRANSLATE_NOOP("Hub", "recommended, tight"),
}
_TOKENS = {Fit.FITS: "quiet", Fit.TIGHT: "warning", Fit.TOO_LARGE: "error", Fit.NO_ROOM: "error"}
Hub = Words("Hub")
Library = Words("Library")


def target_rows(targets: Sequence[LibraryTarget], in_use: str, words: str = "") -> tuple[DrawnRow, ...]:
    """Targets that match all words, in their order, with their references as keys. `in_use` is a reference, or
    empty."""
    return tuple(target_row(target, target.reference == in_use) for target in targets if _fits(target, words))


def target_row(target: LibraryTarget, is_in_use: bool = False) -> DrawnRow:
    can_draft = target.details is None or target.details.can_speculate
    tag, token = (Library.tr("In use"), "accent") if is_in_use else ("", "quiet")
    drafts = [] if can_draft else [Library.tr("no speed-up")]
    if target.brings is not None:
        drafts.append(Library.tr("brings its own drafter ({method})", method=target.brings))
    return DrawnRow(
        key=target.reference,
        title=target_title(target),
        subtitle=target.problem or " · ".join([*_kinds(target), *drafts]),
        tag=tag,
        tag_token=token,
        dimmed=bool(target.problem),
        tooltip=_tooltip(target),
    )


def target_title(target: LibraryTarget) -> str:
    return Library.tr("{name} (starter)", name=target.name) if target.is_starter else target.name


def _kinds(target: LibraryTarget) -> list[str]:
    """The known size, quantization and architecture."""
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
    known = " ".join((target_title(target), *_kinds(target), target.path.name)).casefold()
    return all(word in known for word in words.casefold().split())


def hub_model_row(model: HubModel) -> DrawnRow:
    owner, _, name = model.repository.partition("/")
    downloads = Hub.tr("{number} download(s)", "", model.num_downloads, number=count_words(model.num_downloads))
    likes = Hub.tr("{number} like(s)", "", model.num_likes, number=count_words(model.num_likes))
    updated = Hub.tr("updated {day}", day=day_words(model.updated_at)) if model.updated_at else ""
    return DrawnRow(
        key=model.repository,
        title=name or owner,
        subtitle=" · ".join(filter(None, (owner, downloads, likes, updated))),
        tooltip=model.repository,
    )


def hub_file_row(advice: FileAdvice) -> DrawnRow:
    file = advice.file
    parts = Hub.tr("%n parts", "", file.num_parts) if file.num_parts > 1 else ""
    sight = Hub.tr("sees pictures") if file.projector else ""
    drafter = Hub.tr("brings its own drafter") if file.head else ""
    drafter = Hub.tr("only a drafter, made for one model") if file.is_head else drafter
    fit = _RECOMMENDED[advice.fit] if advice.is_recommended else advice.fit.value
    how = Hub.tr("Estimated from the file's size and this computer's memory.")
    return DrawnRow(
        key=file,
        title=" · ".join(
            filter(None, (file.quantization or file.name, size_words(file.download_bytes), parts, sight, drafter))
        ),
        subtitle=file.name,
        tag=Hub.tr("fast here, {fit}", fit=translate("Hub", fit)) if advice.is_fast else translate("Hub", fit),
        tag_token="accent" if advice.is_recommended and advice.fit is Fit.FITS else _TOKENS[advice.fit],
        tooltip="\n".join(filter(None, (file.name, translate("Hub", ABOUT_FIT[advice.fit]), how, _speed(advice)))),
    )


def suggestion_row(advice: SuggestionAdvice) -> DrawnRow:
    suggestion = advice.suggestion
    size = size_words((advice.file or suggestion.file).download_bytes)
    parts = translate("Suggestions", PURPOSES[suggestion.purpose]), speed_words(suggestion.tokens_per_s), size
    tag, token = _suggestion_tag(advice)
    return DrawnRow(
        key=suggestion.file,
        title=suggestion.name,
        subtitle=" · ".join(filter(None, parts)),
        tag=tag,
        tag_token=token,
        dimmed=advice.file is None,
        tooltip=suggestion.file.name,
    )


def _suggestion_tag(advice: SuggestionAdvice) -> tuple[str, str]:
    """The tag and its colour in the theme."""
    if advice.file is None:
        return Hub.tr("no longer offered"), "error"
    if advice.has_changed:
        return Hub.tr("file has changed"), "warning"
    if advice.is_best and advice.is_slow:
        return Hub.tr("fastest here, but slow"), "warning"
    if advice.is_best:
        return Hub.tr("best here"), "accent"
    if advice.fit is Fit.FITS and advice.is_slow:
        return Hub.tr("slow here"), "warning"
    return translate("Hub", advice.fit.value), _TOKENS[advice.fit]


def _speed(advice: FileAdvice) -> str:
    if not advice.speed:
        return ""
    if advice.is_fast:
        return Hub.tr("Fast on this computer, judging by another model measured in this quantization.")
    return Hub.tr(
        "Should write {speed} times as fast as the fastest quantization, judging by another model that was measured.",
        speed=decimal(advice.speed, 2),
    )
