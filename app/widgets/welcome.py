from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QFont, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QWidget,
)

from app.icons import app_icon
from app.text.marked_words import QT_TRANSLATE_NOOP
from app.text.translation import translate
from app.theme import ThemeKeeper
from app.widgets.layouts import Gap, Placed, Stretch, in_column, in_row

EXAMPLES_PX = 500  # wide, at most
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
        QT_TRANSLATE_NOOP("Welcome", "Renting or buying?"),
        QT_TRANSLATE_NOOP("Welcome", "Compare renting and buying a flat: list what speaks for each."),
    ),
)


class Welcome(QScrollArea):
    """What a new chat shows before its first message; before the very first one, it also says what the app is.

    Signals:
        example_chosen(str): the prompt of an example.
        starter_requested(): the user wants to chat with the starter model.
        models_requested(): the user looks for a bigger model.
        file_requested(): the user has a model file.
    """

    example_chosen = Signal(str)
    starter_requested = Signal()
    models_requested = Signal()
    file_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        inside = QWidget(self, autoFillBackground=False)
        self._icon = QLabel(inside, alignment=Qt.AlignmentFlag.AlignCenter)
        self._title = QLabel(inside, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        self._line = QLabel(self.tr("The model runs on this computer. Nothing you write leaves it."), inside)
        self._line.setProperty("kind", "quiet")
        self._line.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._line.setWordWrap(True)
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
                self._line,
                _centred(self.introduction),
                Gap(22),
                _centred(self._frame),
                Stretch(4),
            ],
            inside=inside,
            margins=(24, 24, 24, 24),
        )
        self.setWidget(inside)
        self.show_introduction(False)
        keeper.changed.connect(self._draw_again)
        self._draw_again()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._draw_again()  # under a style sheet, a font set before there was a window is lost

    def show_introduction(self, shown: bool) -> None:
        """Whether to say what the app is and where models come from."""
        self._title.setText(self.tr("Welcome to Slipstream") if shown else self.tr("What can I help you with?"))
        self._line.setVisible(not shown)
        self.introduction.setVisible(shown)

    def _make_introduction(self, parent: QWidget) -> QWidget:
        introduction = QWidget(parent)
        about = QLabel(
            self.tr(
                "Slipstream lets you chat with language models that run on this computer. "
                "Everything stays here: nothing you write leaves this machine. "
                "The more you chat, the faster it gets, because it learns to guess what your model will write."
            ),
            introduction,
        )
        about.setWordWrap(True)
        about.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.starter_button = _choice(self.tr("Chat with the starter model"), introduction)
        self.starter_button.clicked.connect(self.starter_requested)
        starter = _about(self.tr("It is here and ready at once, but tiny: it makes many mistakes."), introduction)
        self.models_button = _choice(self.tr("Find a bigger model…"), introduction)
        self.models_button.clicked.connect(self.models_requested)
        models = _about(self.tr("It answers far better, and is downloaded once."), introduction)
        self.file_button = _choice(self.tr("Open a model file…"), introduction)
        self.file_button.clicked.connect(self.file_requested)
        file = _about(self.tr("If you have one already: a file that ends in .gguf."), introduction)
        choices = QGridLayout()
        choices.setHorizontalSpacing(12)
        choices.setVerticalSpacing(8)
        choices.setColumnStretch(1, 1)
        pairs = ((self.starter_button, starter), (self.models_button, models), (self.file_button, file))
        for row, (button, words) in enumerate(pairs):
            choices.addWidget(button, row, 0)
            choices.addWidget(words, row, 1)
        in_column([about, choices], inside=introduction, margins=(0, 6, 0, 0), spacing=18)
        return introduction

    def _make_examples(self) -> QGridLayout:
        examples = QGridLayout()
        examples.setContentsMargins(0, 0, 0, 0)
        examples.setSpacing(10)
        self.example_buttons: list[QPushButton] = []
        for index, (name, prompt) in enumerate(EXAMPLES):
            button = QPushButton(translate("Welcome", name), self)
            button.setProperty("kind", "example")
            button.setToolTip(translate("Welcome", prompt))
            button.setAccessibleDescription(translate("Welcome", prompt))
            button.setCursor(Qt.CursorShape.PointingHandCursor)
            button.setMinimumWidth(60)
            button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            button.clicked.connect(self._on_clicked)
            examples.addWidget(button, index // 2, index % 2)
            self.example_buttons.append(button)
        return examples

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

    @Slot()
    def _on_clicked(self) -> None:
        for button in self.example_buttons:
            if button is self.sender():
                self.example_chosen.emit(button.toolTip())


def _choice(words: str, parent: QWidget) -> QPushButton:
    button = QPushButton(words, parent)
    button.setProperty("kind", "outlined")
    button.setCursor(Qt.CursorShape.PointingHandCursor)
    return button


def _about(words: str, parent: QWidget) -> QLabel:
    label = QLabel(words, parent, wordWrap=True)
    label.setProperty("kind", "quiet")
    return label


def _centred(widget: QWidget) -> QHBoxLayout:
    return in_row([Stretch(), Placed(widget, 1000), Stretch()])
