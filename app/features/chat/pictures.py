"""Pictures of the open conversation, small in the window and large in a dialog."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QImage, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.engine_bridge import EngineBridge
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller
from app.main_window import MainWindow
from app.text.unseen import one_line
from app.widgets.dialog_parts import Dialog, fill_dialog
from app.widgets.layouts import Placed, Stretch
from app.widgets.parts import button, set_up
from app.widgets.prompt.picture_images import fitting_image, within
from app.widgets.prompt.pictures import picture_words
from app.widgets.window_sizes import room_for
from engine.values.events import ConversationForgotten, EverythingForgotten, PromptStored
from engine.values.pictures import Picture
from engine.values.requests import Failure

_AROUND_PX = QSize(40, 90)  # what is around the picture: margins, and the row of its button
_LEAST_PX = QSize(320, 240)


class PictureDialog(Dialog):
    """One picture, in its own size or as large as the screen allows."""

    def __init__(self, image: QImage, name: str, words: str, parent: QWidget | None = None) -> None:
        """`words` describe it for screen readers."""
        super().__init__((1, 1), parent)
        self.setWindowTitle(one_line(name))
        self.view = set_up(_ImageView(image, self), name=words)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        fill_dialog(self, [], [Stretch(), self.close_button], spacing=12, below=[Placed(self.view, 1)])
        self.close_button.setFocus()

    def _fitting(self) -> QSize:
        shown = within(self.view.sizeHint(), room_for(self) - _AROUND_PX)
        return (shown + _AROUND_PX).expandedTo(_LEAST_PX)


class _ImageView(QWidget):
    """An image, whole and never larger than it is."""

    def __init__(self, image: QImage, parent: QWidget) -> None:
        super().__init__(parent)
        self._image = image
        self._pixmap: QPixmap | None = None  # of the size it has now
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return self._image.deviceIndependentSize().toSize()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        ratio = self.devicePixelRatioF()
        size = within(self._image.size(), self.size() * ratio)
        if self._pixmap is None or self._pixmap.size() != size:
            smooth = Qt.TransformationMode.SmoothTransformation
            self._pixmap = QPixmap.fromImage(self._image.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, smooth))
            self._pixmap.setDevicePixelRatio(ratio)
        shown = self._pixmap.deviceIndependentSize().toSize()
        painter = QPainter(self)
        painter.drawPixmap((self.width() - shown.width()) // 2, (self.height() - shown.height()) // 2, self._pixmap)
        painter.end()


class PicturesController(Controller):
    """Asks the open conversation for the pictures that are shown. Made before all that may show some."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, conversations: ConversationsController) -> None:
        super().__init__(window, bridge)
        self._conversations = conversations
        self._pictures = window.pictures
        self._asked: set[tuple[int, str]] = set()  # not answered yet, by conversation and digest
        self._opened: dict[str, str] = {}  # names of those to be shown large, by digest
        # Queued: who asks is still being made, and has to hear the answer.
        self._pictures.wanted.connect(self._ask, Qt.ConnectionType.QueuedConnection)
        self._pictures.open_requested.connect(self._open)
        bridge.listen(PromptStored, self._on_prompt_stored)
        bridge.listen(ConversationForgotten, self._on_forgotten)
        bridge.listen(EverythingForgotten, self._on_everything_forgotten)

    @Slot(str)
    def _ask(self, digest: str) -> None:
        open_id = self._conversations.open_id
        if open_id is None:  # a new chat holds none
            self._pictures.miss(digest)
        elif (open_id, digest) not in self._asked:
            self._asked.add((open_id, digest))
            request = self._bridge.ask(self._bridge.engine.chats.picture, open_id, digest)
            request.answered.connect(partial(self._show, open_id, digest))
            request.failed.connect(partial(self._on_failed, open_id, digest))

    def _on_failed(self, conversation_id: int, digest: str, failure: Failure) -> None:
        self._asked.discard((conversation_id, digest))
        self._opened.pop(digest, None)
        self._window.toasts.show_error(failure.sentence)

    def _show(self, conversation_id: int, digest: str, picture: Picture | None) -> None:
        self._asked.discard((conversation_id, digest))
        if picture is not None:
            self._pictures.show_small(picture)
            self._show_large(picture)
        elif conversation_id == self._conversations.open_id:
            self._on_missing(digest)

    @Slot(str, str)
    def _open(self, digest: str, name: str) -> None:
        self._opened[digest] = name
        fresh = self._pictures.fresh(digest)
        if fresh is not None:
            self._show_large(fresh)
        else:
            self._ask(digest)

    def _on_prompt_stored(self, event: PromptStored) -> None:
        self._pictures.settle(event.message.text)

    def _on_forgotten(self, _event: ConversationForgotten) -> None:
        self._pictures.forget_small()

    def _on_everything_forgotten(self, _event: EverythingForgotten) -> None:
        self._pictures.forget()

    def kept(self) -> tuple[Picture, ...]:
        return self._pictures.all_fresh

    def resume(self, kept: tuple[Picture, ...]) -> None:
        for picture in kept:
            self._pictures.add(picture)

    def _show_large(self, picture: Picture) -> None:
        """Shows the picture large, if the user asked for that."""
        name = self._opened.pop(picture.digest, None)
        if name is not None:
            room = self._window.screen().size() * self._window.devicePixelRatioF()
            show = partial(self._show_dialog, name, picture)
            self._pictures.thread_beside.do(partial(fitting_image, picture, room), show)

    def _on_missing(self, digest: str) -> None:
        self._pictures.miss(digest)
        if name := self._opened.pop(digest, ""):
            self._window.toasts.show_info(self.tr("{file} is no longer there.").format(file=name))

    def _show_dialog(self, name: str, picture: Picture, image: QImage | None) -> None:
        if image is None:
            self._pictures.miss(picture.digest)
            return
        image.setDevicePixelRatio(self._window.devicePixelRatioF())
        words = picture_words(name, picture)
        dialog = PictureDialog(image, name, words, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
