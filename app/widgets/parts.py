"""What windows and dialogs are made of, each part built in one expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QSize, Qt, SignalInstance, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QLabel, QLineEdit, QProgressBar, QPushButton, QTabWidget, QWidget

from app.text.unseen import in_tip, one_line, sentence
from app.theme import ThemeKeeper

if TYPE_CHECKING:
    _Button = QAbstractButton
else:
    _Button = object  # a class has one widget among its bases

ENTER_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_Widget = TypeVar("_Widget", bound=QWidget)
_STEPS = 1_000  # of a bar from empty to full


def set_up(widget: _Widget, *, kind: str = "", name: str = "", tip: str = "", about: str = "") -> _Widget:
    """Returns the widget with one of the theme's kinds, a tooltip, and a name and description for screen readers."""
    if kind:
        widget.setProperty("kind", kind)
    if name:
        widget.setAccessibleName(name)
    if tip:
        widget.setToolTip(in_tip(tip))
    if about:
        widget.setAccessibleDescription(about)
    return widget


def show_text(label: QLabel | QAbstractButton, text: str) -> None:
    """Shows the text; an empty one hides the label."""
    label.setText(text)
    label.setVisible(bool(text))


def announce(widget: QWidget, words: str) -> None:
    """Has screen readers say this, wherever the keyboard is."""
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, words))


def discard(widget: QWidget) -> None:
    """Hides the widget at once, and deletes it when nothing uses it any more."""
    widget.hide()
    widget.deleteLater()


def keep_place(widget: _Widget) -> _Widget:
    """Keeps the room of a hidden widget, so that nothing moves."""
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    widget.setSizePolicy(policy)
    return widget


class PressedByEnter(_Button):
    """Comes before the button among the bases of a class. Enter presses it where it has the focus, as Space does; Qt
    leaves that to the desktop, and in a dialog to the default button."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() not in ENTER_KEYS:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat():
            self.click()


class Button(PressedByEnter, QPushButton):
    """Words that can be pressed."""


def button(
    words: str,
    kind: str,
    parent: QWidget,
    on_click: Callable[..., object] | SignalInstance | None = None,
    *,
    tip: str = "",
    has_hand: bool = False,
) -> Button:
    """`on_click` is called, or emitted if it is a signal. Enter presses the button only while it has the focus or is
    the dialog's default."""
    made = set_up(Button(words, parent, autoDefault=False), kind=kind, tip=tip)
    if has_hand:
        made.setCursor(Qt.CursorShape.PointingHandCursor)
    if on_click is not None:
        made.clicked.connect(on_click)
    return made


def words(text: str, parent: QWidget, kind: str = "") -> QLabel:
    """Sentences that can be selected and copied; `kind` is the theme's."""
    label = Sentences(text, parent)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return set_up(label, kind=kind)


class Sentences(QLabel):
    """Plain text that wraps, in which words of users and files may stand. What is very long is cut: laying it out would
    take seconds."""

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(sentence(text), parent, textFormat=Qt.TextFormat.PlainText, wordWrap=True)

    def setText(self, text: str) -> None:
        super().setText(sentence(text))


def line(parent: QWidget) -> QFrame:
    """A line between parts."""
    made = set_up(QFrame(parent), kind="line")
    made.setFixedHeight(1)
    return made


def search_line(words: str, parent: QWidget, on_change: Callable[[], object]) -> QLineEdit:
    """A search field, named by the `words` that it shows while empty."""
    field = QLineEdit(parent, placeholderText=words, clearButtonEnabled=True)
    field.textChanged.connect(on_change)
    return set_up(field, name=words)


class ProgressLine(QProgressBar):
    """A thin bar without words."""

    def __init__(self, name: str, parent: QWidget, height_px: int = 4) -> None:
        """`name` is for screen readers."""
        super().__init__(parent, maximum=_STEPS, textVisible=False)
        self.setFixedHeight(height_px)
        self.setAccessibleName(name)

    def show_share(self, share: float | None) -> None:
        """Shows a share, 0 … 1, of which more counts as 1. None: something is under way, without a known share."""
        self.setMaximum(0 if share is None else _STEPS)
        self.setValue(0 if share is None else round(min(1.0, share) * _STEPS))


class Tabs(QTabWidget):
    """Pages, each with a name above."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, documentMode=True)
        self.setProperty("kind", "pages")
        self.tabBar().setProperty("kind", "pages")
        self.tabBar().setDrawBase(False)


class ElidedLabel(QLabel):
    """A line of plain text that is shortened where there is no room for it. All of it is in its tooltip then, and said
    by a screen reader."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, textFormat=Qt.TextFormat.PlainText)
        self.words = ""
        self._tip = ""
        self.setMinimumWidth(20)

    def setToolTip(self, words: str) -> None:
        self._tip = in_tip(words)
        self._elide()

    def set_words(self, words: str) -> None:
        self.words = one_line(words)
        self.setAccessibleName(self.words)
        self._elide()

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self.words) + 2, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        self.setText(self.fontMetrics().elidedText(self.words, Qt.TextElideMode.ElideRight, self.width()))
        whole = self.words if self.text() != self.words and self.words not in self._tip else ""
        super().setToolTip("\n".join(filter(None, (whole, self._tip))))


class Sign(QLabel):
    """An icon in a colour of the theme."""

    def __init__(
        self, keeper: ThemeKeeper, icon: str, token: str, parent: QWidget, icon_px: int = 18, width_px: int = 18
    ) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._icon = (icon, token)
        self._icon_px, self._width_px = icon_px, width_px
        keeper.changed.connect(self._draw)
        self._draw()

    @Slot()
    def _draw(self) -> None:
        icon_px = self._keeper.px(self._icon_px)
        self.setFixedWidth(self._keeper.px(self._width_px))
        self.setPixmap(self._keeper.icon(*self._icon).pixmap(icon_px, icon_px))
