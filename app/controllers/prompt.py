"""Text files that are attached to a prompt, and the number of its tokens."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtWidgets import QFileDialog

from app.controllers.controller import Controller
from app.engine_bridge import EngineBridge, Request
from app.main_window import MainWindow
from engine import CountTokens, ReadTextFile
from engine.messages.events import Event, TargetReady, TextFileRead, TokensCounted
from engine.messages.prompts import MOST_FILES, MOST_PASTED, Attachment

_PAUSE_MS = 250  # in typing


class PromptController(Controller):
    """Has files read that the user attaches, and tokens counted after a pause in typing."""

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window, bridge)
        self._box = window.prompt_box
        self._context_size: int | None = None  # tokens; None while no target is loaded
        self._counting: Request | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._count)
        self._box.attach_requested.connect(self._choose_files)
        self._box.edited.connect(self._on_edited)
        self._box.long_pasted.connect(self._attach_pasted)
        window.texts_dropped.connect(self.attach)

    @Slot(list)
    def attach(self, paths: list[str]) -> None:
        room = MOST_FILES - len(self._box.chips.attachments)
        if len(paths) > room:
            self._window.toasts.show_info(self.tr("At most %n files can be attached to a message.", "", MOST_FILES))
        for path in paths[:room]:
            self._bridge.post(ReadTextFile(Path(path)))

    @Slot(object)
    def _attach_pasted(self, text: str) -> None:
        """A long text would hold up the box with every key."""
        toasts = self._window.toasts
        if len(text) > MOST_PASTED:
            words = self.tr("What you pasted has {number} characters; paste at most {most} at once.")
            toasts.show_info(words.format(number=f"{len(text):,}", most=f"{MOST_PASTED:,}"))
        elif len(self._box.chips.attachments) >= MOST_FILES:
            toasts.show_info(self.tr("At most %n files can be attached to a message.", "", MOST_FILES))
        else:
            self._box.chips.add(self._box.pasted(text))

    @Slot()
    def _choose_files(self) -> None:
        dialog = QFileDialog(self._window, self.tr("Attach text files"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(self.attach)
        dialog.open()

    @Slot()
    def _on_edited(self) -> None:
        if self._box.text.strip():
            self._pause.start()
        else:
            self._pause.stop()
            self._box.clear_count()

    @Slot()
    def _count(self) -> None:
        if self._context_size is None:
            return
        if self._counting is not None:
            self._counting.stop()  # the count of an earlier text is of no use
        self._counting = self._bridge.post(CountTokens(self._box.text.strip()), quiet=True)

    def _on_event(self, event: Event) -> None:
        match event:
            case TextFileRead(file):
                self._box.chips.add(Attachment(file.path.name, file.text))
                self._box.setFocus()
            case TokensCounted(text, num_tokens):
                if self._context_size is not None and text and text == self._box.text.strip():
                    self._box.show_count(num_tokens, self._context_size)
            case TargetReady(target):
                self._context_size = target.context_size
                self._on_edited()
