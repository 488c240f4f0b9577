"""The controllers that a chat needs, made as `app.wiring` makes them, without the others."""

from __future__ import annotations

from app.controllers.chat import ChatController
from app.controllers.conversations import ConversationsController
from app.controllers.target import TargetController
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from engine import ReplySettings, TargetSettings


class Chats:
    """The controllers of one window."""

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        reply_settings: ReplySettings | None = None,
        target_settings: TargetSettings | None = None,
        system_prompt: str = "",
    ) -> None:
        bridge.unhandled.connect(window.toasts.show_error)
        self.conversations = ConversationsController(window, bridge)
        self.target = TargetController(window, bridge, target_settings or TargetSettings())
        self.chat = ChatController(
            window, bridge, self.conversations, self.target, reply_settings or ReplySettings(), system_prompt
        )

    def start(self, target: str) -> None:
        self.conversations.list_all()
        self.target.load(target)
