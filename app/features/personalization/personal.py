"""What the drafter learns from chats: shown, switched off, carried in profiles and forgotten."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge
from app.features.controller import Controller
from app.features.personalization.personal_dialog import PersonalDialog
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.text.amounts import size_words
from app.text.learned import ModelInUse, kept_words, model_views, ordinal_of, outcome_words, profile_view
from app.text.learning_progress import progress_view
from app.text.numbers import whole
from app.widgets.dialog_parts import show_in_front
from engine import (
    ExportProfile,
    ForgetEverything,
    ForgetLearned,
    ImportProfile,
    LearningSettings,
    PersonalCommand,
    ReadLearned,
    ShowProfile,
    UseAdapter,
)
from engine.values.events import (
    AdapterUsed,
    ConversationsDeleted,
    DeletedErased,
    DrafterLearned,
    Event,
    EverythingForgotten,
    Failed,
    LearnedForgotten,
    LearnedGrew,
    LearnedRead,
    LearningChanged,
    ProfileExported,
    ProfileImported,
    ProfileShown,
    SpeculationChanged,
    TargetReady,
)
from engine.values.learned import LearnedSummary

_NOTHING_KNOWN = LearnedRead(LearnedSummary({}, {}, {}, {}, {}, ()), None)


class PersonalController(Controller):
    """Decides what the dialog of personalization shows. Commands that change what is learned are carried out one at a
    time."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._learned = _NOTHING_KNOWN
        self._target = ""  # its name
        self._learning = LearningChanged(is_learning=False)
        self._profile: Path | None = None  # that is shown
        self._under_way: PersonalCommand | None = None
        self._drafting = ("", False)  # the target, and whether there is a drafter for it
        self._undo: UseAdapter | None = None
        self._left: tuple[str, ...] = ()  # what was deleted and is not erased yet, in sentences
        self.dialog = dialog = PersonalDialog(keeper.settings.learning_settings(), window)
        dialog.learning.changed.connect(self._change)
        dialog.learned.adapter_chosen.connect(self._use_adapter)
        dialog.undo_requested.connect(self._take_back)
        dialog.profile.export_requested.connect(self._export)
        dialog.profile.opened.connect(self._show_profile)
        dialog.profile_dropped.connect(self._show_profile)
        dialog.profile.import_requested.connect(self._import)
        dialog.forget.forget_learned.connect(self._forget_learned)
        dialog.forget.forget_everything.connect(self._forget_everything)
        window.personal_action.triggered.connect(self._open)
        window.profile_dropped.connect(self._open_profile)

    # What the user wants

    @Slot()
    def _open(self) -> None:
        if not self.dialog.isVisible():
            self._read()
            if self._under_way is None:
                self.dialog.clear_words()
        show_in_front(self.dialog)

    @Slot(LearningSettings)
    def _change(self, settings: LearningSettings) -> None:
        if settings != self._keeper.settings.learning_settings():
            self._keeper.note(
                learning=settings.enabled,
                learning_share=settings.share,
                learning_on_battery=settings.on_battery,
                practice=settings.practises,
                practice_minutes=settings.practice_minutes,
            )
            self._bridge.ask(self._bridge.engine.learning.change, settings)
            self._show()

    @Slot(str, str, object)
    def _use_adapter(self, target: str, drafter: str, number: int | None) -> None:
        self._begin(UseAdapter(target, drafter, number), self.tr("Changing…"))

    @Slot()
    def _take_back(self) -> None:
        if self._undo is not None:
            self._begin(self._undo, self.tr("Changing back…"))

    @Slot(str, bool)
    def _export(self, path: str, with_recall: bool) -> None:
        words = self.tr("Exporting to {file}…").format(file=Path(path).name)
        self._begin(ExportProfile(Path(path), with_recall), words)

    @Slot(str)
    def _open_profile(self, path: str) -> None:
        self._open()
        self._show_profile(path)

    @Slot(str)
    def _show_profile(self, path: str) -> None:
        self.dialog.show_page(self.dialog.profile)
        self._begin(ShowProfile(Path(path)), self.tr("Reading {file}…").format(file=Path(path).name))

    @Slot(bool)
    def _import(self, replace: bool) -> None:
        if self._profile is not None:
            words = self.tr("Importing {file}…").format(file=self._profile.name)
            self._begin(ImportProfile(self._profile, replace), words)

    @Slot()
    def _forget_learned(self) -> None:
        self._begin(ForgetLearned(), self.tr("Forgetting what was learned…"))

    @Slot()
    def _forget_everything(self) -> None:
        self._window.prompt_box.stop_requested.emit()  # the engine waits for the reply that is under way
        self._begin(ForgetEverything(), self.tr("Forgetting everything, as soon as the model is free…"))

    def _begin(self, command: PersonalCommand, sentence: str) -> None:
        if self._under_way is not None:
            return
        self._under_way = command
        self._undo = None
        self._bridge.post(command).failed.connect(self._on_failed)
        self.dialog.set_busy(True)
        self.dialog.show_words(sentence)

    # What the engine says

    def _on_event(self, event: Event) -> None:
        match event:
            case LearnedRead():
                self._learned = event
                self._show()
            case ProfileShown(path, summary):
                self._end()
                self._profile = path
                view = profile_view(summary, self._learned.summary, self._loaded)
                self.dialog.profile.show_profile(path.name, view)
                self.dialog.clear_words()
            case ProfileExported(path, num_bytes, with_recall):
                texts = self.tr("It contains no text that you typed.")
                if with_recall:
                    texts = self.tr(
                        "It contains text that you typed; share it only with people who may read your chats."
                    )
                words = self.tr("Exported to {file} ({size}).").format(file=path.name, size=size_words(num_bytes))
                self._end(f"{words} {texts}")
            case ProfileImported(path, outcome, replaced):
                self._close_profile()
                words = self.tr("Imported {file}.").format(file=path.name)
                what = self.tr("It replaced what was learned here.") if replaced else ""
                self._end(" ".join(filter(None, (words, what, outcome_words(outcome)))))
            case AdapterUsed(command, before):
                self._on_adapter_used(command, before)
            case LearnedForgotten():
                words = self.tr(
                    "What was learned is forgotten. Your chats are still here, and their text is reused until you "
                    "delete them or forget everything."
                )
                self._end(words)
            case EverythingForgotten(num_conversations):
                words = self.tr(
                    "Everything is forgotten: {number} chat(s), and everything learned.",
                    "",
                    num_conversations,
                )
                self._end(words.format(number=whole(num_conversations)))
            case DeletedErased(left):
                self._show_left(left)
            case DrafterLearned() | LearnedGrew() | ConversationsDeleted():
                self._read_again()
            case LearningChanged():
                self._learning = event
                self.dialog.learning.show_can_learn(event.can_learn)
                self._show()
            case SpeculationChanged(name, _, is_drafting) if (name, is_drafting) != self._drafting:
                self._drafting = name, is_drafting
                self._read_again()
            case TargetReady(target):
                self._target = target.name
                self._read_again()

    @property
    def _loaded(self) -> ModelInUse:
        return ModelInUse(self._target, self._learned.vocabulary, self._learned.in_use)

    def _show(self) -> None:
        """Nothing before it was read."""
        if self._learned is _NOTHING_KNOWN:
            return
        summary, loaded, settings = self._learned.summary, self._loaded, self._keeper.settings.learning_settings()
        has_drafter, learning = loaded.pair is not None, self._learning
        progress = progress_view(self._learned.progress, settings, has_drafter, learning.can_learn, learning.is_paused)
        self.dialog.learned.show_models(model_views(summary, loaded, progress))
        self.dialog.forget.show_kept(kept_words(summary, loaded))

    def _on_adapter_used(self, command: UseAdapter, before: int | None) -> None:
        is_loaded = self._learned.in_use == (command.target_fingerprint, command.drafter_fingerprint)
        can_undo = before != command.number
        self._end(self._words_of_use(command.number, is_loaded), can_undo=can_undo)
        if can_undo:
            self._undo = UseAdapter(command.target_fingerprint, command.drafter_fingerprint, before)

    def _words_of_use(self, number: int | None, is_loaded: bool) -> str:
        if number is not None:
            number = ordinal_of(self._learned.summary, number)
        if number is None and is_loaded:
            return self.tr("The original drafter is used from the next reply on.")
        if number is None:
            return self.tr("The original drafter will be used once its model and drafter are loaded.")
        if is_loaded:
            return self.tr("Snapshot {number} is used from the next reply on.").format(number=number)
        return self.tr("Snapshot {number} will be used once its model and drafter are loaded.").format(number=number)

    @Slot(object)
    def _on_failed(self, failed: Failed) -> None:
        if isinstance(failed.command, ShowProfile):
            self._close_profile()
        self._end()
        self.dialog.show_words(failed.sentence, is_error=True)
        if not self.dialog.isVisible():
            self._window.toasts.show_error(failed.sentence)

    @Slot(object)
    def _on_reading_failed(self, failed: Failed) -> None:
        self.dialog.learned.show_unread()
        if self._under_way is None:
            self.dialog.show_words(failed.sentence, is_error=True)

    def _end(self, sentence: str = "", can_undo: bool = False) -> None:
        self._under_way = None
        self.dialog.set_busy(False)
        if sentence:
            self.dialog.show_words(sentence, can_undo=can_undo)
            if not self.dialog.isVisible():
                self._window.toasts.show_info(sentence)

    def _show_left(self, left: tuple[str, ...]) -> None:
        """Once; it stays on the page."""
        for sentence in left:
            if sentence not in self._left:
                self._window.toasts.show_info(sentence)
        self._left = left
        self.dialog.forget.show_left(left)

    def _read(self) -> None:
        self._bridge.post(ReadLearned()).failed.connect(self._on_reading_failed)

    def _read_again(self) -> None:
        if self.dialog.isVisible():
            self._read()

    def _close_profile(self) -> None:
        self._profile = None
        self.dialog.profile.close_preview()
