"""The user's presets and prompts: changed, deleted, imported, exported, and chosen in the message box."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QStandardPaths, Qt, Slot
from PySide6.QtWidgets import QFileDialog

from app.engine_bridge import EngineBridge, Request
from app.features.chat.chat import ChatController
from app.features.chat.conversation_dialog import ConversationDialog
from app.features.controller import Controller
from app.features.library.target import TargetController
from app.features.presets.presets_dialog import PresetsDialog
from app.main_window import MainWindow
from app.text.preset_examples import example_presets, example_prompts
from app.theme import ThemeKeeper
from app.widgets.dialog_parts import show_in_front
from engine.values.events import EverythingForgotten, PresetsListed, TargetsListed
from engine.values.order import AddedPresets, LibraryPrompt, Preset, TargetChoice

_T = TypeVar("_T")


class PresetLibraryController(Controller):
    """Shows the dialog, which is made when it is first asked for, and keeps the prompts of the message box."""

    def __init__(
        self,
        window: MainWindow,
        theme: ThemeKeeper,
        bridge: EngineBridge,
        chat: ChatController,
        target: TargetController,
    ) -> None:
        super().__init__(window, bridge)
        self._library, self._files = bridge.engine.presets, bridge.engine.files
        self._theme = theme
        self._chat = chat
        self._target = target
        self._presets: tuple[Preset, ...] = ()
        self._prompts: tuple[LibraryPrompt, ...] = ()
        self._dialog: PresetsDialog | None = None
        self._sampling: ConversationDialog | None = None
        self._folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        window.library_of_presets_action.triggered.connect(self.open_presets)
        window.prompt_box.library.manage_requested.connect(self.open_prompts)
        window.closing.connect(self._finish)
        bridge.listen(PresetsListed, self._show_all)
        bridge.listen(TargetsListed, self._show_targets)
        bridge.listen(EverythingForgotten, self._forget_undo)

    @property
    def dialog(self) -> PresetsDialog:
        if self._dialog is None:
            self._dialog = self._make_dialog()
        return self._dialog

    def _make_dialog(self) -> PresetsDialog:
        dialog = PresetsDialog(self._theme, self._window)
        presets, prompts = dialog.presets, dialog.prompts
        presets.saved.connect(self._save_preset)
        prompts.saved.connect(self._save_prompt)
        presets.deleted.connect(self._delete_preset)
        prompts.deleted.connect(self._delete_prompt)
        presets.sampling_requested.connect(self._ask_for_sampling)
        presets.examples_requested.connect(lambda: self._add(example_presets(), ()))
        prompts.examples_requested.connect(lambda: self._add((), example_prompts()))
        presets.export_requested.connect(lambda: self._choose_export(self.tr("Presets"), self._presets, ()))
        prompts.export_requested.connect(lambda: self._choose_export(self.tr("Prompts"), (), self._prompts))
        for page in (presets, prompts):
            page.import_requested.connect(self._choose_import)
        presets.set_targets(self._targets())
        presets.set_presets(self._presets)
        prompts.set_prompts(self._prompts)
        return dialog

    @Slot()
    def open_presets(self) -> None:
        self._open(0)

    @Slot()
    def open_prompts(self) -> None:
        self._open(1)

    def _open(self, page: int) -> None:
        dialog = self.dialog
        if not dialog.isVisible():
            dialog.clear_words()
        dialog.pages.setCurrentIndex(page)
        show_in_front(dialog)

    @Slot()
    def _finish(self) -> None:
        """Saves what was typed last."""
        if self._dialog is not None:
            self._dialog.presets.flush()
            self._dialog.prompts.flush()

    # What the user wants

    @Slot(object)
    def _save_preset(self, preset: Preset) -> None:
        self._watch(self._bridge.ask(self._library.save_preset, preset))

    @Slot(object)
    def _save_prompt(self, prompt: LibraryPrompt) -> None:
        self._watch(self._bridge.ask(self._library.save_prompt, prompt))

    def _add(self, presets: tuple[Preset, ...], prompts: tuple[LibraryPrompt, ...]) -> None:
        self._watch(self._bridge.ask(self._library.add, presets, prompts)).answered.connect(self._show_added)

    @Slot(object)
    def _delete_preset(self, preset: Preset) -> None:
        self._watch(self._bridge.ask(self._library.delete_preset, preset.id))
        words = self.tr("The preset “{name}” was deleted.").format(name=preset.name)
        self.dialog.show_words(words, partial(self._save_preset, preset))

    @Slot(object)
    def _delete_prompt(self, prompt: LibraryPrompt) -> None:
        self._watch(self._bridge.ask(self._library.delete_prompt, prompt.id))
        words = self.tr("The prompt “{name}” was deleted.").format(name=prompt.name)
        self.dialog.show_words(words, partial(self._save_prompt, prompt))

    @Slot(object)
    def _ask_for_sampling(self, preset: Preset) -> None:
        """Opens the sampling dialog of chats."""
        if self._sampling is None:
            self._sampling = ConversationDialog(self.dialog, is_sampling_alone=True)
            self._sampling.saved.connect(lambda _system_prompt, sampling: self.dialog.presets.take_sampling(sampling))
            self._sampling.grammar_entered.connect(partial(self._check_grammar, self._sampling))
        about = self.tr("Applies to every chat that gets the preset “{name}”.").format(name=preset.name)
        title = self.tr("How a preset answers")
        self._sampling.show_values(title, about, "", preset.sampling, self._chat.reply_settings, "")
        self._sampling.open()

    def _check_grammar(self, dialog: ConversationDialog, text: str) -> None:
        request = self._bridge.ask(self._files.check_grammar, text)
        request.answered.connect(partial(dialog.show_grammar_check, text))

    def _choose_export(self, name: str, presets: tuple[Preset, ...], prompts: tuple[LibraryPrompt, ...]) -> None:
        dialog = self._file_dialog(self.tr("Export"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("json")
        dialog.selectFile(self.tr("{name} {date}").format(name=name, date=date.today().isoformat()) + ".json")
        dialog.fileSelected.connect(lambda path: self._export(Path(path), presets, prompts))
        dialog.open()

    def _export(self, path: Path, presets: tuple[Preset, ...], prompts: tuple[LibraryPrompt, ...]) -> None:
        # The dialog has asked about an existing file.
        request = self._bridge.ask(self._files.export_presets, path, presets, prompts, overwrite=True)
        words = self.tr("Exported to {file}.").format(file=path.name)
        self._watch(request).answered.connect(lambda _: self.dialog.show_words(words))

    @Slot()
    def _choose_import(self) -> None:
        dialog = self._file_dialog(self.tr("Import"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self._import)
        dialog.open()

    @Slot(str)
    def _import(self, path: str) -> None:
        self._watch(self._bridge.ask(self._files.import_presets, Path(path))).answered.connect(self._show_added)

    def _file_dialog(self, title: str) -> QFileDialog:
        files = self.tr("Presets and prompts (*.json);;All files (*)")
        dialog = QFileDialog(self.dialog, title, self._folder, files)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._note_folder)
        return dialog

    @Slot(str)
    def _note_folder(self, path: str) -> None:
        self._folder = str(Path(path).parent)

    def _watch(self, request: Request[_T]) -> Request[_T]:
        """Shows in the dialog why the request failed, if it does."""
        request.failed.connect(lambda failure: self.dialog.show_words(failure.sentence, is_error=True))
        return request

    # What the engine says

    @Slot(object)
    def _show_all(self, listed: PresetsListed) -> None:
        self._presets, self._prompts = listed.presets, listed.prompts
        self._window.prompt_box.library.set_prompts([each for each in listed.prompts if each.text.strip()])
        if self._dialog is not None:
            self._dialog.presets.set_presets(listed.presets)
            self._dialog.prompts.set_prompts(listed.prompts)

    @Slot(object)
    def _show_targets(self, _listed: TargetsListed) -> None:
        if self._dialog is not None:
            self._dialog.presets.set_targets(self._targets())

    @Slot(object)
    def _forget_undo(self, _forgotten: EverythingForgotten) -> None:
        """Drops the undo, which would restore a deleted one."""
        if self._dialog is not None:
            self._dialog.clear_words()

    @Slot(object)
    def _show_added(self, added: AddedPresets) -> None:
        self.dialog.show_words(self._words_of_added(added))

    def _words_of_added(self, added: AddedPresets) -> str:
        """Says what was added, and what was not."""
        presets = self.tr("%n preset(s) added.", "", added.num_presets) if added.num_presets else ""
        prompts = self.tr("%n prompt(s) added.", "", added.num_prompts) if added.num_prompts else ""
        known = self.tr("%n (is|are) here already.", "", added.num_known) if added.num_known else ""
        unreadable = self.tr("%n could not be read and (was|were) skipped.", "", added.num_unreadable)
        return " ".join(filter(None, (presets, prompts, known, unreadable if added.num_unreadable else "")))

    def _targets(self) -> tuple[TargetChoice, ...]:
        return tuple(choice for choice, _ in self._target.choices)
