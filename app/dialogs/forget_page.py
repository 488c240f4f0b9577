"""Forgets what was learned, or everything."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QWidget

from app.dialogs.parts import Question, button, words
from app.text.marked_words import QT_TRANSLATE_NOOP
from app.widgets.layouts import Placed, Stretch, in_column

_ABOUT_LEARNED = QT_TRANSLATE_NOOP(
    "ForgetPage",
    "Removes adapters, n-grams, the replies kept to learn from and what recall remembers, of all models. Your chats "
    "stay.",
)
_ASK_LEARNED = QT_TRANSLATE_NOOP(
    "ForgetPage",
    "Forget what was learned, for good? Adapters, n-grams, the replies kept to learn from and texts that came with "
    "profiles go, and are erased from the files too. Your chats, models and settings stay, and recall reads your chats "
    "again. What the drafter had learned cannot be made again from them.",
)
_ABOUT_EVERYTHING = QT_TRANSLATE_NOOP(
    "ForgetPage", "Removes all chats as well, with prompts that were not sent. Models and settings stay."
)
_ASK_EVERYTHING = QT_TRANSLATE_NOOP(
    "ForgetPage",
    "Forget everything, for good? All chats go, also those you could still bring back, with prompts that were not sent "
    "and all that was learned. Their text is erased from the files too. A reply that is being written is stopped. "
    "Models, settings, and files you exported stay.",
)


class ForgetPage(QWidget):
    """Asks before it tells of anything.

    Signals:
        forget_learned(): what was learned is to be forgotten; confirmed.
        forget_everything(): so is all else; confirmed.
    """

    forget_learned = Signal()
    forget_everything = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.learned_button = button(self.tr("Forget what was learned…"), "outlined", self)
        self.learned_question = Question(self.tr("Forget what was learned"), self)
        self.everything_button = button(self.tr("Forget everything…"), "outlined", self)
        self.everything_question = Question(
            self.tr("Forget everything"), self, self.tr("Yes, delete all my chats and all that was learned")
        )
        line = QFrame(self)
        line.setProperty("kind", "line")
        line.setFixedHeight(1)
        in_column(
            [
                words(self.tr("What was learned"), self, kind="title"),
                words(self.tr(_ABOUT_LEARNED), self, kind="quiet"),
                Placed(self.learned_button, alignment=Qt.AlignmentFlag.AlignLeft),
                self.learned_question,
                line,
                words(self.tr("Everything"), self, kind="title"),
                words(self.tr(_ABOUT_EVERYTHING), self, kind="quiet"),
                Placed(self.everything_button, alignment=Qt.AlignmentFlag.AlignLeft),
                self.everything_question,
                Stretch(),
            ],
            inside=self,
            margins=(0, 4, 12, 4),
            spacing=10,
        )
        self.learned_button.clicked.connect(self._ask_learned)
        self.everything_button.clicked.connect(self._ask_everything)
        self.learned_question.refused.connect(self.close_questions)
        self.everything_question.refused.connect(self.close_questions)
        self.learned_question.confirmed.connect(self._on_learned)
        self.everything_question.confirmed.connect(self._on_everything)

    def set_busy(self, is_busy: bool) -> None:
        self.learned_button.setEnabled(not is_busy)
        self.everything_button.setEnabled(not is_busy)

    @Slot()
    def close_questions(self) -> None:
        self.learned_question.hide()
        self.everything_question.hide()
        self.learned_button.show()
        self.everything_button.show()

    @Slot()
    def _ask_learned(self) -> None:
        self.close_questions()
        self.learned_button.hide()
        self.learned_question.ask(self.tr(_ASK_LEARNED))

    @Slot()
    def _ask_everything(self) -> None:
        self.close_questions()
        self.everything_button.hide()
        self.everything_question.ask(self.tr(_ASK_EVERYTHING))

    @Slot()
    def _on_learned(self) -> None:
        self.close_questions()
        self.forget_learned.emit()

    @Slot()
    def _on_everything(self) -> None:
        self.close_questions()
        self.forget_everything.emit()
