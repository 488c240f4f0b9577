"""Files and pictures that are attached to a prompt, what is sent of them, and the number of its tokens."""

from __future__ import annotations

from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.main_window import MainWindow
from app.text.numbers import whole
from app.widgets.prompt.picture_images import png_of
from engine.values.conversations import TextFile
from engine.values.events import TargetReady
from engine.values.pictures import Picture
from engine.values.prompts import MOST_FILES, MOST_PASTED, AttachedPicture, Attachment, TokenCount, join_prompt
from engine.values.requests import Failure

_PAUSE_MS = 250  # in typing
_REPLY_TOKENS = 512  # that attachments leave free, or a quarter of the context
_PASSAGES_SHARE = 0.5  # of the context


class PromptController(Controller):
    """Has files read that the user attaches, and tokens counted after a pause in typing."""

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window, bridge)
        self._box = window.prompt_box
        self._context_size: int | None = None  # tokens; None while no target is loaded
        self._counting: Request[TokenCount | None] | None = None
        self._files = bridge.engine.files
        self._is_finding = False  # passages for a prompt that is being sent
        self._reading: dict[str, Request[Any]] = {}  # by path
        self._wants_passages = False  # as soon as it is known again that the attachments do not fit
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._count)
        self._box.attach_requested.connect(self._choose_files)
        self._box.edited.connect(self._on_edited)
        self._box.long_pasted.connect(self._attach_pasted)
        self._box.editor.files_pasted.connect(self.attach)
        self._box.editor.picture_pasted.connect(self._attach_picture)
        self._box.chips.changed.connect(self._on_chips_changed)
        self._box.chips.cancelled.connect(self._stop_reading)
        self._box.passages_requested.connect(self._find_passages)
        window.texts_dropped.connect(self.attach)
        bridge.listen(TargetReady, self._on_ready)

    @Slot(list)
    def attach(self, paths: list[str]) -> None:
        room = MOST_FILES - self._box.chips.room_taken
        if len(paths) > room:
            self._say_how_many()
        for path in map(Path, paths[:room]):
            if not self._box.chips.is_awaited(str(path)):
                self._box.chips.begin(str(path), path.name)
                self._follow(path, self._bridge.ask(self._files.read, path))

    @Slot(object)
    def _attach_picture(self, pasted: bytes | QImage) -> None:
        if self._box.chips.room_taken >= MOST_FILES:
            self._say_how_many()
            return
        path = self._free_name()
        self._box.chips.begin(str(path), path.name)
        if isinstance(pasted, QImage):
            self._window.pictures.thread_beside.do(partial(png_of, pasted), partial(self._read_pasted, path))
        else:
            self._read_pasted(path, pasted)

    def _read_pasted(self, path: Path, data: bytes) -> None:
        if self._box.chips.is_awaited(str(path)):  # else it is not wanted any more
            self._follow(path, self._bridge.ask(self._files.read_picture, path, data))

    def _free_name(self) -> Path:
        name = self.tr("Pasted picture")
        names = (f"{name}.png" if number == 1 else f"{name} {number}.png" for number in count(1))
        return Path(next(each for each in names if each not in self._box.chips.names))

    def _follow(self, path: Path, request: Request[Any]) -> None:
        self._reading[str(path)] = request
        request.answered.connect(partial(self._on_read, path))
        request.failed.connect(partial(self._on_unreadable, path))

    def _say_how_many(self) -> None:
        words = self.tr("At most %n files can be attached to a message.", "", MOST_FILES)
        self._window.toasts.show_info(words)

    def _on_read(self, path: Path, read: TextFile | Picture) -> None:
        del self._reading[str(path)]
        if isinstance(read, Picture):
            self._window.pictures.add(read)
            attachment: Attachment | AttachedPicture = AttachedPicture(path.name, read.digest)
        else:
            attachment = Attachment(path.name, read.text)
        self._box.chips.finish(str(path), attachment)
        self._box.setFocus()

    def _on_unreadable(self, path: Path, failure: Failure) -> None:
        del self._reading[str(path)]
        self._box.chips.fail(str(path), failure.sentence)

    @Slot(str)
    def _stop_reading(self, path: str) -> None:
        if path in self._reading:
            self._reading.pop(path).drop()

    @Slot(object)
    def _attach_pasted(self, text: str) -> None:
        """Attaches a long text, which would slow the box down with every key."""
        toasts = self._window.toasts
        if len(text) > MOST_PASTED:
            words = self.tr("What you pasted is too long; paste at most {most} characters at once.")
            toasts.show_info(words.format(most=whole(MOST_PASTED)))
        elif self._box.chips.room_taken >= MOST_FILES:
            self._say_how_many()
        else:
            self._box.chips.add(self._box.pasted(text))

    @Slot()
    def _choose_files(self) -> None:
        dialog = QFileDialog(self._window, self.tr("Attach files"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(self.attach)
        dialog.open()

    @Slot()
    def _on_edited(self) -> None:
        if self._box.counted_text and not self._box.notice.sends_passages:
            self._pause.start()
        else:
            self._pause.stop()
            self._box.clear_count()

    @Slot()
    def _count(self) -> None:
        if self._context_size is None:
            return
        if self._counting is not None:
            self._counting.drop()  # the count of an earlier text is of no use
        self._counting = self._ask_count(self._box.counted_text)

    def _ask_count(self, text: str) -> Request[TokenCount | None]:
        request = self._bridge.ask(self._bridge.engine.counting.count, text)
        request.is_quiet = True
        request.answered.connect(partial(self._on_counted, text))
        return request

    def _on_counted(self, text: str, count: TokenCount | None) -> None:
        if self._context_size is None or count is None:
            return
        is_too_long = count.number is None
        self._box.chips.show_tokens(text, count.number or count.about, self._context_size, is_too_long)
        self._weigh()
        if text and text == self._box.counted_text:
            self._box.show_count(count.number, self._context_size)

    @Slot()
    def _on_chips_changed(self) -> None:
        """Counts each file once per target."""
        if self._context_size is not None:
            for attachment in self._box.chips.take_uncounted():
                self._ask_count(attachment.block)
        self._weigh()

    def _weigh(self) -> None:
        size = self._context_size or 0
        self._box.notice.set_tokens(self._box.chips.num_tokens, size - min(_REPLY_TOKENS, size // 4), size)
        if self._wants_passages and self._box.notice.offers_passages:
            self._wants_passages = False
            self._box.notice.box.setChecked(True)

    def kept(self) -> bool:
        return self._box.notice.sends_passages

    def resume(self, kept: bool) -> None:
        self._wants_passages = kept

    @Slot()
    def _find_passages(self) -> None:
        if self._is_finding or self._context_size is None:
            return
        self._is_finding = True
        attachments, question = self._of_box()
        most_tokens = int(_PASSAGES_SHARE * self._context_size)
        request = self._bridge.ask(self._files.find_passages, attachments, question, most_tokens)
        request.answered.connect(partial(self._on_passages, attachments, question))
        request.failed.connect(self._on_nothing_found)

    def _of_box(self) -> tuple[tuple[Attachment, ...], str]:
        return self._box.chips.texts, self._box.editor.toPlainText().strip()

    @Slot(object)
    def _on_nothing_found(self, failure: Failure) -> None:
        self._is_finding = False
        self._box.hint.hide()
        self._window.toasts.show_error(failure.sentence)

    def _on_passages(
        self, attachments: tuple[Attachment, ...], question: str, passages: tuple[Attachment, ...]
    ) -> None:
        self._is_finding = False
        if self._of_box() == (attachments, question):  # else it was edited meanwhile
            pictures = [each for each in self._box.chips.attachments if isinstance(each, AttachedPicture)]
            self._box.send(join_prompt([*pictures, *passages], question))

    def _on_ready(self, event: TargetReady) -> None:
        target = event.target
        self._context_size = target.context_size if target.server is None else None  # servers do not count
        self._box.clear_count()
        self._box.show_sight(target.name, target.sees_pictures, target.server is not None)
        self._box.chips.forget_tokens()
        self._on_chips_changed()
        self._on_edited()
