"""How the hub's repositories and files are told in lists."""

from __future__ import annotations

from app.amounts import count_words, day_words, size_words
from app.hub_advice import FileAdvice, Fit
from app.models.rows import Row
from engine.records import HubModel

_ABOUT = {
    Fit.FITS: "It fits into this machine's memory with room to spare.",
    Fit.TIGHT: "It fits into this machine's memory, but leaves little for other programs.",
    Fit.TOO_LARGE: "It needs more memory than this machine can give it.",
    Fit.NO_ROOM: "There is not enough room for it on the disk.",
}
_TOKENS = {Fit.FITS: "quiet", Fit.TIGHT: "warning", Fit.TOO_LARGE: "error", Fit.NO_ROOM: "error"}
_HOW = "Estimated from the size of the file and the memory of this machine."


def hub_model_row(model: HubModel) -> Row:
    owner, _, name = model.repository.partition("/")
    downloads = "1 download" if model.num_downloads == 1 else f"{count_words(model.num_downloads)} downloads"
    likes = "1 like" if model.num_likes == 1 else f"{count_words(model.num_likes)} likes"
    updated = f"updated {day_words(model.updated_at)}" if model.updated_at else ""
    return Row(
        key=model.repository,
        title=name or owner,
        subtitle=" · ".join(filter(None, (owner, downloads, likes, updated))),
        tooltip=model.repository,
    )


def hub_file_row(advice: FileAdvice) -> Row:
    file = advice.file
    parts = f"{file.num_parts} parts" if file.num_parts > 1 else ""
    fit = f"recommended, {advice.fit}" if advice.is_recommended else advice.fit.value
    return Row(
        key=file,
        title=" · ".join(filter(None, (file.quantization or file.name, size_words(file.size_bytes), parts))),
        subtitle=file.name,
        tag=fit,
        tag_token="accent" if advice.is_recommended and advice.fit is Fit.FITS else _TOKENS[advice.fit],
        tooltip=f"{file.name}\n{_ABOUT[advice.fit]}\n{_HOW}",
    )
