"""Which servers of tools the open chat may use."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller
from app.features.library.target import TargetController
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from engine.values.events import ConversationForgotten, EverythingForgotten, TargetReady, ToolServerChanged
from engine.values.tools import ServerState

_MOST_CHATS = 1_000  # whose choice is kept


class ChatTools(Controller):
    """Keeps a tick per server for each chat, with the settings; that of an incognito chat only until the app is closed.
    A new chat begins with the ticks of the last one."""

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        conversations: ConversationsController,
        target: TargetController,
        keeper: SettingsKeeper,
    ) -> None:
        super().__init__(window, bridge)
        self._conversations = conversations
        self._target = target
        self._keeper = keeper
        self._incognito: dict[int | None, tuple[str, ...]] = {}  # None: the next one
        self._states: dict[str, ServerState] = {}
        self._button = window.prompt_box.tools
        self._button.switched.connect(self._on_switched)
        conversations.moved.connect(self._on_moved)
        conversations.begun.connect(self._on_begun)
        keeper.changed.connect(self._show)
        bridge.listen(TargetReady, self._on_ready)
        bridge.listen(ToolServerChanged, self._on_server_changed)
        bridge.listen(ConversationForgotten, self._on_forgotten)
        bridge.listen(EverythingForgotten, self._on_everything_forgotten)
        self._show()

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of servers that are on, in the user's order; none if the model cannot call tools."""
        target = self._target.in_use
        return self._ticked() if target is not None and target.calls_tools else ()

    def _ticked(self) -> tuple[str, ...]:
        open_id, settings = self._conversations.open_id, self._keeper.settings
        if self._conversations.is_incognito:
            ticked = self._incognito.get(open_id, ())
        elif open_id is None:
            ticked = settings.tools_last
        else:
            ticked = settings.tools_of_chats.get(str(open_id), ())
        return tuple(each.name for each in settings.servers() if each.is_on and each.name in ticked)

    @Slot(str, bool)
    def _on_switched(self, server: str, is_on: bool) -> None:
        names = [each.name for each in self._keeper.settings.servers() if each.is_on]
        ticked = {*self._ticked(), server} if is_on else {*self._ticked()} - {server}
        self._keep(self._conversations.open_id, tuple(each for each in names if each in ticked))
        self._show()

    def _keep(self, conversation_id: int | None, ticked: tuple[str, ...]) -> None:
        if self._conversations.is_incognito:
            self._incognito[conversation_id] = ticked
            return
        chats = dict(self._keeper.settings.tools_of_chats)
        if conversation_id is not None:
            chats.pop(str(conversation_id), None)  # the last one that was changed is the last
            chats |= {str(conversation_id): ticked} if ticked else {}
        for oldest in [*chats][: max(0, len(chats) - _MOST_CHATS)]:
            del chats[oldest]
        self._keeper.note(tools_last=ticked, tools_of_chats=chats)

    @Slot(object)
    def _on_moved(self, conversation_id: int | None) -> None:
        if conversation_id is None:
            self._incognito.pop(None, None)
        self._show()

    @Slot(int)
    def _on_begun(self, conversation_id: int) -> None:
        if self._conversations.is_incognito:
            self._incognito[conversation_id] = self._incognito.pop(None, ())
        else:
            self._keep(conversation_id, self._keeper.settings.tools_last)
        self._show()

    def _on_ready(self, _event: TargetReady) -> None:
        self._show()

    def _on_server_changed(self, event: ToolServerChanged) -> None:
        self._states[event.server] = event.state
        self._show()

    def _on_forgotten(self, event: ConversationForgotten) -> None:
        number, chats = event.conversation.id, self._keeper.settings.tools_of_chats
        self._incognito.pop(number, None)
        if str(number) in chats:
            self._keeper.note(tools_of_chats={each: names for each, names in chats.items() if each != str(number)})

    def _on_everything_forgotten(self, _event: EverythingForgotten) -> None:
        self._incognito.clear()
        self._show()

    def kept(self) -> dict[int | None, tuple[str, ...]]:
        return self._incognito

    def resume(self, kept: dict[int | None, tuple[str, ...]]) -> None:
        self._incognito = kept
        self._show()

    @Slot()
    def _show(self) -> None:
        servers = [each.name for each in self._keeper.settings.servers() if each.is_on]
        target = self._target.in_use
        mute = "" if target is None or target.calls_tools else target.name
        self._button.show_servers(servers, self._ticked(), self._states, mute)
