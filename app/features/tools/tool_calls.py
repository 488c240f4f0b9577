"""Asks the user whether a tool may be called, and shows how far calls have come."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QApplication

from app.engine_bridge import EngineBridge
from app.features.chat.chat import ChatController
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller
from app.main_window import MainWindow
from app.text.tool_calls import CallPhase, question_words
from app.text.unseen import one_line
from app.widgets.parts import announce
from app.widgets.toast import Toast
from engine.values.events import ToolAsked, ToolFinished, ToolServerChanged, ToolStarted
from engine.values.tools import Permission, ServerState

_TOAST_MS = 60_000


class ToolCallsController(Controller):
    """Leads the keyboard to a question, unless something is being typed. Made after the chat controller, which has to
    show the reply first."""

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        conversations: ConversationsController,
        chat: ChatController,
    ) -> None:
        super().__init__(window, bridge)
        self._conversations = conversations
        self._calls = window.transcript.calls
        self._asked: ToolAsked | None = None
        self._toast: Toast | None = None  # of a question in another chat
        self._leads = False  # to the question, once its chat is shown
        self._calls.answered.connect(self._answer)
        self._calls.changed.connect(self._on_changed)
        window.call_action.triggered.connect(self._go_to_question)
        window.transcript.changed.connect(self._on_shown)
        chat.ended.connect(window.prompt_box.hide_hint)
        bridge.listen(ToolAsked, self._on_asked)
        bridge.listen(ToolStarted, self._on_call_started)
        bridge.listen(ToolFinished, self._on_call_finished)
        bridge.listen(ToolServerChanged, self._on_server)

    @Slot(str, object)
    def _answer(self, call_id: str, permission: Permission) -> None:
        if self._calls.asked == call_id:
            self._bridge.ask(self._bridge.engine.asking.answer, call_id, permission)
            self._calls.set_phase(call_id, CallPhase.NEXT)

    @Slot()
    def _on_changed(self) -> None:
        self._window.call_action.setEnabled(self._calls.asked is not None)
        if self._asked is not None and self._calls.asked != self._asked.call.id:
            self._asked = None
            self._end_toast()

    @Slot()
    def _go_to_question(self) -> None:
        if self._asked is None:
            return
        if self._asked.conversation_id != self._conversations.open_id:
            self._leads = True
            self._window.conversations.chosen.emit(self._asked.conversation_id)
            return
        question = self._window.transcript.show_question()
        if question is not None:
            question.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot()
    def _on_shown(self) -> None:
        if self._leads and self._window.transcript.question is not None:
            self._leads = False
            self._end_toast()
            self._go_to_question()

    def _on_call_started(self, event: ToolStarted) -> None:
        self._calls.set_phase(event.call.id, CallPhase.RUNNING)

    def _on_call_finished(self, event: ToolFinished) -> None:
        if event.message.result is not None:
            self._calls.forget(event.message.result.call.id)

    def _on_server(self, event: ToolServerChanged) -> None:
        """A server may take long to start, before anything else is seen of the reply."""
        if not self._window.is_busy:
            return
        if event.state is ServerState.STARTING:
            words = self.tr("Starting the tool server {server}…").format(server=one_line(event.server))
            self._window.prompt_box.show_hint(words)
        else:
            self._window.prompt_box.hide_hint()

    def _on_asked(self, event: ToolAsked) -> None:
        self._calls.set_phase(event.call.id, CallPhase.ASKED, event)
        self._asked = event
        words = question_words(event.call)
        announce(self._window, words)
        if event.conversation_id != self._conversations.open_id:
            self._end_toast()
            show = self.tr("Show")
            self._toast = self._window.toasts.show_info(words, show, self._go_to_question, _TOAST_MS)
            return
        box = self._window.prompt_box
        is_home = QApplication.focusWidget() in (None, box.editor)
        question = self._window.transcript.question
        if question is not None and is_home and not box.text and self._window.transcript.column.following:
            self._window.transcript.show_question()
            question.setFocus(Qt.FocusReason.OtherFocusReason)

    def _end_toast(self) -> None:
        if self._toast is not None:
            self._window.toasts.dismiss(self._toast)
            self._toast = None
