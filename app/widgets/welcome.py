"""What a new chat shows before its first message."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QFont, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QGridLayout, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.text.translation import QT_TRANSLATE_NOOP, translate
from app.theme import ThemeKeeper, app_icon
from app.widgets.layouts import Gap, Placed, ScrollArea, Stretch, in_column, in_grid, in_row
from app.widgets.parts import button, set_up

EXAMPLES_PX = 500  # wide, at most
_MARGIN_PX = 24
_BETWEEN_PX = 10  # examples
ICON_PX = 64
EXAMPLES = (
    (
        QT_TRANSLATE_NOOP("Welcome", "How rainbows form"),
        QT_TRANSLATE_NOOP("Welcome", "Explain how a rainbow forms, in simple words."),
    ),
    (
        QT_TRANSLATE_NOOP("Welcome", "A friendly e-mail"),
        QT_TRANSLATE_NOOP("Welcome", "Write a short, friendly e-mail that moves a meeting to next Tuesday."),
    ),
    (
        QT_TRANSLATE_NOOP("Welcome", "Find duplicate files"),
        QT_TRANSLATE_NOOP("Welcome", "Write a Python function that finds duplicate files, and explain it."),
    ),
    (
        QT_TRANSLATE_NOOP("Welcome", "Rent or buy?"),
        QT_TRANSLATE_NOOP("Welcome", "Compare renting and buying a flat: list the arguments for each."),
    ),
)


class Welcome(ScrollArea):
    """A greeting and example prompts; before the very first message, what the app is and where models come from."""

    example_chosen = Signal(str)  # the prompt of an example
    starter_requested = Signal()  # the user wants to chat with the starter model
    models_requested = Signal()  # the user wants a bigger model
    file_requested = Signal()  # the user has a model file

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__("plain", parent)
        self._keeper = keeper
        self.viewport().setAutoFillBackground(False)
        inside = QWidget(self, autoFillBackground=False)
        centre = Qt.AlignmentFlag.AlignCenter
        self._icon = QLabel(inside, alignment=centre)
        self._title = QLabel(inside, alignment=centre, wordWrap=True)
        self.line = set_up(QLabel(inside, alignment=centre, wordWrap=True), kind="quiet")
        self.show_place("")
        self.introduction = self._make_introduction(inside)
        self._frame = QWidget(inside)
        self._frame.setLayout(self._make_examples())
        in_column(
            [
                Stretch(3),
                self._icon,
                Gap(14),
                self._title,
                Gap(4),
                self.line,
                _centred(self.introduction),
                Gap(22),
                _centred(self._frame),
                Stretch(4),
            ],
            inside=inside,
            margins=(_MARGIN_PX,) * 4,
        )
        self.setWidget(inside)
        self.show_introduction(False)
        keeper.changed.connect(self._draw_again)
        self._draw_again()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._draw_again()  # under a style sheet, a font set before there was a window is lost

    def set_covered(self, height_px: int) -> None:
        """Keeps the page below what covers the top."""
        self.setViewportMargins(0, height_px, 0, 0)

    def show_introduction(self, shown: bool) -> None:
        """Sets whether to introduce the app and say where models come from."""
        self._title.setText(self.tr("Welcome to Slipstream") if shown else self.tr("What can I help you with?"))
        self.line.setVisible(not shown)
        self.introduction.setVisible(shown)

    def show_place(self, place: str) -> None:
        """Shows where the model in use runs: a server's host; empty: here."""
        here = self.tr("The model runs on this computer. Nothing you write leaves it.")
        there = self.tr("The model runs on {place}. What you write goes there.")
        self.line.setText(there.format(place=place) if place else here)

    def _make_introduction(self, parent: QWidget) -> QWidget:
        introduction = QWidget(parent)
        about = QLabel(introduction, wordWrap=True, alignment=Qt.AlignmentFlag.AlignCenter)
        about.setText(
            self.tr(
                "Chat with language models that run on this computer. Nothing you write leaves it. The more you "
                "chat, the faster it gets: Slipstream learns to guess what your model will write."
            )
        )
        starter, models, file = self.starter_requested, self.models_requested, self.file_requested
        self.starter_button = _choice(self.tr("Chat with the starter model"), introduction, starter)
        self.models_button = _choice(self.tr("Find a bigger model…"), introduction, models)
        self.file_button = _choice(self.tr("Open a model file…"), introduction, file)
        about_starter = self.tr("Ready at once, but tiny: it makes many mistakes.")
        about_models = self.tr("Answers far better; a single download.")
        about_file = self.tr("If you already have one: a file that ends in .gguf.")
        choices = in_grid(
            [
                [self.starter_button, _about(about_starter, introduction)],
                [self.models_button, _about(about_models, introduction)],
                [self.file_button, _about(about_file, introduction)],
            ],
            spacing=(12, 8),
            stretches=(0, 1),
        )
        in_column([about, choices], inside=introduction, margins=(0, 6, 0, 0), spacing=18)
        return introduction

    def _make_examples(self) -> QGridLayout:
        self.example_buttons = [self._example(name, translate("Welcome", prompt)) for name, prompt in EXAMPLES]
        self._num_columns = 2
        return in_grid([self.example_buttons[:2], self.example_buttons[2:]], spacing=(_BETWEEN_PX, _BETWEEN_PX))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_examples()

    def _fit_examples(self) -> None:
        """Places the examples next to each other if their words fit, which are longer in some languages."""
        room_px = min(self.viewport().width() - 2 * _MARGIN_PX, self._frame.maximumWidth())
        wanted_px = 2 * max(each.sizeHint().width() for each in self.example_buttons) + _BETWEEN_PX
        num_columns = 2 if wanted_px <= room_px else 1
        grid = self._frame.layout()
        if num_columns == self._num_columns or not isinstance(grid, QGridLayout):
            return
        self._num_columns = num_columns
        for place, each in enumerate(self.example_buttons):
            grid.addWidget(each, *divmod(place, num_columns))

    def _example(self, name: str, prompt: str) -> QPushButton:
        words = translate("Welcome", name)
        made = button(words, "example", self, lambda: self.example_chosen.emit(prompt), tip=prompt, has_hand=True)
        made.setAccessibleDescription(prompt)
        made.setMinimumWidth(60)
        made.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        return made

    @Slot()
    def _draw_again(self) -> None:
        icon_px = self._keeper.px(ICON_PX)
        self._icon.setPixmap(app_icon().pixmap(icon_px, icon_px))
        font = QApplication.font()
        font.setPointSizeF(font.pointSizeF() * 1.9)
        font.setWeight(QFont.Weight.DemiBold)
        self._title.setFont(font)
        for part in (self._frame, self.introduction):
            part.setMaximumWidth(self._keeper.px(EXAMPLES_PX))


def _choice(words: str, parent: QWidget, chosen: SignalInstance) -> QPushButton:
    return button(words, "outlined", parent, chosen, has_hand=True)


def _about(words: str, parent: QWidget) -> QLabel:
    return set_up(QLabel(words, parent, wordWrap=True), kind="quiet")


def _centred(widget: QWidget) -> QHBoxLayout:
    return in_row([Stretch(), Placed(widget, 1000), Stretch()])
