"""What dialogs share: their size and place, and questions before something is done that cannot be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QCheckBox, QFrame, QMessageBox, QWidget

from app.text.translation import translate
from app.text.unseen import sentence
from app.theme import StyledWhenShown, text_px
from app.widgets.layouts import Part, Placed, ScrollArea, Stretch, in_column, in_row
from app.widgets.parts import button, words
from app.widgets.window_sizes import WindowSizes, hold_on_screen, room_for

_MARGINS_PX = (18, 16, 18, 14)
_LEAST_LINES = 5  # of the contents, which scroll where there is no room for all of them


class Dialog(StyledWhenShown):
    """Fits on its screen. It opens as large as the user left it there, else in its usual size, which grows with the
    text."""

    def __init__(
        self,
        usual_px: tuple[int, int],
        parent: QWidget | None = None,
        flags: Qt.WindowType = Qt.WindowType.Dialog,
    ) -> None:
        """`usual_px`: width and height; a height of 0 is that of the contents, also while they grow."""
        super().__init__(parent, flags)
        self._usual_px = usual_px
        self._given = QSize()  # the size that it has by itself
        self._is_opening = False  # until it is painted; the frame around it is known by then

    # Qt's own

    def setVisible(self, visible: bool) -> None:
        if visible and not self.isVisible():
            self.take_style()
            self._give(self._fitting())
            sizes = WindowSizes.of(self)
            kept = None if sizes is None else sizes.kept(self)
            if kept is not None:
                self.resize(kept.boundedTo(room_for(self)))
        self._is_opening = visible
        super().setVisible(visible)
        if visible:
            hold_on_screen(self)

    def hideEvent(self, event: QHideEvent) -> None:
        sizes = WindowSizes.of(self)
        if sizes is not None and not event.spontaneous() and self.size() != self._given:
            sizes.keep(self)
        super().hideEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and self._is_opening:
            self._is_opening = False
            hold_on_screen(self)
        handled = super().event(event)
        if event.type() != QEvent.Type.LayoutRequest or self._usual_px[1]:
            return handled  # after which there may be no dialog any more
        if self.isVisible() and self.size() == self._given:
            self._give(self._fitting().expandedTo(self.size()))
        return handled

    def _give(self, size: QSize) -> None:
        self.resize(size)
        self._given = self.size()  # which has not become less than its parts need
        if self.isVisible():
            hold_on_screen(self)

    def _fitting(self) -> QSize:
        self.ensurePolished()  # else its parts have other sizes
        for part in reversed(self.findChildren(QWidget)):  # and what they hold has changed since they were made
            inner = part.layout()
            if inner is not None:
                inner.activate()
        room, layout = room_for(self), self.layout()
        usual = QSize(*map(text_px, self._usual_px)).boundedTo(room)
        if self._usual_px[1] or layout is None:
            return usual
        width = min(max(usual.width(), layout.totalMinimumSize().width()), room.width())
        self.resize(width, max(1, self.height()))
        layout.invalidate()
        layout.activate()
        for contents in self.findChildren(_Contents):  # they have their width now, and so their height
            contents.updateGeometry()
        height = layout.totalHeightForWidth(width) if layout.hasHeightForWidth() else layout.totalSizeHint().height()
        return QSize(width, min(height, room.height()))


def show_in_front(window: QWidget) -> None:
    window.show()
    window.raise_()
    window.activateWindow()


def fill_dialog(
    dialog: QWidget, contents: Sequence[Part], buttons: Sequence[Part], spacing: int, below: Sequence[Part] = ()
) -> None:
    """Stacks the contents, which scroll in a low window, the parts `below` them, and a row of buttons that always stays
    in sight."""
    parts = [*below, in_row(buttons)]
    if contents:
        inside = QWidget(dialog)
        inside.setObjectName("inside")
        in_column(contents, inside=inside, margins=(0, 0, 2, 0), spacing=spacing)
        parts.insert(0, Placed(_Contents(inside, dialog), 1))
    in_column(parts, inside=dialog, margins=_MARGINS_PX, spacing=spacing)


class _Contents(ScrollArea):
    """Wants to be as high as what is inside."""

    def __init__(self, inside: QWidget, parent: QWidget) -> None:
        super().__init__("plain", parent)
        self._inside = inside
        self.setWidget(inside)

    def minimumSizeHint(self) -> QSize:
        height = min(self.sizeHint().height(), _LEAST_LINES * self.fontMetrics().lineSpacing())
        return QSize(super().minimumSizeHint().width(), height)

    def sizeHint(self) -> QSize:
        width = self.width()
        if self._inside.hasHeightForWidth():
            least = self._inside.minimumSizeHint().height()
            return QSize(width, max(least, self._inside.heightForWidth(width)))
        return QSize(width, self._inside.sizeHint().height())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._show_bar()
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.updateGeometry()  # lines are broken at other words
        self._show_bar()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_bar()

    def _show_bar(self) -> None:
        """Qt keeps a bar that was needed for a moment, as the lines next to it need more room. Not before that is
        shown: it would miss its new size."""
        if not self._inside.isVisible():
            return
        fits = self.sizeHint().height() <= self.height()
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(policy.ScrollBarAlwaysOff if fits else policy.ScrollBarAsNeeded)


class InlineQuestion(QFrame):
    """A question within a page. Hidden until it is asked."""

    confirmed = Signal()  # the user wants it
    refused = Signal()  # the user does not

    def __init__(self, yes: str, parent: QWidget, condition: str = "") -> None:
        """`yes` is on the button; a `condition` must be ticked first."""
        super().__init__(parent)
        self.setProperty("kind", "question")
        self.words = words("", self)
        self.condition = QCheckBox(condition, self)
        self.condition.setVisible(bool(condition))
        self._has_condition = bool(condition)
        self.yes_button = button(yes, "danger", self, lambda: self._answer(self.confirmed))
        self.no_button = button(self.tr("Cancel"), "outlined", self, lambda: self._answer(self.refused))
        buttons = in_row([Stretch(), self.no_button, self.yes_button])
        in_column([self.words, self.condition, buttons], inside=self, margins=(14, 12, 14, 12), spacing=10)
        self.condition.toggled.connect(self._show_condition)
        self.hide()

    def ask(self, text: str) -> None:
        self.words.setText(text)
        self.condition.setChecked(False)
        self._show_condition()
        self.show()
        self.no_button.setFocus()

    @Slot()
    def _show_condition(self) -> None:
        self.yes_button.setEnabled(self.condition.isChecked() or not self._has_condition)

    def _answer(self, answer: SignalInstance) -> None:
        self.hide()
        answer.emit()


def question_box(parent: QWidget, title: str, text: str, more: str = "") -> QMessageBox:
    """A question in a window of its own, shown by `ask`, with `more` below it."""
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setIcon(QMessageBox.Icon.NoIcon)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(sentence(text))
    box.setInformativeText(sentence(more))
    return box


def ask(box: QMessageBox, yes: str, on_yes: Callable[[], object], no: str = "") -> QMessageBox:
    """Adds the buttons `yes` and `no`, and opens the box; Return and Esc cancel."""
    box.addButton(button(yes, "outlined", box), QMessageBox.ButtonRole.AcceptRole)
    cancel = button(no or translate("QuestionBox", "Cancel"), "outlined", box)
    box.addButton(cancel, QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    box.accepted.connect(on_yes)
    box.open()
    return box


class MoreSection(QWidget):
    """Rarely used parts that a button shows and hides."""

    def __init__(self, inside: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._inside = inside
        self.button = button("", "outlined", self)
        self.button.setCheckable(True)
        self.button.toggled.connect(self._show_inside)
        in_column([Placed(self.button, alignment=Qt.AlignmentFlag.AlignLeft), inside], inside=self, spacing=8)
        self._show_inside()

    @Slot()
    def _show_inside(self) -> None:
        is_open = self.button.isChecked()
        self._inside.setVisible(is_open)
        self.button.setText(self.tr("Less") if is_open else self.tr("More"))
        self.button.setAccessibleDescription(self.tr("Shows or hides settings that are rarely needed."))
