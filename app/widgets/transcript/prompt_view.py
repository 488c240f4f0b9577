"""A prompt in a bubble."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QEnterEvent, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.theme import ThemeKeeper
from app.widgets.parts import button, discard, set_up
from app.widgets.prompt.attached_files import AttachedFiles
from app.widgets.prompt.attached_pictures import AttachedPictures
from app.widgets.prompt.pictures import Pictures
from app.widgets.prompt.prompt_editor import SHARE_OF_WINDOW, PromptRevision
from app.widgets.transcript.footers import BranchFlipper, PromptFooter
from app.widgets.transcript.message_view import PARAGRAPH_GAP_PX, SPACE_ABOVE_PX, SPACE_BELOW_PX, MessageView, beginning
from app.widgets.words.joined_text import JoinedSelection
from app.widgets.words.prose import Prose
from engine.values.prompts import AttachedPicture, Attachment, split_prompt, with_names

BUBBLE_SHARE = 0.82  # of the column, at most
BUBBLE_PADDING_PX = 14
BUBBLE_RADIUS_PX = 16
SHORTENED_LINES = 24  # of a long prompt, until its button is pressed
SHORTENED_CHARACTERS = 2_400
SHOWN_OF_PROMPT = 20_000  # characters, when its button was pressed: they are in one widget
_SHOWN_LINES = 2_000


class PromptView(MessageView):
    """A prompt as plain text in a bubble, below its pictures and files; a long one is shortened until its button is
    pressed. It can be edited in place."""

    copied = Signal(str)  # the prompt was copied to the clipboard
    edit_requested = Signal()  # see `revise`
    revision_changed = Signal(object)  # (str | None) the text it is being changed to; None when it is no longer edited
    revision_submitted = Signal(str)  # the new prompt
    branch_chosen = Signal(int)  # show another version of it, by its id
    retry_requested = Signal()  # have it answered, which it is not yet

    def __init__(self, keeper: ThemeKeeper, pictures: Pictures, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = text
        attachments, text = split_prompt(text)
        self._keeper = keeper
        self._pictures = pictures
        self._text = text
        self._bubble = QRectF()
        self.revision: PromptRevision | None = None
        seen = [each for each in attachments if isinstance(each, AttachedPicture)]
        files = tuple(each for each in attachments if isinstance(each, Attachment))
        self.pictures = AttachedPictures(keeper, pictures, seen, self) if seen else None
        self.files = AttachedFiles(keeper, files, self) if files else None
        if self.files is not None:
            self.files.height_changed.connect(self.height_changed)
        self.prose = set_up(Prose(keeper, self), name=self.tr("Your message"))
        self.prose.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # it is part of the row's
        self.all_button = button(self.tr("Show more"), "link", self, self._show_all, has_hand=True)
        self.prose.joined = JoinedSelection(lambda: [self.prose], self)
        shortened = _shortened(text)
        self.prose.set_plain_text(shortened if shortened == text else shortened + " …")
        self._shortened = shortened != text
        self.all_button.setVisible(self._shortened)
        self.footer = PromptFooter(keeper, self)
        self.footer.copy_requested.connect(self._copy)
        self.footer.edit_requested.connect(self.edit_requested)
        self.footer.retry_requested.connect(self.retry_requested)
        self.footer.flipper.chosen.connect(self.branch_chosen)
        self.prose.setVisible(self._has_words)
        keeper.changed.connect(self.update)

    @property
    def flipper(self) -> BranchFlipper:
        return self.footer.flipper

    @property
    def _has_words(self) -> bool:
        return bool(self._text) or (self.files is None and self.pictures is None)

    def revise(self, text: str) -> None:
        """Opens the prompt for editing, with this text."""
        self.end_revision()
        self.revision = PromptRevision(text, self._keeper, self._pictures, self)
        self.revision.edited.connect(self._on_revision_edited)
        self.revision.submitted.connect(self.revision_submitted)
        self.revision.cancelled.connect(self._on_revision_cancelled)
        self._show_parts()

    def end_revision(self) -> None:
        if self.revision is not None:
            discard(self.revision)
            self.revision = None
            self._show_parts()

    def arrange(self, width: int) -> int:
        if self.revision is not None:
            inner = int(width * BUBBLE_SHARE)
            height = self.revision.arrange(inner, int(self.window().height() * SHARE_OF_WINDOW))
            self.revision.move(width - inner, SPACE_ABOVE_PX)
            return SPACE_ABOVE_PX + height + SPACE_BELOW_PX
        widest = int(width * BUBBLE_SHARE) - 2 * BUBBLE_PADDING_PX
        inner = max(24, min(widest, self.prose.ideal_width(widest)))
        top = SPACE_ABOVE_PX + BUBBLE_PADDING_PX - 2  # the space between lines is below each
        parts = [part for part in (self.pictures, self.files) if part is not None]
        inner = max([inner if self._has_words else 0, *(part.ideal_width(widest) for part in parts)])
        for part in parts:
            part.move(width - inner - BUBBLE_PADDING_PX, top)
            top += part.arrange(inner) + (PARAGRAPH_GAP_PX if self._text or part is not parts[-1] else 5)
        height = self.prose.arrange(inner) if not self.prose.isHidden() else 0
        left = width - inner - BUBBLE_PADDING_PX
        self.prose.move(left, top)
        bottom = top + height + BUBBLE_PADDING_PX - 7
        bottom += self._place_cut(left, bottom - 4, inner)
        if self._shortened:
            size = self.all_button.sizeHint()
            self.all_button.setGeometry(left - 8, bottom - 6, size.width(), size.height())
            bottom += size.height()
        self._bubble = QRectF(
            left - BUBBLE_PADDING_PX, SPACE_ABOVE_PX, inner + 2 * BUBBLE_PADDING_PX, bottom - SPACE_ABOVE_PX
        )
        height = self.footer.sizeHint().height()
        self.footer.setGeometry(0, bottom + 2, width, height)
        return bottom + height + 4

    def enterEvent(self, event: QEnterEvent) -> None:
        self.footer.set_revealed(True)
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self.footer.set_revealed(False)
        super().leaveEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        if self.revision is not None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._keeper.theme.bubble))
        painter.drawRoundedRect(self._bubble, BUBBLE_RADIUS_PX, BUBBLE_RADIUS_PX)
        painter.end()

    @Slot()
    def _show_all(self) -> None:
        self._shortened = False
        shown = beginning(self._text, SHOWN_OF_PROMPT, _SHOWN_LINES)
        self.prose.set_plain_text(shown)
        self.show_cut(len(shown), len(self._text))
        self._show_parts()

    def _show_parts(self) -> None:
        is_shown = self.revision is None
        self.prose.setVisible(is_shown and self._has_words)
        for part in (self.pictures, self.files):
            if part is not None:
                part.setVisible(is_shown)
        self.footer.setVisible(is_shown)
        if self.cut is not None:
            self.cut.setVisible(is_shown)
        self.all_button.setVisible(is_shown and self._shortened)
        if self.revision is not None:
            self.revision.show()
        self.update()
        self.height_changed.emit()

    @Slot()
    def _on_revision_edited(self) -> None:
        if self.revision is not None:
            self.height_changed.emit()
            self.revision_changed.emit(self.revision.text)

    @Slot()
    def _on_revision_cancelled(self) -> None:
        self.end_revision()
        self.revision_changed.emit(None)

    @Slot()
    def _copy(self) -> None:
        text = with_names(self._whole)
        QGuiApplication.clipboard().setText(text)
        self.copied.emit(text)


def _shortened(text: str) -> str:
    """The beginning of a long text, or all of a short one."""
    start = beginning(text, SHORTENED_CHARACTERS, SHORTENED_LINES)
    return start if len(text) > len(start) + SHORTENED_CHARACTERS // 4 else text
