"""What the drafter learns from chats: shown, switched off, carried in profiles and forgotten."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.features.personalization.personal_dialog import PersonalDialog
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.text.amounts import size_words
from app.text.learned import ModelInUse, kept_words, model_views, ordinal_of, outcome_words, profile_view
from app.text.learning_progress import progress_view
from app.text.numbers import whole
from app.widgets.dialog_parts import show_in_front
from engine import LearningSettings
from engine.values.events import (
    ConversationsDeleted,
    DeletedErased,
    DrafterLearned,
    Event,
    LearnedChanged,
    LearnedGrew,
    LearningChanged,
    SpeculationChanged,
    TargetReady,
)
from engine.values.learned import FingerprintPair, ImportOutcome, LearnedState, LearnedSummary, ProfileSummary
from engine.values.requests import Failure

P = ParamSpec("P")
T = TypeVar("T")

_NOTHING_KNOWN = LearnedState(LearnedSummary({}, {}, {}, {}, {}, ()), None)


class PersonalController(Controller):
    """Decides what the dialog of personalization shows. What the user asks for there is done one at a time."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._learned = _NOTHING_KNOWN
        self._target = self._identity = ""  # the loaded one's name, and what it is
        self._learning = LearningChanged(is_learning=False)
        self._profile: Path | None = None  # that is shown
        self._is_busy = False
        self._drafting = ("", False)  # the target, and whether there is a drafter for it
        self._undo: tuple[FingerprintPair, int | None] | None = None  # of an adapter that was used before
        self._left: tuple[str, ...] = ()  # what was deleted and is not erased yet, in sentences
        self.dialog = dialog = PersonalDialog(keeper.settings.learning_settings(), window)
        dialog.learning.changed.connect(self._change)
        dialog.learning.practice.erase_requested.connect(self._erase_practice)
        dialog.learned.adapter_chosen.connect(self._use_adapter)
        dialog.learned.compare_requested.connect(self._compare)
        dialog.compared.chat_chosen.connect(self._open_chat)
        dialog.undo_requested.connect(self._take_back)
        dialog.profile.export_requested.connect(self._export)
        dialog.profile.opened.connect(self._show_profile)
        dialog.profile_dropped.connect(self._show_profile)
        dialog.profile.import_requested.connect(self._import)
        dialog.forget.forget_learned.connect(self._forget_learned)
        dialog.forget.forget_everything.connect(self._forget_everything)
        window.personal_action.triggered.connect(self._open)
        window.profile_dropped.connect(self._open_profile)
        bridge.listen(DeletedErased, self._show_left)
        bridge.listen(LearningChanged, self._on_learning_changed)
        bridge.listen(SpeculationChanged, self._on_speculation_changed)
        bridge.listen(TargetReady, self._on_ready)
        for change in (DrafterLearned, LearnedGrew, LearnedChanged, ConversationsDeleted):
            bridge.listen(change, self._read_again)

    # What the user wants

    @Slot()
    def _open(self) -> None:
        if not self.dialog.isVisible():
            self._read()
            if not self._is_busy:
                self.dialog.clear_words()
        show_in_front(self.dialog)

    @Slot(LearningSettings)
    def _change(self, settings: LearningSettings) -> None:
        if settings != self._keeper.settings.learning_settings():
            self._keeper.note(
                learning=settings.enabled,
                learning_share=settings.share,
                learning_on_battery=settings.on_battery,
                practice=settings.self_distils,
                practice_minutes=settings.self_distillation_minutes,
                practice_tokens=settings.self_distillation_tokens,
                practice_at_night=settings.self_distils_at_night,
                night_begins=settings.night_begins,
                night_ends=settings.night_ends,
            )
            self._bridge.ask(self._bridge.engine.learning.change, settings)
            self._show()

    @Slot(str, str, object)
    def _use_adapter(self, target: str, drafter: str, number: int | None) -> None:
        self._use((target, drafter), number, self.tr("Changing…"))

    @Slot(str, object)
    def _compare(self, model: str, pair: FingerprintPair) -> None:
        comparing = self._bridge.ask(self._bridge.engine.personal.compare, pair)
        comparing.answered.connect(partial(self.dialog.compared.show_replies, model))
        comparing.failed.connect(self._on_failed)

    @Slot(int)
    def _open_chat(self, conversation_id: int) -> None:
        self.dialog.compared.close()
        self.dialog.close()
        self._window.conversations.chosen.emit(conversation_id)

    @Slot()
    def _take_back(self) -> None:
        if self._undo is not None:
            self._use(*self._undo, self.tr("Changing back…"))

    def _use(self, pair: FingerprintPair, number: int | None, words: str) -> None:
        show = partial(self._on_adapter_used, pair, number)
        self._begin(words, show, self._bridge.engine.personal.use_adapter, pair, number)

    @Slot(str, bool)
    def _export(self, path: str, with_recall: bool) -> None:
        words = self.tr("Exporting to {file}…").format(file=Path(path).name)
        show = partial(self._on_exported, Path(path).name, with_recall)
        self._begin(words, show, self._bridge.engine.personal.export_profile, Path(path), with_recall)

    @Slot(str)
    def _open_profile(self, path: str) -> None:
        self._open()
        self._show_profile(path)

    @Slot(str)
    def _show_profile(self, name: str) -> None:
        path = Path(name)
        self.dialog.show_page(self.dialog.profile)
        words, show = self.tr("Reading {file}…").format(file=path.name), partial(self._on_profile_read, path)
        reading = self._begin(words, show, self._bridge.engine.personal.summarize_profile, path)
        if reading is not None:
            reading.failed.connect(self._close_profile)

    @Slot(bool)
    def _import(self, replace: bool) -> None:
        if self._profile is not None:
            words = self.tr("Importing {file}…").format(file=self._profile.name)
            show = partial(self._on_imported, self._profile.name, replace)
            self._begin(words, show, self._bridge.engine.personal.import_profile, self._profile, replace)

    @Slot()
    def _forget_learned(self) -> None:
        words = self.tr("Forgetting what was learned…")
        self._begin(words, self._on_learned_forgotten, self._bridge.engine.personal.forget_learned)

    @Slot()
    def _erase_practice(self) -> None:
        words = self.tr("Erasing practice answers…")
        self._begin(words, self._on_practice_erased, self._bridge.engine.personal.erase_self_distilled)

    @Slot()
    def _forget_everything(self) -> None:
        self._window.prompt_box.stop_requested.emit()  # the engine waits for the reply that is under way
        words = self.tr("Forgetting everything, as soon as the model is free…")
        self._begin(words, self._on_everything_forgotten, self._bridge.engine.forgetting.forget_everything)

    def _begin(
        self,
        words: str,
        show: Callable[[T], object],
        method: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Request[T] | None:
        """None while another request is under way."""
        if self._is_busy:
            return None
        self._is_busy = True
        self._undo = None
        request = self._bridge.ask(method, *args, **kwargs)
        request.answered.connect(show)
        request.failed.connect(self._on_failed)
        self.dialog.set_busy(True)
        self.dialog.show_words(words)
        return request

    # What the engine says

    def _on_profile_read(self, path: Path, summary: ProfileSummary) -> None:
        self._end()
        self._profile = path
        self.dialog.profile.show_profile(path.name, profile_view(summary, self._learned.summary, self._loaded))
        self.dialog.clear_words()

    def _on_exported(self, file: str, with_recall: bool, num_bytes: int) -> None:
        texts = self.tr("It contains no text that you typed.")
        if with_recall:
            texts = self.tr("It contains text that you typed; share it only with people who may read your chats.")
        words = self.tr("Exported to {file} ({size}).").format(file=file, size=size_words(num_bytes))
        self._end(f"{words} {texts}")

    def _on_imported(self, file: str, replaced: bool, outcome: ImportOutcome) -> None:
        self._close_profile()
        words = self.tr("Imported {file}.").format(file=file)
        what = self.tr("It replaced what was learned here.") if replaced else ""
        self._end(" ".join(filter(None, (words, what, outcome_words(outcome)))))

    def _on_learned_forgotten(self, _nothing: None) -> None:
        words = self.tr(
            "What was learned is forgotten. Your chats are still here, and their text is reused until you "
            "delete them or forget everything."
        )
        self._end(words)

    def _on_practice_erased(self, _nothing: None) -> None:
        self._end(self.tr("All practice answers are erased. What the drafter learned from them stays."))

    def _on_everything_forgotten(self, num_conversations: int) -> None:
        words = self.tr(
            "Everything is forgotten: {number} chat(s), and everything learned.",
            "",
            num_conversations,
        )
        self._end(words.format(number=whole(num_conversations)))

    def _on_learning_changed(self, event: LearningChanged) -> None:
        self._learning = event
        self.dialog.learning.show_can_learn(event.can_learn)
        self._show()
        self._read_again(event)  # what was read in practice

    def _on_speculation_changed(self, event: SpeculationChanged) -> None:
        drafting = event.target_name, event.is_drafting
        if drafting != self._drafting:
            self._drafting = drafting
            self._read_again(event)

    def _on_ready(self, event: TargetReady) -> None:
        self._target, self._identity = event.target.name, event.target.identity
        self._read_again(event)

    @property
    def _loaded(self) -> ModelInUse:
        return ModelInUse(self._target, self._learned.vocabulary, self._learned.in_use, self._identity)

    def _show(self) -> None:
        """Nothing before it was read."""
        if self._learned is _NOTHING_KNOWN:
            return
        summary, loaded, settings = self._learned.summary, self._loaded, self._keeper.settings.learning_settings()
        has_drafter, learning = loaded.pair is not None, self._learning
        progress = progress_view(self._learned.progress, settings, has_drafter, learning.can_learn, learning.is_paused)
        self.dialog.learned.show_models(model_views(summary, loaded, progress))
        self.dialog.learning.practice.show_state(self._learned.practice)
        self.dialog.forget.show_kept(kept_words(summary, loaded))

    def _on_adapter_used(self, pair: FingerprintPair, number: int | None, before: int | None) -> None:
        can_undo = before != number
        self._end(self._words_of_use(number, self._learned.in_use == pair), can_undo=can_undo)
        if can_undo:
            self._undo = pair, before

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
    def _on_failed(self, failure: Failure) -> None:
        self._end()
        self.dialog.show_words(failure.sentence, is_error=True)
        if not self.dialog.isVisible():
            self._window.toasts.show_error(failure.sentence)

    @Slot(object)
    def _on_reading_failed(self, failure: Failure) -> None:
        self.dialog.learned.show_unread()
        if not self._is_busy:
            self.dialog.show_words(failure.sentence, is_error=True)

    def _end(self, sentence: str = "", can_undo: bool = False) -> None:
        self._is_busy = False
        self.dialog.set_busy(False)
        if sentence:
            self.dialog.show_words(sentence, can_undo=can_undo)
            if not self.dialog.isVisible():
                self._window.toasts.show_info(sentence)

    def _show_left(self, event: DeletedErased) -> None:
        """Shows each sentence as a toast once; it stays on the page."""
        for sentence in event.left:
            if sentence not in self._left:
                self._window.toasts.show_info(sentence)
        self._left = event.left
        self.dialog.forget.show_left(event.left)

    def _read(self) -> None:
        reading = self._bridge.ask(self._bridge.engine.personal.read_learned)
        reading.answered.connect(self._on_read)
        reading.failed.connect(self._on_reading_failed)

    def _on_read(self, learned: LearnedState) -> None:
        self._learned = learned
        self._show()

    def _read_again(self, _change: Event) -> None:
        if self.dialog.isVisible():
            self._read()

    @Slot()
    def _close_profile(self) -> None:
        self._profile = None
        self.dialog.profile.close_preview()
