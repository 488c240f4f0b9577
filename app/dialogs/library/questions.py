"""What is asked before something is done that costs."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QCheckBox, QMessageBox, QWidget

from app.dialogs.parts import ask, question_box
from app.models.target_rows import target_title
from app.text.amounts import size_words
from app.text.hub_files import Download
from app.text.translation import translate
from engine.messages.targets import LibraryTarget, MemoryEstimate


def ask_load_anyway(name: str, estimate: MemoryEstimate, parent: QWidget, on_yes: Callable[[], None]) -> QMessageBox:
    taken, free = size_words(estimate.on_machine), size_words(estimate.available)
    gpu = estimate.gpu
    told = translate("Library", "{name} takes about {taken} of memory, and {free} are free.")
    if gpu.num_bytes:
        told = translate(
            "Library",
            "{name} takes about {on_card} on {card}, where there is room for {room}, and {taken} of this machine's "
            "memory, of which {free} are free.",
        )
    box = question_box(
        parent,
        translate("Library", "Not enough memory"),
        told.format(
            name=name,
            taken=taken,
            free=free,
            on_card=size_words(gpu.num_bytes),
            card=gpu.support.description,
            room=size_words(gpu.room),
        ),
        translate(
            "Library",
            "{weights} are its weights, {context} hold the chat. Loaded anyway, it may fail or slow down the whole "
            "machine. It helps to close other programs, or to set a shorter context size.",
        ).format(weights=size_words(estimate.weights), context=size_words(estimate.context)),
    )
    return ask(box, translate("Library", "Load anyway"), on_yes)


def ask_remove(target: LibraryTarget, is_in_use: bool, parent: QWidget, on_yes: Callable[[bool], None]) -> QMessageBox:
    """`on_yes` is told whether the file is to be deleted."""
    box = question_box(
        parent,
        translate("Library", "Remove a model"),
        translate("Library", "Remove {name} from the library?").format(name=target_title(target)),
        translate("Library", "Your chats with it stay. It goes on answering until you choose another model.")
        if is_in_use
        else translate("Library", "Your chats with it stay."),
    )
    delete_words = translate("Library", "Also delete the file for good ({size})")
    delete = QCheckBox(delete_words.format(size=size_words(target.size_bytes)), box)
    delete.setToolTip(str(target.path))
    delete.setEnabled(not is_in_use)
    if is_in_use:
        delete.setText(translate("Library", "The file cannot be deleted while the model is in use"))
    box.setCheckBox(delete)
    return ask(box, translate("Library", "Remove"), lambda: on_yes(delete.isChecked()))


def ask_discard(download: Download, parent: QWidget, on_yes: Callable[[], None]) -> QMessageBox:
    box = question_box(
        parent,
        translate("Library", "Discard a download"),
        translate("Library", "Discard the {size} that have arrived of {file}?").format(
            size=size_words(download.num_bytes), file=download.file.name
        ),
        translate("Library", "To have it later, all of it would have to be downloaded again."),
    )
    return ask(box, translate("Library", "Discard"), on_yes)
