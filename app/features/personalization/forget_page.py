"""The page that forgets what was learned, or everything."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.text.translation import QT_TRANSLATE_NOOP
from app.widgets.dialog_parts import InlineQuestion
from app.widgets.layouts import Placed, Stretch, in_column
from app.widgets.parts import button, line, words

_ABOUT_LEARNED = QT_TRANSLATE_NOOP(
    "ForgetPage",
    "Deletes what speed-up learned from your chats, for all models. Your chats stay.",
)
_ASK_LEARNED = QT_TRANSLATE_NOOP(
    "ForgetPage",
    "Forget what was learned? This erases snapshots, word patterns, the replies to learn from, and texts from "
    "profiles. Your chats, models and settings stay, and the text of your chats is still reused. This cannot be "
    "undone.",
)
_ABOUT_EVERYTHING = QT_TRANSLATE_NOOP(
    "ForgetPage", "Also deletes all chats and everything else you wrote. Models and settings stay."
)
_ASK_EVERYTHING = QT_TRANSLATE_NOOP(
    "ForgetPage",
    "Forget everything? This erases all chats, including deleted ones that could be restored, unsent messages, "
    "system prompts, tool servers, crash reports, and everything that was learned. A reply in progress is stopped. "
    "Models, other settings, and files you exported stay. This cannot be undone.",
)


class ForgetPage(QWidget):
    """Two buttons, each with a question before its signal.

    Signals:
        forget_learned(): forget what was learned; confirmed.
        forget_everything(): forget the chats as well; confirmed.
    """

    forget_learned = Signal()
    forget_everything = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.learned_button = button(self.tr("Forget what was learned…"), "outlined", self, self._ask_learned)
        self.learned_question = InlineQuestion(self.tr("Forget what was learned"), self)
        self.everything_button = button(self.tr("Forget everything…"), "outlined", self, self._ask_everything)
        condition = self.tr("Yes, delete all my chats and everything learned")
        self.everything_question = InlineQuestion(self.tr("Forget everything"), self, condition)
        self.kept = words("", self, kind="quiet")
        self.kept.hide()
        self.left = words("", self)
        self.left.hide()
        in_column(
            [
                words(self.tr("What was learned"), self, kind="title"),
                words(self.tr(_ABOUT_LEARNED), self, kind="quiet"),
                Placed(self.learned_button, alignment=Qt.AlignmentFlag.AlignLeft),
                self.learned_question,
                self.kept,
                line(self),
                words(self.tr("Everything"), self, kind="title"),
                words(self.tr(_ABOUT_EVERYTHING), self, kind="quiet"),
                Placed(self.everything_button, alignment=Qt.AlignmentFlag.AlignLeft),
                self.everything_question,
                self.left,
                Stretch(),
            ],
            inside=self,
            margins=(0, 4, 12, 4),
            spacing=10,
        )
        for question, confirmed in (
            (self.learned_question, self.forget_learned),
            (self.everything_question, self.forget_everything),
        ):
            question.refused.connect(self.close_questions)
            question.confirmed.connect(self.close_questions)
            question.confirmed.connect(confirmed)

    def set_busy(self, is_busy: bool) -> None:
        self.learned_button.setEnabled(not is_busy)
        self.everything_button.setEnabled(not is_busy)

    def show_kept(self, sentence: str) -> None:
        """What is reused all the same, after what was learned is forgotten."""
        self.kept.setText(sentence)
        self.kept.setVisible(bool(sentence))

    def show_left(self, sentences: tuple[str, ...]) -> None:
        """What was deleted and could not be erased yet."""
        self.left.setText("\n\n".join(sentences))
        self.left.setVisible(bool(sentences))

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
