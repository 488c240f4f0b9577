"""Presets: chosen for a chat, and made of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import Signal, Slot

from app.engine_bridge import EngineBridge, Request
from app.features.chat.chat import ChatController, NextChat
from app.features.chat.conversation_dialog import ConversationDialog
from app.features.chats.conversations import UNDO_MS, ConversationsController
from app.features.controller import Controller
from app.features.library.target import TargetController
from app.features.presets.save_preset_dialog import SavePresetDialog
from app.main_window import MainWindow
from app.settings.shortcuts import native, written
from app.text.presets import ChatValues, is_same_target, preset_of
from app.theme import ThemeKeeper
from app.widgets.prompt.preset_picker import NONE, PresetPicker
from app.widgets.toast import Toast
from engine import OwnSampling
from engine.values.conversations import Conversation
from engine.values.events import (
    ConversationsListed,
    EverythingForgotten,
    PresetsListed,
    TargetReady,
    TargetsListed,
)
from engine.values.order import Preset, TargetChoice
from engine.values.remote import server_of

_UseValues = Callable[[ChatValues], object]


class PresetsController(Controller):
    """Knows all presets, gives them to chats, and makes them of chats."""

    manage_requested = Signal()  # show the presets, to be changed

    def __init__(
        self,
        window: MainWindow,
        theme: ThemeKeeper,
        bridge: EngineBridge,
        conversations: ConversationsController,
        chat: ChatController,
        target: TargetController,
        settings_of_chat: ConversationDialog,
        use_model: Callable[[str], None],
    ) -> None:
        super().__init__(window, bridge)
        self.presets: tuple[Preset, ...] = ()
        self._conversations = conversations
        self._chat = chat
        self._target = target
        self._dialog = settings_of_chat
        self._use_model = use_model
        self._were_listed = False
        self._reading: Request[Conversation] | None = None  # of a chat whose values are wanted
        self._before: ChatValues | None = None  # of the chat for which the list is open
        self._undo: Toast | None = None  # of what was chosen last
        self._left: Preset | None = None  # whose model is being loaded, or the list of models is not there yet
        self.picker = PresetPicker(theme, window)
        self.picker.chosen.connect(self._on_chosen)
        self.picker.save_requested.connect(self._ask_to_save)
        self.picker.manage_requested.connect(self.manage_requested)
        self.save_dialog = SavePresetDialog(window)
        self.save_dialog.saved.connect(self._save)
        window.presets_action.triggered.connect(self._open_picker)
        settings_of_chat.edited.connect(self._name_edited)
        settings_of_chat.presets_requested.connect(self._open_picker)
        conversations.moved.connect(self._on_moved)
        target.servers_known.connect(self._on_known)
        bridge.listen(ConversationsListed, self._on_chats)
        bridge.listen(EverythingForgotten, self._on_everything_forgotten)
        bridge.listen(PresetsListed, self._on_presets)
        bridge.listen(TargetsListed, self._on_targets)
        bridge.listen(TargetReady, self._on_ready)

    def apply(self, preset: Preset) -> None:
        """Gives a preset's values to the open chat, or to the next one, from its next reply on. They become the chat's
        own, independent of the preset."""
        open_id, told = self._conversations.open_id, preset.system_prompt
        if open_id is not None:
            self._conversations.change(open_id, told, preset.sampling)
        else:
            new = NextChat(self._chat.new_chat.system_prompt if told is None else told, preset.sampling)
            self._chat.next_chat = None if new == NextChat(self._chat.system_prompt) else new
        self._left = preset
        self._use_rest()

    # What the user wants

    @Slot()
    def _open_picker(self) -> None:
        self._dialog.reject()
        open_id = self._conversations.open_id
        title = self.tr("Allow in this chat") if open_id is not None else self.tr("For the next chat you start")
        self.picker.show_presets(self.presets)
        self.picker.open_below(self._window.target_bar.name, title)
        self._before = None
        self._with_values(self._show_in_use)

    @Slot(int)
    def _on_chosen(self, preset_id: int) -> None:
        if preset_id == NONE:
            words = self.tr("This chat uses the general settings.")
            self._apply_chosen(Preset(NONE, "", self._chat.system_prompt), words)
            return
        preset = next((each for each in self.presets if each.id == preset_id), None)
        if preset is not None:
            self._apply_chosen(preset, self.tr("This chat uses the preset “{name}”.").format(name=preset.name))

    def _apply_chosen(self, preset: Preset, words: str) -> None:
        """Applies a choice; undo restores the chat's own values."""
        before, place = self._before, self._conversations.open_id
        self.apply(preset)
        if before is None:  # not read yet
            self._window.toasts.show_info(words)
            return
        undone = Preset(
            NONE,
            "",
            before.system_prompt,
            before.sampling,
            None if preset.thinks is None else before.thinks,
            None if preset.target is None else before.target,
        )

        def undo() -> None:
            if self._conversations.open_id == place:
                self.apply(undone)

        self._undo = self._window.toasts.show_info(words, self.tr("Undo"), undo, UNDO_MS)

    @Slot()
    def _ask_to_save(self) -> None:
        self._with_values(self._ask_for_name)

    @Slot(object)
    def _save(self, preset: Preset) -> None:
        words = self.tr("The preset “{name}” was saved.").format(name=preset.name)
        request = self._bridge.ask(self._bridge.engine.presets.save_preset, preset)
        request.answered.connect(lambda _: self._window.toasts.show_info(words))

    # What the engine says

    def _on_chats(self, _event: ConversationsListed) -> None:
        if not self._were_listed:
            self._list()

    def _on_everything_forgotten(self, _event: EverythingForgotten) -> None:
        self._list()

    def _on_presets(self, event: PresetsListed) -> None:
        self.presets = event.presets
        self.picker.show_presets(event.presets)

    def _on_targets(self, _event: TargetsListed) -> None:
        self._on_known()

    def _on_ready(self, _event: TargetReady) -> None:
        self._use_rest()

    @Slot()
    def _on_known(self) -> None:
        if self._left is not None and self._left.target is not None:
            self._use_rest()

    def resume(self, _kept: None) -> None:
        self._were_listed = True

    def _list(self) -> None:
        self._were_listed = True
        self._bridge.ask(self._bridge.engine.presets.list)

    @Slot()
    def _on_moved(self) -> None:
        self._drop_reading()
        self._left = self._before = None
        if self._undo is not None:
            self._window.toasts.dismiss(self._undo)  # it was for another chat
            self._undo = None
        self.picker.close()
        self.save_dialog.reject()

    # The model, and whether it thinks

    def _use_rest(self) -> None:
        """Applies what concerns the model, once it is there."""
        preset, in_use = self._left, self._in_use()
        if preset is None:
            return
        if preset.target is None:
            self._left = None if in_use is not None else preset
            self._think(preset.thinks)
        elif self._target.library and (self._target.servers is not None or not server_of(preset.target.identity)):
            self._left = None
            self._load(preset, preset.target)

    def _load(self, preset: Preset, wanted: TargetChoice) -> None:
        """Loads the preset's model, even if it is in use: another one may be on its way."""
        is_here = is_same_target(wanted, self._in_use())
        choices = self._target.choices
        reference = next((reference for choice, reference in choices if is_same_target(wanted, choice)), None)
        if is_here:
            self._think(preset.thinks)
        elif reference is None:
            words = self.tr("The library has no model {name}, which “{preset}” is for.")
            self._window.toasts.show_info(words.format(name=wanted.name, preset=preset.name))
        elif preset.thinks is not None:
            self._left = replace(preset, target=None)
        if reference is not None:
            self._use_model(reference)

    def _think(self, thinks: bool | None) -> None:
        in_use = self._target.in_use
        if thinks is not None and in_use is not None and in_use.thinks is not None:
            self._window.prompt_box.switch_thinking(thinks)

    def _in_use(self) -> TargetChoice | None:
        in_use = self._target.in_use
        return None if in_use is None else TargetChoice(in_use.name, in_use.identity)

    # What the chat has now

    def _with_values(self, use: _UseValues) -> None:
        """Calls `use` with the values of the open chat, or of the next one."""
        open_id = self._conversations.open_id
        if open_id is None:
            new = self._chat.new_chat
            use(self._values(new.system_prompt, new.sampling))
            return
        self._drop_reading()
        self._reading = self._conversations.read(open_id)
        self._reading.answered.connect(partial(self._use_read, use))

    def _use_read(self, use: _UseValues, conversation: Conversation) -> None:
        use(self._values(conversation.system_prompt, conversation.sampling))

    def _drop_reading(self) -> None:
        if self._reading is not None:
            self._reading.drop()

    def _values(self, system_prompt: str, sampling: OwnSampling) -> ChatValues:
        in_use, thinks = self._target.in_use, None
        if in_use is not None and in_use.thinks is not None:
            thinks = self._window.prompt_box.think_button.isChecked()
        return ChatValues(system_prompt, sampling, thinks, self._in_use())

    def _show_in_use(self, chat: ChatValues) -> None:
        self._before = chat
        preset = preset_of(self.presets, chat)
        if preset is not None:
            self.picker.show_in_use(preset.id)
        elif (chat.system_prompt, chat.sampling) == (self._chat.system_prompt, OwnSampling()):
            self.picker.show_in_use(NONE)

    def _ask_for_name(self, chat: ChatValues) -> None:
        preset = preset_of(self.presets, chat)
        name = "" if preset is None else preset.name
        self.save_dialog.ask(chat, self.presets, name, native(written(self._window.presets_action.shortcuts())))

    def preset_in(self, system_prompt: str, sampling: OwnSampling) -> Preset | None:
        """The preset that a chat with these values has."""
        return preset_of(self.presets, self._values(system_prompt, sampling))

    @Slot(str, OwnSampling)
    def _name_edited(self, system_prompt: str, sampling: OwnSampling) -> None:
        preset = self.preset_in(system_prompt, sampling)
        self._dialog.show_preset("" if preset is None else preset.name)
