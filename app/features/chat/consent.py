"""Asks before the first message of any chat goes to a new place."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge
from app.features.chat.chat import ChatController
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller
from app.features.library.target import TargetController
from app.main_window import MainWindow
from app.text.places import host_words, server_words
from app.widgets.dialog_parts import ask, question_box
from engine.values.errors import ServerNotAgreed
from engine.values.events import ConversationOpened, EverythingForgotten, ReplyFinished, ServersListed, TargetReady
from engine.values.remote import RemoteServer
from engine.values.requests import Failure
from engine.values.serving import is_loopback


class Consent(Controller):
    """Knows to which servers the user has agreed to send chats, and asks before anything is sent to another one: once
    for each address. The engine would refuse it as well."""

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        conversations: ConversationsController,
        target: TargetController,
        chat: ChatController,
    ) -> None:
        super().__init__(window, bridge)
        self._conversations = conversations
        self._target = target
        self._agreed: frozenset[str] = frozenset()  # addresses
        self._seen_by: dict[int, frozenset[str]] = {}  # addresses, by the conversations that were opened
        window.prompt_box.consent_wanted.connect(self._ask_for_prompt)
        chat.ended.connect(self._on_ended)
        bridge.listen(ServersListed, self._on_servers)
        bridge.listen(TargetReady, self._on_ready)
        bridge.listen(ConversationOpened, self._on_opened)
        bridge.listen(ReplyFinished, self._on_finished)
        bridge.listen(EverythingForgotten, self._on_forgotten)

    def is_asked_first(self, then: Callable[[], object]) -> bool:
        """Asks the user if needed, and returns whether it did; `then` is called once they agree."""
        server = self._stranger()
        if server is None or self._window.is_busy:
            return False
        box = question_box(
            self._window,
            self.tr("A new server"),
            self.tr("Send this chat to {server}?").format(server=server_words(server)),
            "\n\n".join(self._told(server)),
        )
        ask(box, self.tr("Send"), partial(self._agree, server.address, then))
        return True

    # What is asked

    def _stranger(self) -> RemoteServer | None:
        """The server of the target in use, if nothing may be sent there yet."""
        in_use = self._target.in_use
        server = None if in_use is None else in_use.server
        return None if server is None or server.address in self._agreed else server

    def _told(self, server: RemoteServer) -> tuple[str, ...]:
        what = self.tr(
            "Each message sends the whole chat there: its system prompt, what you wrote, its files and pictures, "
            "and the replies so far. Slipstream cannot know what the server keeps."
        )
        once = self.tr("You are asked once per address.")
        return tuple(filter(None, (what, self._way(server), self._so_far(server), once)))

    def _way(self, server: RemoteServer) -> str:
        if server.is_local:
            return self.tr("The server runs on this computer, so nothing crosses a network.")
        if not server.is_encrypted:
            return self.tr("The connection is NOT encrypted: others on the network can read all of it.")
        return self.tr("The connection is encrypted.")

    def _so_far(self, server: RemoteServer) -> str:
        """Where the open chat has been sent so far."""
        open_id = self._conversations.open_id
        if self._conversations.is_incognito:
            return self.tr("This chat is incognito: Slipstream stores nothing of it, but the server may.")
        if open_id is None:
            return ""
        seen_by = self._seen_by.get(open_id, frozenset())
        if not server.is_local and all(is_loopback(host_words(each)) for each in seen_by):
            return self.tr("So far, this chat has never left this computer.")
        return "" if seen_by else self.tr("So far, this chat has never left Slipstream.")

    # What follows

    @Slot(object)
    def _ask_for_prompt(self, prompt: str) -> None:
        """Asks while the prompt stays in the box."""
        self.is_asked_first(partial(self._window.prompt_box.send, prompt))

    def _agree(self, address: str, then: Callable[[], object]) -> None:
        request = self._bridge.ask(self._bridge.engine.remote.agree, address)
        request.answered.connect(partial(self._on_agreed, address, then))

    def _on_agreed(self, address: str, then: Callable[[], object], _answer: None) -> None:
        self._agreed |= {address}
        self._show()
        then()

    def _on_servers(self, event: ServersListed) -> None:
        self._agreed = frozenset(each.address for each in event.servers if each.is_agreed)
        self._show()

    def _on_ready(self, event: TargetReady) -> None:
        server = event.target.server
        if server is not None and server.is_agreed:
            self._agreed |= {server.address}
        self._show()

    @Slot(object)
    def _on_ended(self, failure: Failure | None) -> None:
        """The server may be agreed no more: its certificate is another one, for instance."""
        in_use = self._target.in_use
        if failure is not None and issubclass(failure.error, ServerNotAgreed) and in_use is not None:
            self._agreed -= set() if in_use.server is None else {in_use.server.address}
            self._show()

    def _on_opened(self, event: ConversationOpened) -> None:
        self._seen_by[event.conversation.summary.id] = frozenset(event.conversation.servers)

    def _on_finished(self, event: ReplyFinished) -> None:
        message = event.message
        if message.server:
            seen = self._seen_by.get(message.conversation_id, frozenset())
            self._seen_by[message.conversation_id] = seen | {message.server}

    def _on_forgotten(self, _event: EverythingForgotten) -> None:
        self._seen_by.clear()

    def kept(self) -> dict[int, frozenset[str]]:
        return self._seen_by

    def resume(self, kept: dict[int, frozenset[str]]) -> None:
        self._seen_by = kept

    def _show(self) -> None:
        self._window.prompt_box.set_guarded(self._stranger() is not None)
