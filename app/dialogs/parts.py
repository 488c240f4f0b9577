"""What dialogs share: their size and place, and questions before something is done that cannot be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QFrame, QMessageBox, QWidget

from app.text.translation import translate
from app.theme import ThemeKeeper
from app.widgets.layouts import Part, ScrollArea, Stretch, in_column, in_row
from app.widgets.parts import button, words

_MARGINS_PX = (18, 16, 18, 14)
_SCREEN_SHARE = 0.9
_CONTENTS_SHARE = 0.75  # of the height of the screen, for all but the buttons


def fit_to_screen(dialog: QWidget, keeper: ThemeKeeper, size_px: tuple[int, int]) -> None:
    """Gives it this size, grown with the text as far as the screen goes."""
    room = dialog.screen().availableSize() * _SCREEN_SHARE
    dialog.resize(min(keeper.px(size_px[0]), room.width()), min(keeper.px(size_px[1]), room.height()))


def show_in_front(window: QWidget) -> None:
    window.show()
    window.raise_()
    window.activateWindow()


def fill_dialog(dialog: QWidget, parts: Sequence[Part], buttons: Sequence[Part], spacing: int) -> None:
    """The parts from top to bottom, and below them the buttons in a row."""
    in_column([*parts, in_row(buttons)], inside=dialog, margins=_MARGINS_PX, spacing=spacing)


class FittingContents(ScrollArea):
    """As high as what is inside, as far as the screen goes."""

    def __init__(self, inside: QWidget, width_px: int, parent: QWidget) -> None:
        """`width_px` is the least width."""
        super().__init__("plain", parent)
        self._inside = inside
        self._width_px = width_px
        self.setWidget(inside)

    def minimumSizeHint(self) -> QSize:
        beside = self.verticalScrollBar().sizeHint().width()
        least = max(self._inside.minimumSizeHint().width() + beside, self._width_px)
        wanted = self._inside.heightForWidth(max(self.viewport().width(), least - beside))
        room = self.screen().availableSize().height() * _CONTENTS_SHARE
        return QSize(least, min(wanted, int(room)))

    def sizeHint(self) -> QSize:
        return self.minimumSizeHint()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()  # there is more or less inside
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.updateGeometry()


class Question(QFrame):
    """A question within a page. Hidden until it is asked.

    Signals:
        confirmed(): the user wants it.
        refused(): the user does not.
    """

    confirmed = Signal()
    refused = Signal()

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
    """A question in a window of its own, shown by `ask`; `more` is written below it."""
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setIcon(QMessageBox.Icon.NoIcon)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    box.setInformativeText(more)
    return box


def ask(box: QMessageBox, yes: str, on_yes: Callable[[], object]) -> QMessageBox:
    """`yes` is on the button; Return and Esc cancel."""
    box.addButton(button(yes, "outlined", box), QMessageBox.ButtonRole.AcceptRole)
    cancel = button(translate("QuestionBox", "Cancel"), "outlined", box)
    box.addButton(cancel, QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    box.accepted.connect(on_yes)
    box.open()
    return box
