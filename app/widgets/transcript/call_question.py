"""The question whether a tool may be called."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QWidget

from app.text.highlight import Lexing
from app.text.tool_calls import CallBlock, name_of, question_words, redefined_words
from app.text.unseen import one_line
from app.theme import ThemeKeeper
from app.widgets.parts import Sentences, button, set_up
from app.widgets.transcript.call_text import CallText
from app.widgets.words.joined_text import JoinedSelection, JoinedText
from engine.values.tools import Permission

_PADDING_PX = 12
_GAP_PX = 6
_TOLD_CHARACTERS = 300  # of the arguments, to a screen reader


class CallQuestion(QFrame):
    """A card with everything that would be sent, and four answers. The card itself takes the keyboard: no key that is
    typed by chance answers, as there is no default; Tab leads to the answers.

    Signals:
        answered(object): a `Permission`.
        height_changed(): more of the arguments is shown.
        copied(str): the arguments were copied to the clipboard.
    """

    answered = Signal(object)
    height_changed = Signal()
    copied = Signal(str)

    def __init__(
        self, keeper: ThemeKeeper, lexing: Lexing, selection: JoinedSelection, block: CallBlock, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.call_id = block.call.id
        title = question_words(block.call)
        set_up(self, kind="call", name=title, about=block.call.arguments[:_TOLD_CHARACTERS])
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.title = set_up(Sentences(title, self), kind="title")
        asked = block.asked
        about = "" if asked is None else " ".join(asked.tool.description.split())
        self.about = set_up(Sentences("", self), kind="quiet")
        if about:
            self.about.setText(self.tr("The server describes it as: {about}").format(about=about))
        self.redefined = set_up(Sentences("", self), kind="problem")
        if asked is not None and asked.redefined is not None:
            self.redefined.setText(redefined_words(asked.redefined))
        self.arguments = CallText(keeper, lexing, selection, self)
        heading = self.tr("This will be sent to {server}:").format(server=one_line(block.call.server))
        self.arguments.set_text(heading, block.call.arguments)
        self.arguments.height_changed.connect(self.height_changed)
        self.arguments.copied.connect(self.copied)
        self.buttons = self._make_buttons(block)

    @property
    def texts(self) -> Sequence[JoinedText]:
        return self.arguments.texts

    def _make_buttons(self, block: CallBlock) -> tuple[QPushButton, ...]:
        what = name_of(block.call)
        answers = (
            (Permission.ONCE, self.tr("Once"), self.tr("Allow once")),
            (Permission.CHAT, self.tr("Allow in this chat"), self.tr("Allow {tool} in this chat without asking again")),
            (Permission.ALWAYS, self.tr("Always"), self.tr("Allow {tool} in all chats without asking again")),
            (Permission.REFUSED, self.tr("Don't allow"), self.tr("The model is told that you do not allow this call")),
        )
        made = []
        for permission, words, tip in answers:
            each = button(words, "outlined", self, partial(self._answer, permission), tip=tip.format(tool=what))
            each.setAccessibleDescription(tip.format(tool=what))
            made.append(each)
        return tuple(made)

    def _answer(self, permission: Permission) -> None:
        for each in self.buttons:
            each.setEnabled(False)  # it is answered once
        self.answered.emit(permission)

    def arrange(self, width: int) -> int:
        """Takes this width and the height it needs, and returns the height."""
        inner, y = width - 2 * _PADDING_PX, _PADDING_PX
        for label in (self.title, self.redefined, self.about):
            y = self._place_label(label, y, inner)
        self.arguments.move(_PADDING_PX, y)
        y += self.arguments.arrange(inner)
        y = self._place_buttons(y, inner) + _PADDING_PX
        self.resize(width, y)
        return y

    def _place_label(self, label: QLabel, y: int, inner: int) -> int:
        label.setVisible(bool(label.text()))
        if not label.text():
            return y
        height = label.heightForWidth(inner)
        label.setGeometry(_PADDING_PX, y, inner, height)
        return y + height + _GAP_PX

    def _place_buttons(self, y: int, inner: int) -> int:
        """In as many lines as they need."""
        x = bottom = 0
        for each in self.buttons:
            size = each.sizeHint()
            if x and x + size.width() > inner:
                x, y = 0, bottom + _GAP_PX
            each.resize(min(size.width(), inner), size.height())
            each.move(QPoint(_PADDING_PX + x, y))
            x, bottom = x + size.width() + _GAP_PX, y + size.height()
        return bottom
