"""Questions before something costly is done."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QCheckBox, QMessageBox, QWidget

from app.models.target_rows import Library, target_title
from app.text.amounts import size_words
from app.text.hub_files import Download
from app.widgets.dialog_parts import ask, question_box
from app.widgets.parts import set_up
from engine.values.targets import LibraryTarget, MemoryEstimate


def ask_load_anyway(name: str, estimate: MemoryEstimate, parent: QWidget, on_yes: Callable[[], None]) -> QMessageBox:
    gpu = estimate.gpu
    taken, free = size_words(estimate.on_machine), size_words(estimate.available)
    if gpu.num_bytes:
        needs = Library.tr(
            "{name} takes about {on_card} on {card}, which has room for {room}, and {taken} of this computer's "
            "memory, of which {free} are free.",
            name=name,
            on_card=size_words(gpu.num_bytes),
            card=gpu.support.description,
            room=size_words(gpu.room),
            taken=taken,
            free=free,
        )
    else:
        needs = Library.tr(
            "{name} takes about {taken} of memory, and {free} are free.", name=name, taken=taken, free=free
        )
    parts = Library.tr(
        "The weights take {weights}, the context {context}. If you load it anyway, it may fail or slow down the "
        "whole computer. Close other programs, or set a smaller context size.",
        weights=size_words(estimate.weights),
        context=size_words(estimate.context),
    )
    box = question_box(parent, Library.tr("Not enough memory"), needs, parts)
    return ask(box, Library.tr("Load anyway"), on_yes)


def ask_remove(target: LibraryTarget, is_in_use: bool, parent: QWidget, on_yes: Callable[[bool], None]) -> QMessageBox:
    """`on_yes` takes whether to delete the file."""
    stays = Library.tr("Your chats with it stay.")
    answers = Library.tr("Your chats with it stay. It keeps answering until you choose another model.")
    box = question_box(
        parent,
        Library.tr("Remove a model"),
        Library.tr("Remove {name} from the library?", name=target_title(target)),
        answers if is_in_use else stays,
    )
    also = Library.tr("Also delete the file permanently ({size})", size=size_words(target.size_bytes))
    not_now = Library.tr("The file cannot be deleted while the model is in use")
    delete = set_up(QCheckBox(not_now if is_in_use else also, box), tip=str(target.path))
    delete.setEnabled(not is_in_use)
    box.setCheckBox(delete)
    return ask(box, Library.tr("Remove"), lambda: on_yes(delete.isChecked()))


def ask_discard(download: Download, parent: QWidget, on_yes: Callable[[], None]) -> QMessageBox:
    here, name = size_words(download.num_bytes), download.file.name
    box = question_box(
        parent,
        Library.tr("Discard a download"),
        Library.tr("Discard the {size} of {file} that have arrived?", size=here, file=name),
        Library.tr("You would have to download all of it again."),
    )
    return ask(box, Library.tr("Discard"), on_yes)
