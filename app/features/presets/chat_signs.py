"""The signs of what the open chat has of its own: a form of its replies, banned words, a preset, anything at all."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge
from app.features.chat.chat import ChatController
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller
from app.features.presets.presets import PresetsController
from app.main_window import MainWindow
from app.text.presets import own_words
from engine import OwnSampling
from engine.values.events import ConversationOpened, Event, PresetsListed, TargetReady


class ChatSigns(Controller):
    """Shows them next to the model's name; a chat that is not begun yet has what it will begin with."""

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        conversations: ConversationsController,
        chat: ChatController,
        presets: PresetsController,
    ) -> None:
        super().__init__(window, bridge)
        self._conversations = conversations
        self._chat = chat
        self._presets = presets
        self._own = ("", OwnSampling())  # system prompt and sampling of the open chat
        conversations.moved.connect(self._show)
        conversations.settings_changed.connect(self._on_changed)
        chat.next_chat_changed.connect(self._show)
        window.prompt_box.think_button.toggled.connect(self._show)
        bridge.listen(ConversationOpened, self._on_opened)
        bridge.listen(PresetsListed, self._on_default)
        bridge.listen(TargetReady, self._on_default)

    def _on_opened(self, event: ConversationOpened) -> None:
        opened = event.conversation
        self._on_changed(opened.summary.id, opened.system_prompt, opened.sampling)

    @Slot(int, str, object)
    def _on_changed(self, conversation_id: int, system_prompt: str, sampling: OwnSampling) -> None:
        if conversation_id == self._conversations.open_id:
            self._own = system_prompt, sampling
            self._show()

    def _on_default(self, _event: Event) -> None:
        self._show()

    def kept(self) -> tuple[str, OwnSampling]:
        return self._own

    def resume(self, kept: tuple[str, OwnSampling]) -> None:
        self._own = kept
        self._show()

    @Slot()
    def _show(self) -> None:
        if self._conversations.open_id is None:  # also of the chat that begins with it
            self._own = self._chat.new_chat.system_prompt, self._chat.new_chat.sampling
        self._window.target_bar.chat_settings.show_own(own_words(*self._own, self._chat.system_prompt))
        signs, own = self._window.signs, dict(self._own[1].chosen)
        signs.form.tell(self.tr("Replies in this chat follow a schema or grammar") if own.get("grammar") else "")
        signs.banned.tell(self.tr("Words are banned in this chat") if own.get("banned_words") else "")
        preset = self._presets.preset_in(*self._own)
        signs.preset.tell("" if preset is None else self.tr("Preset of this chat: {name}").format(name=preset.name))
