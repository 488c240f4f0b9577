"""How the hub's repositories and files are told in lists."""

from __future__ import annotations

from app.models.rows import Row
from app.text.amounts import count_words, day_words, size_words
from app.text.hub_advice import FileAdvice, Fit
from app.text.marked_words import QT_TRANSLATE_NOOP
from app.text.translation import Words, translate
from engine.messages.targets import HubModel

_ABOUT = {
    Fit.FITS: QT_TRANSLATE_NOOP("Hub", "It fits into this machine's memory with room to spare."),
    Fit.TIGHT: QT_TRANSLATE_NOOP("Hub", "It fits into this machine's memory, but leaves little for other programs."),
    Fit.TOO_LARGE: QT_TRANSLATE_NOOP("Hub", "It needs more memory than this machine can give it."),
    Fit.NO_ROOM: QT_TRANSLATE_NOOP("Hub", "There is not enough room for it on the disk."),
}
_RECOMMENDED = {
    Fit.FITS: QT_TRANSLATE_NOOP("Hub", "recommended, fits"),
    Fit.TIGHT: QT_TRANSLATE_NOOP("Hub", "recommended, tight"),
}
_TOKENS = {Fit.FITS: "quiet", Fit.TIGHT: "warning", Fit.TOO_LARGE: "error", Fit.NO_ROOM: "error"}
Hub = Words("Hub")


def hub_model_row(model: HubModel) -> Row:
    owner, _, name = model.repository.partition("/")
    downloads = Hub.tr("{number} download(s)", "", model.num_downloads).format(number=count_words(model.num_downloads))
    likes = Hub.tr("{number} like(s)", "", model.num_likes).format(number=count_words(model.num_likes))
    updated = Hub.tr("updated {day}").format(day=day_words(model.updated_at)) if model.updated_at else ""
    return Row(
        key=model.repository,
        title=name or owner,
        subtitle=" · ".join(filter(None, (owner, downloads, likes, updated))),
        tooltip=model.repository,
    )


def hub_file_row(advice: FileAdvice) -> Row:
    file = advice.file
    parts = Hub.tr("%n parts", "", file.num_parts) if file.num_parts > 1 else ""
    fit = _RECOMMENDED[advice.fit] if advice.is_recommended else advice.fit.value
    how = Hub.tr("Estimated from the size of the file and the memory of this machine.")
    return Row(
        key=file,
        title=" · ".join(filter(None, (file.quantization or file.name, size_words(file.size_bytes), parts))),
        subtitle=file.name,
        tag=translate("Hub", fit),
        tag_token="accent" if advice.is_recommended and advice.fit is Fit.FITS else _TOKENS[advice.fit],
        tooltip=f"{file.name}\n{translate('Hub', _ABOUT[advice.fit])}\n{how}",
    )
