"""Who drafts: shown as the engine finds it out, and chosen in a dialog."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.features.drafter.drafter_dialog import DrafterDialog
from app.main_window import MainWindow
from app.settings.keeper import SettingsKeeper
from app.text.amounts import size_words
from app.text.drafters import cannot_learn_words, choice_words, heading, offer_words
from app.widgets.dialog_parts import show_in_front
from engine import AUTOMATIC, HUB_EXAMPLES, hub_name
from engine.values.drafters import DrafterChoice, DrafterOffer
from engine.values.events import (
    DrafterChosen,
    LearningChanged,
    SpeculationChanged,
    TargetInfo,
    TargetReady,
    TargetsListed,
)
from engine.values.requests import Failure
from engine.values.targets import Downloading, LibraryTarget

_OFFER_MS = 30_000


@dataclass
class _Drafting:
    """What the engine last said of one target."""

    choice: DrafterChoice | None = None
    sentence: str = ""
    is_drafting: bool = False
    awaits: bool = False
    has_failed: bool = False


@dataclass(frozen=True)
class _Fetch:
    """A download under way."""

    request: Request[Path]
    is_own: bool  # for the model in use alone
    is_offer: bool  # then nothing is fixed: it is used where it pays


@dataclass(frozen=True)
class _Before:
    """What was chosen before."""

    for_all: str
    target: Path | None  # that was in use
    own: str | None  # of that target alone


@dataclass
class _Trial:
    """A choice that the user has just made: it stays if its drafter can be loaded."""

    before: _Before
    is_told: bool = False  # the engine knows the choice: what it says from then on is about it


class DrafterController(Controller):
    """Decides what the dialog of drafters shows, and has them downloaded and used. Nothing is downloaded unless the
    user asks; a small model that would help is offered once for each model. Where a drafter cannot be used, the choice
    before it stays."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, keeper: SettingsKeeper) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._engine = bridge.engine
        self._check: Request[None] | None = None  # of the latest choice
        self._fetch: _Fetch | None = None
        self._trial: _Trial | None = None
        self._in_use: TargetInfo | None = None
        self._targets: tuple[LibraryTarget, ...] = ()
        self._can_learn = True  # the drafter in use
        self._drafting: dict[str, _Drafting] = {}  # by the target's name
        self.dialog = DrafterDialog(HUB_EXAMPLES, window)
        self.dialog.chosen.connect(self._choose)
        self.dialog.offer_taken.connect(self._take_offer)
        self.dialog.cancel_requested.connect(self._cancel)
        window.drafter_action.triggered.connect(self._open)
        bridge.listen(DrafterChosen, self._on_chosen)
        bridge.listen(SpeculationChanged, self._on_speculation)
        bridge.listen(LearningChanged, self._on_learning)
        bridge.listen(TargetReady, self._on_ready)
        bridge.listen(TargetsListed, self._on_listed)

    @property
    def choice(self) -> str:
        """The choice for models that have none of their own."""
        return self._keeper.settings.drafter

    def start(self) -> None:
        """Passes the stored choice to the engine; call this before a target is loaded."""
        if self.choice != AUTOMATIC:
            self._post_choice()

    @property
    def is_at_work(self) -> bool:
        """True while the user's choice is on trial."""
        return self._trial is not None or self._check is not None

    # What the user wants

    @Slot()
    def _open(self) -> None:
        if not self.dialog.isVisible() and self._fetch is None:
            self.dialog.show_words("")
            self._show_choice()
        self._show_state()
        show_in_front(self.dialog)

    @Slot(str, bool)
    def _choose(self, choice: str, is_own: bool) -> None:
        """Refuses obvious non-drafters before anything changes."""
        if self._check is not None:
            self._check.drop()
            self._check = None
        if not choice:
            self.dialog.show_problem(self.tr("Choose a model, a file or a folder first."))
        elif hub_name(choice) is not None:
            self._download(choice, is_own=is_own)
        elif choice == AUTOMATIC:
            self._use(choice, is_own)
        else:
            self._check = self._bridge.ask(self._engine.inspector.check_drafter, choice)
            self._check.answered.connect(partial(self._on_checked, choice, is_own))
            self._check.failed.connect(self._on_check_failed)

    def _on_checked(self, choice: str, is_own: bool, _answer: None) -> None:
        self._check = None
        self._use(choice, is_own)

    @Slot(object)
    def _on_check_failed(self, failure: Failure) -> None:
        self._check = None
        self.dialog.show_problem(failure.sentence)

    @Slot(str)
    def _take_offer(self, name: str) -> None:
        if self._fetch is None:
            self._download(name, is_offer=True)

    def _download(self, name: str, is_own: bool = False, is_offer: bool = False) -> None:
        request = self._bridge.ask(self._engine.drafters.fetch, name)
        request.progressed.connect(partial(self._on_fetching, name))
        request.answered.connect(partial(self._on_fetched, name))
        request.failed.connect(self._on_fetch_failed)
        self._fetch = _Fetch(request, is_own, is_offer)
        self.dialog.show_downloading(True)
        self.dialog.show_words(self.tr("Asking the hub for {name}…").format(name=name))

    @Slot()
    def _cancel(self) -> None:
        if self._fetch is not None:
            self._fetch.request.stop()

    def _use(self, choice: str, is_own: bool) -> None:
        """Uses a choice; one for all models replaces the own choice of the model in use."""
        target, own = self._listed(), choice if is_own else None
        path, before_own = (None, None) if target is None else (target.path, target.options.drafter)
        before = _Before(self.choice, path, before_own) if self._trial is None else self._trial.before
        self._trial = _Trial(before)
        self._store(self.choice if is_own else choice, target, own)
        self.dialog.show_words(self.tr("It loads as soon as no reply is being written."))

    def _store(self, for_all: str, target: LibraryTarget | None, own: str | None) -> None:
        """Stores the choice and passes it to the engine; `own`: for the target alone."""
        self._keeper.note(drafter=for_all)
        if target is not None and target.options.drafter != own:
            options = replace(target.options, drafter=own)
            request = self._bridge.ask(self._engine.library.change_options, target.path, options)
            request.answered.connect(lambda _answer: self._post_choice())  # the engine reads it then
            request.failed.connect(self._on_use_failed)
        else:
            self._post_choice()

    @Slot()
    def _post_choice(self) -> None:
        request = self._bridge.ask(self._bridge.engine.target.use_drafter, self.choice)
        request.answered.connect(partial(self._on_told, self._trial))
        request.failed.connect(self._on_use_failed)

    def _on_told(self, trial: _Trial | None, _answer: None) -> None:
        if trial is not None and trial is self._trial:
            trial.is_told = True
            self._judge()

    def _judge(self) -> None:
        """Decides whether the choice on trial stays, once that is known."""
        trial, target = self._trial, self._in_use
        if trial is None or not trial.is_told or target is None or (found := self._of(target.name)).awaits:
            return
        self._trial = None
        if found.has_failed:
            self._take_back(trial.before, found.sentence)
        elif self._fetch is None:
            self.dialog.show_words("")

    def _take_back(self, before: _Before, problem: str) -> None:
        target = next((each for each in self._targets if each.path == before.target), None)
        own = None if target is None else target.options.drafter
        if (self.choice, own) != (before.for_all, before.own):
            self._store(before.for_all, target, before.own)
            kept = choice_words(before.own or before.for_all)
            problem = self.tr("{problem} Your previous choice stays: {choice}.").format(problem=problem, choice=kept)
        self.dialog.show_problem(problem)
        if not self.dialog.isVisible():
            self._window.toasts.show_error(problem)

    # What the engine says

    def _on_chosen(self, event: DrafterChosen) -> None:
        self._of(event.target_name).choice = event.choice
        self._on_changed(event.target_name)

    def _on_speculation(self, event: SpeculationChanged) -> None:
        found = self._of(event.target_name)
        found.sentence, found.is_drafting, found.awaits = event.sentence, event.is_drafting, event.awaits_drafter
        found.has_failed = event.has_failed
        self._on_changed(event.target_name)

    def _on_learning(self, event: LearningChanged) -> None:
        self._can_learn = event.can_learn
        self._show_state()

    def _on_ready(self, event: TargetReady) -> None:
        self._in_use = target = event.target
        found = self._of(target.name)
        found.sentence, found.awaits = target.speculation, target.awaits_drafter
        self._on_changed(target.name)

    def _on_listed(self, event: TargetsListed) -> None:
        self._targets = event.targets
        self._show_models()

    def _on_fetching(self, name: str, progress: Downloading) -> None:
        done, total = progress.num_bytes, progress.total_bytes
        self.dialog.show_progress(done / total if total else 1.0)
        words = self.tr("Downloading {name}: {done} of {total}.")
        self.dialog.show_words(words.format(name=name, done=size_words(done), total=size_words(total)))

    def _on_fetched(self, name: str, _path: Path) -> None:
        fetch = self._fetch
        self._end_fetch()
        if fetch is None or fetch.is_offer:
            self._post_choice()  # it is in the library now, so the choice is made again
            words = self.tr("{name} is downloaded and drafts wherever that pays.")
            self.dialog.show_words(words.format(name=name))
        else:
            self._use(name, fetch.is_own)
            words = self.tr("{name} is downloaded. It loads as soon as no reply is being written.")
        self._tell(words.format(name=name))

    def _on_changed(self, name: str) -> None:
        if self._in_use is None or self._in_use.name != name:
            return  # another one is being loaded
        self._show_state()
        self._judge()
        choice = self._of(name).choice
        if choice is not None and choice.offer is not None:
            self._offer_once(choice.offer, self._in_use)

    def _offer_once(self, offer: DrafterOffer, target: TargetInfo) -> None:
        """Offers the drafter once for each target; the dialog keeps showing it."""
        offered = self._keeper.settings.drafters_offered
        if not target.identity or target.identity in offered:
            return
        self._keeper.note(drafters_offered=(*offered, target.identity))
        if not self.dialog.isVisible():
            words, action = offer_words(offer, target.name), self.tr("Download and use it")
            self._window.toasts.show_info(words, action, partial(self._take_offer, offer.hub_name), _OFFER_MS)

    @Slot(object)
    def _on_fetch_failed(self, failure: Failure) -> None:
        self._end_fetch()
        self.dialog.show_problem(failure.sentence)
        if not self.dialog.isVisible():
            self._window.toasts.show_error(failure.sentence)

    @Slot(object)
    def _on_use_failed(self, failed: Failure) -> None:
        self._trial = None
        self._window.toasts.show_error(failed.sentence)
        self.dialog.show_problem(failed.sentence)

    def _end_fetch(self) -> None:
        self._fetch = None
        self.dialog.show_downloading(False)

    # What is shown

    def _of(self, name: str) -> _Drafting:
        return self._drafting.setdefault(name, _Drafting())

    def _listed(self) -> LibraryTarget | None:
        """The library's entry of the target in use."""
        reference = "" if self._in_use is None else self._in_use.reference
        return next((each for each in self._targets if each.reference == reference), None)

    def _tell(self, words: str) -> None:
        if not self.dialog.isVisible():
            self._window.toasts.show_info(words)

    def _show_models(self) -> None:
        limit = None if self._in_use is None else self._in_use.size_bytes
        able = (each for each in self._targets if not each.is_starter and not each.problem)
        able = (each for each in able if each.details is not None and each.details.can_speculate)
        self.dialog.form.show_models([each for each in able if limit is None or each.size_bytes < limit])

    def _show_choice(self) -> None:
        """Refreshes the fields, which the user may have changed since."""
        self._show_models()
        target = self._listed()
        own = None if target is None else target.options.drafter
        self.dialog.form.show_scope("" if target is None else target.name, own is not None)
        choice = own or self.choice
        self.dialog.form.show_choice(choice, hub_name(choice) is None)

    def _show_state(self) -> None:
        target = self._in_use
        if target is None:
            self.dialog.show_state(self.tr("No model is loaded yet."), "")
            return
        known = self._of(target.name)
        why = "" if known.choice is None else known.choice.why
        learning = "" if self._can_learn or not known.is_drafting else cannot_learn_words()
        sentences = dict.fromkeys(filter(None, (why, known.sentence, learning)))  # each reason is given once
        words = heading(known.choice, target.name, known.is_drafting, known.awaits)
        self.dialog.show_state(words, " ".join(sentences))
        self.dialog.show_choice(known.choice, target.name)
