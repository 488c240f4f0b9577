"""What is asked before something is done that costs."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QMessageBox, QWidget

from app.amounts import size_words
from app.dialogs.parts import button
from app.downloads import Download
from app.models.library_model import target_title
from app.translation import translate
from engine.records import LibraryTarget, MemoryEstimate


def ask_load_anyway(name: str, estimate: MemoryEstimate, parent: QWidget, on_yes: Callable[[], None]) -> QMessageBox:
    taken, free = size_words(estimate.on_machine), size_words(estimate.available)
    gpu = estimate.gpu
    told = f"{name} takes about {taken} of memory, and {free} are free."
    if gpu.num_bytes:
        on_card, room = size_words(gpu.num_bytes), size_words(gpu.room)
        words = translate(
            "LibraryQuestions",
            "{name} takes about {on_card} on {card}, where there is room for {room}, and {taken} of this machine's "
            "memory, of which {free} are free.",
        )
        told = words.format(name=name, on_card=on_card, card=gpu.support.description, room=room, taken=taken, free=free)
    box = _box(
        parent,
        "Not enough memory",
        told,
        f"{size_words(estimate.weights)} are its weights, {size_words(estimate.context)} hold the chat. Loaded "
        "anyway, it may fail or slow down the whole machine. It helps to close other programs, or to set a shorter "
        "context size.",
    )
    return _open(box, "Load anyway", on_yes)


def ask_remove(target: LibraryTarget, is_in_use: bool, parent: QWidget, on_yes: Callable[[bool], None]) -> QMessageBox:
    """`on_yes` is told whether the file is to be deleted."""
    box = _box(
        parent,
        "Remove a model",
        f"Remove {target_title(target)} from the library?",
        "Your chats with it stay. " + ("It goes on answering until you choose another model." if is_in_use else ""),
    )
    delete = QCheckBox(f"Also delete the file for good ({size_words(target.size_bytes)})", box)
    delete.setToolTip(str(target.path))
    delete.setEnabled(not is_in_use)
    if is_in_use:
        delete.setText("The file cannot be deleted while the model is in use")
    box.setCheckBox(delete)
    return _open(box, "Remove", lambda: on_yes(delete.isChecked()))


def ask_discard(download: Download, parent: QWidget, on_yes: Callable[[], None]) -> QMessageBox:
    box = _box(
        parent,
        "Discard a download",
        f"Discard the {size_words(download.num_bytes)} that have arrived of {download.file.name}?",
        "To have it later, all of it would have to be downloaded again.",
    )
    return _open(box, "Discard", on_yes)


def _box(parent: QWidget, title: str, text: str, more: str) -> QMessageBox:
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setIcon(QMessageBox.Icon.NoIcon)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    box.setInformativeText(more)
    return box


def _open(box: QMessageBox, yes: str, on_yes: Callable[[], object]) -> QMessageBox:
    box.addButton(button(yes, "outlined", box), QMessageBox.ButtonRole.AcceptRole)
    cancel = button("Cancel", "outlined", box)
    box.addButton(cancel, QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    box.accepted.connect(on_yes)
    box.open()
    return box
