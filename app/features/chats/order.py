"""The order among chats: moved, pinned and archived, and the folders that they are in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QCheckBox

from app.engine_bridge import EngineBridge, Request
from app.features.chats.conversations import UNDO_MS, ConversationsController
from app.features.chats.folder_dialog import FolderDialog
from app.features.controller import Controller
from app.features.library.target import TargetController
from app.main_window import MainWindow
from app.models.conversation_rows import ChatFilter
from app.settings.keeper import SettingsKeeper
from app.text.numbers import whole
from app.widgets.dialog_parts import ask, question_box
from engine.values.conversations import ConversationSummary
from engine.values.events import ConversationsImported, EverythingForgotten, FoldersListed, PresetsListed
from engine.values.order import Folder, Preset
from engine.values.requests import Failure

_Summaries = tuple[ConversationSummary, ...]


class OrderController(Controller):
    """Has the engine change the order, and offers to undo it. The list shows what the engine has stored."""

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        conversations: ConversationsController,
        target: TargetController,
        keeper: SettingsKeeper,
    ) -> None:
        super().__init__(window, bridge)
        self.presets: tuple[Preset, ...] = ()
        self._conversations = conversations
        self._editor = bridge.engine.editor
        self._target = target
        self._keeper = keeper
        self._sidebar = window.conversations
        self._new_for: tuple[int, ...] = ()  # conversations that go into the folder that is being made
        self.dialog = FolderDialog(window)
        self.dialog.saved.connect(self._save)
        self._sidebar.model.restore_opened(keeper.settings.open_folders)
        self._sidebar.model.opened_changed.connect(self._keep_opened)
        self._sidebar.moved.connect(self._move)
        self._sidebar.pinned.connect(self._pin)
        self._sidebar.archived.connect(self._archive)
        self._sidebar.folder_requested.connect(self._ask_for_folder)
        self._sidebar.folder_settings_requested.connect(self._show_settings)
        self._sidebar.folder_renamed.connect(self._rename)
        self._sidebar.folder_deleted.connect(self._ask_to_delete)
        bridge.listen(FoldersListed, self._on_folders)
        bridge.listen(ConversationsImported, self._on_imported)
        bridge.listen(PresetsListed, self._on_presets)
        bridge.listen(EverythingForgotten, self._on_everything_forgotten)

    def list_all(self) -> None:
        self._bridge.ask(self._bridge.engine.chats.list_folders)

    # What the user wants of chats

    @Slot(object, object)
    def _move(self, conversation_ids: tuple[int, ...], folder_id: int | None) -> None:
        before = tuple(each for each in self._kept(conversation_ids) if each.folder_id != folder_id)
        if not before:
            return
        folder = self._sidebar.model.find_folder(folder_id)
        request = self._bridge.ask(self._editor.move, tuple(each.id for each in before), folder_id)
        self._await(request, partial(self._tell_moved, before, folder))

    @Slot(object, bool)
    def _pin(self, conversation_ids: tuple[int, ...], is_pinned: bool) -> None:
        self._await(self._bridge.ask(self._editor.pin, conversation_ids, is_pinned))

    @Slot(object, bool)
    def _archive(self, conversation_ids: tuple[int, ...], is_archived: bool) -> None:
        before = tuple(each for each in self._kept(conversation_ids) if each.is_archived != is_archived)
        if before:
            request = self._bridge.ask(self._editor.archive, tuple(each.id for each in before), is_archived)
            self._await(request, partial(self._tell_archived, before, is_archived))

    def _kept(self, conversation_ids: tuple[int, ...]) -> _Summaries:
        """The chats on the disk; says so if others were chosen."""
        found = [each for number in conversation_ids if (each := self._sidebar.model.find(number)) is not None]
        if any(each.incognito for each in found):
            self._window.toasts.show_info(
                self.tr("Incognito chats exist only in memory, so they cannot be moved or archived.")
            )
        return tuple(each for each in found if not each.incognito)

    # What the user wants of folders

    @Slot(object, str)
    def _ask_for_folder(self, conversation_ids: tuple[int, ...], name: str) -> None:
        self._new_for = conversation_ids
        words = self.tr("%n chat(s) will be moved into it.", "", len(conversation_ids)) if conversation_ids else ""
        self._show_dialog(Folder(0, name), words)

    @Slot(int)
    def _show_settings(self, folder_id: int) -> None:
        folder = self._sidebar.model.find_folder(folder_id)
        if folder is not None:
            self._show_dialog(folder)

    def _show_dialog(self, folder: Folder, about: str = "") -> None:
        targets = tuple(choice for choice, _ in self._target.choices)
        self.dialog.show_folder(folder, self.presets, targets, about)

    @Slot(object)
    def _save(self, folder: Folder) -> None:
        if folder.id:
            request = self._bridge.ask(self._editor.change_folder, folder)
        else:
            request = self._bridge.ask(self._editor.create_folder, folder, self._new_for)
        request.answered.connect(lambda _nothing: self.dialog.accept())
        request.failed.connect(lambda failure: self.dialog.show_problem(failure.sentence))

    @Slot(int, str)
    def _rename(self, folder_id: int, name: str) -> None:
        folder = self._sidebar.model.find_folder(folder_id)
        if folder is not None:
            self._await(self._bridge.ask(self._editor.change_folder, replace(folder, name=name)))

    @Slot(int)
    def _ask_to_delete(self, folder_id: int) -> None:
        """Asks first; its chats stay unless the user ticks otherwise."""
        folder = self._sidebar.model.find_folder(folder_id)
        if folder is None:
            return
        inside = self._sidebar.model.inside(folder_id)
        if not inside:
            self._delete(folder, False)
            return
        text = self.tr("Delete the folder “{name}”?").format(name=folder.name)
        stay = self.tr("Its {number} chat(s) (stays|stay) in the list.", "", len(inside))
        stay = stay.format(number=whole(len(inside)))
        delete = self.tr("Delete this folder")
        box = question_box(self._window, delete, text, stay)
        with_chats = QCheckBox(self.tr("Delete its chats, too"), box)
        box.setCheckBox(with_chats)
        ask(box, delete, lambda: self._delete(folder, with_chats.isChecked()))

    def _delete(self, folder: Folder, with_chats: bool) -> None:
        """Deletes a folder. If its chats go too, their deletion offers the undo."""
        ids = tuple(each.id for each in self._sidebar.model.inside(folder.id))
        request = self._bridge.ask(self._editor.delete_folder, folder.id, with_chats)
        self._await(request, None if with_chats else partial(self._tell_deleted, folder, ids))

    @Slot()
    def _keep_opened(self) -> None:
        self._keeper.note(open_folders=tuple(sorted(self._sidebar.model.opened)))

    # What is said of it

    def _tell_moved(self, before: _Summaries, folder: Folder | None) -> None:
        if len(before) == 1:
            words = (
                self.tr("“{title}” was moved to “{folder}”.")
                if folder
                else self.tr("“{title}” was taken out of its folder.")
            )
        else:
            words = self.tr("{number} chat(s) were moved to “{folder}”.", "", len(before))
            if folder is None:
                words = self.tr("{number} chat(s) were taken out of their folders.", "", len(before))
        self._offer_undo(words, before, folder.name if folder else "")

    def _tell_archived(self, before: _Summaries, is_archived: bool) -> None:
        if len(before) == 1:
            words = self.tr("“{title}” was archived.") if is_archived else self.tr("“{title}” is in the list again.")
        else:
            words = self.tr("{number} chat(s) were archived.", "", len(before))
            if not is_archived:
                words = self.tr("{number} chat(s) are in the list again.", "", len(before))
        self._offer_undo(words, before)

    def _offer_undo(self, words: str, before: _Summaries, folder: str = "") -> None:
        """Offers to undo the change of all of them at once."""
        words = words.format(title=before[0].title, number=whole(len(before)), folder=folder)
        undo = partial(self._put_back, before)
        self._window.toasts.show_info(words, self.tr("Undo"), undo, UNDO_MS)

    def _put_back(self, before: _Summaries) -> None:
        self._await(self._bridge.ask(self._editor.put_back, before))

    def _tell_deleted(self, folder: Folder, conversation_ids: tuple[int, ...]) -> None:
        words = self.tr("The folder “{name}” was deleted.").format(name=folder.name)
        undo = partial(self._restore, folder, conversation_ids)
        self._window.toasts.show_info(words, self.tr("Undo"), undo, UNDO_MS)

    def _restore(self, folder: Folder, conversation_ids: tuple[int, ...]) -> None:
        self._await(self._bridge.ask(self._editor.restore_folder, folder, conversation_ids))

    # What the engine says

    def _on_folders(self, event: FoldersListed) -> None:
        self._sidebar.set_folders(event.folders)

    def _on_imported(self, _event: ConversationsImported) -> None:
        self.list_all()  # they may have brought some

    def _on_presets(self, event: PresetsListed) -> None:
        self.presets = event.presets
        if self.dialog.isVisible():
            self.dialog.show_presets(event.presets, self.dialog.preset.currentData())

    def _on_everything_forgotten(self, _event: EverythingForgotten) -> None:
        self.presets = ()
        self.dialog.reject()

    def kept(self) -> ChatFilter:
        return self._sidebar.model.filter

    def resume(self, kept: ChatFilter) -> None:
        self._sidebar.set_filter(kept)

    def _await(self, change: Request[None], then: Callable[[], object] | None = None) -> None:
        change.failed.connect(self._on_failed)
        if then is not None:
            change.answered.connect(lambda _nothing: then())

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        """Lists everything again, as the list may differ from the store."""
        self.list_all()
        self._conversations.list_all()
        self._window.toasts.show_error(failure.sentence)
