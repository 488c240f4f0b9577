"""Saves prompts that were begun and not sent: one for every conversation, and one for the new chat."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Slot

from app.engine_bridge import EngineBridge
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from engine.values.events import ConversationForgotten, ConversationOpened, EverythingForgotten

_PAUSE_MS = 1_000  # in typing
_Drafts = dict[int | None, str]  # by their conversations; None: the new chat
_NEW_INCOGNITO = -1  # the place of a new chat that leaves no trace


class DraftKeeper(Controller):
    """Shows in the prompt box what was begun in the open conversation.

    What is begun in the new chat is saved with the settings, and in a new incognito chat never.
    """

    def __init__(
        self, window: MainWindow, bridge: EngineBridge, conversations: ConversationsController, keeper: SettingsKeeper
    ) -> None:
        super().__init__(window, bridge)
        self._box = window.prompt_box
        self._conversations = conversations
        self._keeper = keeper
        self._place: int | None = conversations.open_id  # the conversation that the text in the box belongs to
        self._drafts: _Drafts = {None: keeper.settings.draft}  # that are known
        self._saved: _Drafts = {}  # as they are in the store
        self._awaited: int | None = None  # the conversation whose draft is still being read
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self.save)
        if keeper.settings.draft and not self._box.text:
            self._box.set_text(keeper.settings.draft)
        self._box.edited.connect(self._on_edited)
        conversations.moved.connect(self._on_moved)
        conversations.begun.connect(self._on_begun)
        bridge.listen(ConversationOpened, self._on_opened)
        bridge.listen(ConversationForgotten, self._on_forgotten)
        bridge.listen(EverythingForgotten, self._on_everything_forgotten)

    @Slot()
    def save(self) -> None:
        self._pause.stop()
        text = self._drafts.get(self._place, "")
        if self._place is None:
            self._keeper.note(draft=text)
        elif self._place != _NEW_INCOGNITO and text != self._saved.get(self._place, ""):
            self._saved[self._place] = text
            pictures = self._window.pictures.fresh_in(text)
            self._bridge.ask(self._bridge.engine.editor.save_draft, self._place, text, pictures).is_quiet = True

    @Slot()
    def _on_edited(self) -> None:
        self._drafts[self._place] = self._box.text
        self._awaited = None  # what is typed now counts
        self._pause.start()

    @Slot(object)
    def _on_moved(self, place: int | None) -> None:
        self.save()
        self._place = _NEW_INCOGNITO if place is None and self._conversations.is_incognito else place
        known = self._drafts.get(self._place)
        self._show(known or "")
        self._awaited = place if known is None else None

    @Slot(int)
    def _on_begun(self, conversation_id: int) -> None:
        """Moves the draft of the new chat to its conversation."""
        self._drafts[conversation_id], self._drafts[self._place] = self._drafts.get(self._place, ""), ""
        if self._place is None:
            self._keeper.note(draft="")
        self._place = conversation_id
        self._pause.start()

    def _on_opened(self, event: ConversationOpened) -> None:
        number, draft = event.conversation.summary.id, event.conversation.draft
        self._saved.setdefault(number, draft)
        if number == self._awaited:
            self._show(draft)
            self._awaited = None

    def _on_forgotten(self, event: ConversationForgotten) -> None:
        self._drafts.pop(event.conversation.id, None)
        self._saved.pop(event.conversation.id, None)

    def _on_everything_forgotten(self, _event: EverythingForgotten) -> None:
        self._drafts = {None: ""}
        self._saved = {}
        self._show("")
        self._keeper.forget_words()  # the draft of the new chat is among them

    def kept(self) -> tuple[int | None, _Drafts, _Drafts, int]:
        self.save()
        return self._place, self._drafts, self._saved, self._box.editor.textCursor().position()

    def resume(self, kept: tuple[int | None, _Drafts, _Drafts, int]) -> None:
        self._place, self._drafts, self._saved, position = kept
        self._show(self._drafts.get(self._place, ""))
        cursor = self._box.editor.textCursor()
        cursor.setPosition(min(position, len(self._box.editor.toPlainText())))
        self._box.editor.setTextCursor(cursor)

    def _show(self, text: str) -> None:
        if text != self._box.text:
            self._box.set_text(text)
            self._pause.stop()  # this was not typed
