"""New chats that begin in a folder."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge
from app.features.chat.chat import ChatController
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller
from app.features.presets.presets import PresetsController
from app.main_window import MainWindow
from engine.values.events import FoldersListed
from engine.values.order import Folder, Preset


class FolderStart(Controller):
    """Gives the next chat what its folder says, and says so above it."""

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
        self._has_values = False  # the next chat has those of a folder
        window.conversations.new_in_folder_requested.connect(self._begin)
        window.conversations.new_in_folder_requested.connect(window.prompt_box.setFocus)
        conversations.moved.connect(self._on_moved)
        conversations.begun.connect(self._on_begun)
        bridge.listen(FoldersListed, self._on_folders)

    @Slot(int)
    def _begin(self, folder_id: int) -> None:
        folder = self._window.conversations.model.find_folder(folder_id)
        if folder is None:
            return
        self._conversations.begin_chat(folder_id=folder_id)
        values = self._values(folder)
        self._chat.next_chat = None
        self._presets.apply(values)
        self._has_values = True
        self._show()

    def _values(self, folder: Folder) -> Preset:
        """The folder's own values override those of its preset."""
        none = Preset(0, folder.name)
        preset = next((each for each in self._presets.presets if each.id == folder.preset_id), none)
        return Preset(
            0,
            folder.name,
            preset.system_prompt if folder.system_prompt is None else folder.system_prompt,
            preset.sampling,
            preset.thinks,
            folder.target or preset.target,
        )

    @Slot()
    def _on_moved(self) -> None:
        """Drops a folder's values when another chat opens."""
        if self._has_values and self._conversations.folder_id is None:
            self._has_values = False
            self._chat.next_chat = None
        self._show()

    @Slot()
    def _on_begun(self) -> None:
        self._has_values = False
        self._show()

    def _on_folders(self, event: FoldersListed) -> None:
        if self._conversations.folder_id not in {folder.id for folder in event.folders}:
            self._conversations.folder_id = None
        self._show()

    def kept(self) -> bool:
        return self._has_values

    def resume(self, kept: bool) -> None:
        self._has_values = kept
        self._show()

    @Slot()
    def _show(self) -> None:
        folder = self._window.conversations.model.find_folder(self._conversations.folder_id)
        self._window.folder_banner.show_words("" if folder is None else self._words(folder))

    def _words(self, folder: Folder) -> str:
        preset = next((each for each in self._presets.presets if each.id == folder.preset_id), None)
        if folder.system_prompt is not None and preset is not None:
            words = self.tr("New chat in the folder “{folder}”, with its system prompt and the preset “{preset}”.")
        elif preset is not None:
            words = self.tr("New chat in the folder “{folder}”, with the preset “{preset}”.")
        elif folder.system_prompt is not None:
            words = self.tr("New chat in the folder “{folder}”, with its system prompt.")
        else:
            words = self.tr("New chat in the folder “{folder}”.")
        return words.format(folder=folder.name, preset="" if preset is None else preset.name)
