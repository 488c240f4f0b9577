"""The controllers that a chat needs, made as `app.wiring` makes them, without the others."""

from __future__ import annotations

from pathlib import Path

from app.engine_bridge import EngineBridge
from app.features.chat.chat import ChatController
from app.features.chat.chat_tools import ChatTools
from app.features.chat.consent import Consent
from app.features.chats.conversations import ConversationsController
from app.features.library.target import TargetController
from app.features.speed.speed_up import SpeedUpController
from app.main_window import MainWindow
from app.settings.app_settings import AppSettings, SettingsFile
from app.settings.keeper import SettingsKeeper
from engine import ReplySettings, TargetSettings


class _NoFile(SettingsFile):
    def save(self, settings: AppSettings) -> None:
        pass

    def forget_words(self, settings: AppSettings) -> None:
        pass


def unsaved(settings: AppSettings) -> SettingsKeeper:
    """Settings that are on no disk."""
    return SettingsKeeper(_NoFile(Path()), settings)


class Chats:
    """The controllers of one window."""

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        reply: ReplySettings = ReplySettings(),  # noqa: B008
        target: TargetSettings = TargetSettings(),  # noqa: B008
        system_prompt: str = "",
        keeper: SettingsKeeper | None = None,
    ) -> None:
        """`keeper` comes with settings of its own."""
        bridge.unhandled.connect(window.toasts.show_error)
        settings = AppSettings(
            sampling=reply.sampling,
            reply_length=reply.max_tokens,
            context_size=target.context_size,
            threads=target.threads,
            system_prompt=system_prompt,
        )
        self.keeper = keeper or unsaved(settings)
        self.conversations = ConversationsController(window, bridge)
        self.target = TargetController(window, bridge, self.keeper)
        self.tools = ChatTools(window, bridge, self.conversations, self.target, self.keeper)
        self.chat = ChatController(window, bridge, self.conversations, self.target, self.keeper, self.tools)
        self.consent = Consent(window, bridge, self.conversations, self.target, self.chat)
        SpeedUpController(window, bridge, self.keeper)

    def start(self, target: str) -> None:
        self.conversations.list_all()
        self.target.load(target)
