"""The target in use: loading it, freeing its graphics cards for another, changing its drafter, counting its tokens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from engine.backend.remote.targets import RemoteTargets
from engine.backend.remote.writer import RemoteWriter
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.recall import Recall
from engine.backend.teaching.self_distillation import TargetAtHand
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.model.chat import template_apart
from engine.speculation.model.chat.chat_template import CHOSEN_TEMPLATE
from engine.speculation.model.chat.families import TEXT, name_of
from engine.speculation.model.files.prompt_cache import PromptCache
from engine.speculation.model.files.sources import resolve_target
from engine.speculation.model.files.suspects import Suspects
from engine.speculation.model.interface import Interrupted, Target, TargetFeature
from engine.speculation.model.loading import check_memory
from engine.speculation.model.prompt_text import PromptText
from engine.speculation.replies.reopening import Reopening
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import AnyWriter
from engine.values.config import AUTOMATIC, STARTER, SamplingSettings, TargetOptions, TargetSettings
from engine.values.errors import Cancelled, MendableError, NotPossible, TargetSuspect, TemplateFailed
from engine.values.events import Listener, SpeculationChanged, TargetInfo, TargetLoading, TargetReady, TargetRefused
from engine.values.memory import return_free_memory
from engine.values.remote import is_reference, split_reference
from engine.values.requests import NEVER
from engine.values.sentences import say, template, together
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder, TargetSource

LoadSource = Callable[[TargetSource, TargetSettings, Callable[[float], None], StopSignal], Target]
Speculate = Callable[[Target, StopSignal, str, str], Speculation]  # with the choice of a drafter, the target's identity

_SOME_ON_CARD = template(
    "Only {fitting} of its {layers} layers fit on {card}; the rest runs on the processor, which is slower. A "
    "smaller context size or quantization leaves room for more."
)
_NONE_ON_CARD = template(
    "None of its layers fits on {card}; all run on the processor, which is slower. A smaller context size or "
    "quantization leaves room for some."
)


@dataclass(slots=True)
class Local:
    """A target that this program runs, and what was built on it."""

    source: TargetSource
    target: Target
    writer: ReplyWriter
    is_proven: bool = False  # it has written a reply


@dataclass(slots=True)
class Loaded:
    """A target in use: one of this program's, or one on a server."""

    on: Local | RemoteWriter
    order: LoadOrder
    sampling: SamplingSettings = SamplingSettings()  # of the last reply, where neither chat nor target has its own

    @property
    def local(self) -> Local | None:
        """None where the target is on a server: nothing is drafted, recalled or learned here then."""
        return self.on if isinstance(self.on, Local) else None

    @property
    def writer(self) -> AnyWriter:
        return self.on.writer if isinstance(self.on, Local) else self.on

    @property
    def identity(self) -> str:
        return self.on.source.identity if isinstance(self.on, Local) else self.on.model.identity


class TargetInUse:
    """Owns the loaded target and everything built on it: its speculation, and the writer of its replies.

    The chat thread calls all methods but `count_tokens` and `acquit`. A target that cannot be loaded changes nothing,
    except that the one before may have left its graphics cards; `require` then loads that again.
    """

    def __init__(
        self,
        repository: Repository,
        recall: Recall,
        learning: LearningService,
        load_source: LoadSource,
        speculate: Speculate,
        emit: Listener,
        catch_up: Callable[[], object],
        prompt_cache: PromptCache,
        remote: RemoteTargets,
    ) -> None:
        self._remote = remote
        self._repository = repository
        self._recall = recall
        self._learning = learning
        self._load_source = load_source
        self._speculate = speculate
        self._emit = emit
        self._catch_up = catch_up
        self._prompt_cache = prompt_cache
        self._suspects = Suspects(repository.data_dir)
        self._counting = threading.Lock()  # the target is not closed in the middle of it
        self._loaded: Loaded | None = None
        self._unloaded: LoadOrder | None = None  # what loaded the target that left its graphics cards for another
        self._drafter = AUTOMATIC

    @property
    def is_loaded(self) -> bool:
        return self._loaded is not None

    @property
    def loaded(self) -> Loaded:
        assert self._loaded is not None, "call `require` first"
        return self._loaded

    @property
    def local(self) -> Local | None:
        """The loaded target, if this program runs it."""
        return None if self._loaded is None else self._loaded.local

    @property
    def options(self) -> TargetOptions:
        """What the user set for this target; nothing is set for one on a server."""
        local = self.loaded.local
        return TargetOptions() if local is None else self._options_of(local.source)

    def check_agreed(self) -> None:
        """Raises ServerNotAgreed where the target is on a server that the user sends no chats to yet."""
        on = self.loaded.on
        if isinstance(on, RemoteWriter):
            self._remote.check_agreed(on.server.address)

    def _options_of(self, source: TargetSource) -> TargetOptions:
        record = self._repository.target_of(source)
        return record.options if record else TargetOptions()

    def count_tokens(self, text: str) -> int | None:
        """None if no target of this program's is loaded, or the text is too long for its context. Any thread may call
        it, as tokenizing reads only the vocabulary, which never changes."""
        with self._counting:
            local = self.local
            if local is None:
                return None
            target = local.target
            limit = target.limits.max_bytes
            if len(text) > limit or len(text.encode("utf-8", "replace")) > limit:
                return None
            with self.watched():
                return len(target.tokenize(PromptText(text)))

    def load(self, order: LoadOrder, stop: StopSignal = NEVER) -> TargetInfo:
        """Raises MendableError."""
        try:
            return self._load(order, stop)
        except MendableError as error:
            if not stop.is_set():
                self._emit(TargetRefused(order, str(error), type(error)))
            raise

    def _load(self, order: LoadOrder, stop: StopSignal) -> TargetInfo:
        if is_reference(order.target):
            return self._load_remote(order, stop)
        source = resolve_target(order.target, self._repository, order.identity)
        record = self._repository.target_of(source)
        has_changed = order.identity not in ("", source.identity)
        settings = TargetSettings() if has_changed else order.settings
        settings = settings.filled_up(record.options.settings) if record else settings
        settings = settings.filled_up(order.for_all)
        self._learning.end_self_distillation()
        if not order.anyway:
            check_memory(source.path, settings, record.facts if record else "")
        if self._suspects.holds(source.identity):
            if order.by_itself and order.target != STARTER:  # which answers where nothing else can
                raise TargetSuspect(
                    "Slipstream ended unexpectedly while {name} was loading or writing its first reply; open it "
                    "again, or choose another model.",
                    name=source.name,
                )
            source = replace(source, trusted=False)
        self._emit(TargetLoading(source.name, 0.0))
        if order.target != STARTER:  # whose own template needs none
            template_apart.begin()
        self._leave_cards()
        with self._suspects.watched(source.identity):
            target = self._load_source(source, settings, _in_percents(source.name, self._emit), stop)
            speculation, writer = self._open_writer(source, target, order, stop)
        is_chosen = self._options_of(source).chat_template is not None
        describe = partial(_describe, source, target, settings, writer, is_chosen)
        self.close()
        self._loaded, self._unloaded = Loaded(Local(source, target, writer), order), None
        self._recall.open(target)
        try:
            # First: who hears of the target lists the library at once.
            self._repository.remember_target(source, target.vocabulary.fingerprint)
        finally:  # the target is there, even if the store refuses
            speculation.tell(lambda now: self._emit(TargetReady(describe(now), order)))
        self._catch_up()
        return_free_memory()  # of the target before this one
        return describe(speculation)

    def _load_remote(self, order: LoadOrder, stop: StopSignal) -> TargetInfo:
        """The target before makes room once the server has answered: what is on the other machine needs none here."""
        _, name = split_reference(order.target)
        self._emit(TargetLoading(name or order.target, 0.0))
        writer = self._remote.open(order.target, stop)
        self._learning.end_self_distillation()
        self._learning.detach()
        self.close()
        self._loaded, self._unloaded = Loaded(writer, order), None
        self._recall.rest()
        info = _described(writer)
        self._emit(TargetReady(info, order))
        return_free_memory()  # of the target before this one
        return info

    def require(self, stop: StopSignal) -> None:
        """Loads the target again that left its graphics cards for one that could not be loaded: the window still shows
        it. Raises NotPossible if there is none."""
        if self._loaded is None and self._unloaded is not None:
            self._load(replace(self._unloaded, anyway=True), stop)
        if self._loaded is None:
            raise NotPossible("No model is loaded yet; choose one, or wait until it is ready.")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notes that the target is at work, so that the next start knows if this program did not survive it. A target
        that has written a reply is trusted."""
        local = self.local
        if local is None or local.is_proven:
            yield
            return
        with self._suspects.watched(local.source.identity):
            yield

    def prove(self) -> None:
        """It has written a reply. From now on it may answer earlier prompts again, too."""
        loaded, local = self.loaded, self.local
        if local is None or local.is_proven:
            return
        local.is_proven = True

        def sampling() -> SamplingSettings:
            return self._options_of(local.source).sampling or loaded.sampling

        self._learning.self_distil_with(
            TargetAtHand(local.target, sampling, lambda: local.writer.passes, local.writer.template)
        )

    def acquit(self) -> None:
        """The app closes in good order, also where the chat thread is busy with a target. Any thread may call it."""
        self._suspects.acquit()

    def use_drafter(self, drafter: str, stop: StopSignal = NEVER) -> None:
        """Drafts with this choice (see `drafter/choice.py`), also for the target in use, unless the user chose a
        drafter for that target alone. The target stays loaded, and reads the next prompt from its beginning."""
        self._drafter = drafter
        local = self.local
        if local is None:
            return
        local.writer.close()
        self._learning.detach()
        local.target.roll_back(0)
        template = local.writer.template
        # Stays if the costs of the new drafter cannot be measured.
        local.writer = ReplyWriter(local.target, template=template)
        try:
            speculation = self._speculation(local.target, local.source, stop)
        except Interrupted:
            return  # the app is closing
        local.writer = self._writer(local.target, speculation, local.source, template)
        name = local.target.description.name
        speculation.tell(lambda now: self._emit(speculation_changed(name, now)))

    def close(self) -> None:
        loaded = self._loaded
        if loaded is not None:
            loaded.writer.close()
            self._learning.self_distil_with(None)
            with self._counting:
                self._loaded = None
            if loaded.local is not None:
                loaded.local.target.close()

    def _leave_cards(self) -> None:
        """Graphics cards rarely have room for two targets."""
        local = self.local
        if self._loaded is not None and local is not None and local.target.description.num_gpu_layers:
            self._unloaded = self._loaded.order
            self._learning.detach()
            self.close()

    def _speculation(self, target: Target, source: TargetSource, stop: StopSignal) -> Speculation:
        """Speculation with the drafter that the user chose for this target, or else the one for all."""
        record = self._repository.target_of(source)
        own = None if record is None else record.options.drafter
        return self._speculate(target, stop, own or self._drafter, source.identity)

    def _writer(self, target: Target, speculation: Speculation, source: TargetSource, template: str) -> ReplyWriter:
        reopening = Reopening.of(target, self._prompt_cache, source.identity)
        return ReplyWriter(target, speculation, reopening, template)

    def _open_writer(
        self, source: TargetSource, target: Target, order: LoadOrder, stop: StopSignal
    ) -> tuple[Speculation, ReplyWriter]:
        """Closes the target if that fails."""
        own = self._options_of(source).chat_template
        try:
            with ExitStack() as undo:
                undo.callback(target.close)
                undo.callback(self._learning.reattach, self._learning.detach())
                speculation = self._speculation(target, source, stop)
                undo.callback(speculation.close)
                writer = self._writer(target, speculation, source, own or "")
                _check_cancelled(order, stop)
                undo.pop_all()
        except Interrupted:
            _check_cancelled(order, stop)
            raise
        except TemplateFailed as error:
            raise error if own is None else TemplateFailed(CHOSEN_TEMPLATE, reason=error.reason) from error
        return speculation, writer


def speculation_changed(name: str, now: Speculation) -> SpeculationChanged:
    """`name`: of the target."""
    return SpeculationChanged(name, now.state, now.is_drafting, now.is_loading, now.can_draft, now.has_failed)


def _in_percents(name: str, emit: Listener) -> Callable[[float], None]:
    """Reports the progress of loading in whole percents; llama.cpp reports every tensor."""
    reported = 0

    def report(progress: float) -> None:
        nonlocal reported
        if int(progress * 100) > reported:
            reported = int(progress * 100)
            emit(TargetLoading(name, progress))

    return report


def _check_cancelled(order: LoadOrder, stop: StopSignal) -> None:
    if stop.is_set():
        raise Cancelled("Loading {name} was cancelled.", name=Path(order.target).name)


def _describe(
    source: TargetSource,
    target: Target,
    settings: TargetSettings,
    writer: ReplyWriter,
    is_chosen: bool,
    speculation: Speculation,
) -> TargetInfo:
    """`is_chosen`: the user chose the chat template."""
    description = target.description
    return TargetInfo(
        name=description.name,
        path=str(source.path),
        description=description.summary,
        context_size=target.limits.context_size,
        size_bytes=description.size_bytes,
        threads=description.threads,
        notice=together(*_notices(target, settings, writer.template, is_chosen)),
        speculation=speculation.state,
        awaits_drafter=speculation.is_loading,
        can_draft=speculation.can_draft,
        num_gpu_layers=description.num_gpu_layers,
        gpu=description.gpu,
        identity=source.identity,
        thinks=writer.thinks_unless_told,
        calls_tools=writer.calls_tools,
        sees_pictures=TargetFeature.PICTURES in target.features,
        completes=writer.template == TEXT,
    )


def _described(writer: RemoteWriter) -> TargetInfo:
    """Describes a target on a server."""
    return TargetInfo(
        name=writer.target_name,
        path="",
        description=writer.server.name,
        context_size=writer.model.context_size,
        size_bytes=0,
        threads=0,
        speculation=say("{name} decides by itself whether to guess ahead; Slipstream cannot.", name=writer.server.name),
        can_draft=False,
        identity=writer.model.identity,
        thinks=writer.thinks_unless_told,
        calls_tools=writer.calls_tools,
        sees_pictures=writer.sees_pictures,
        server=writer.server,
    )


def _notices(target: Target, settings: TargetSettings, template: str, is_chosen: bool) -> Iterator[str]:
    """`template`: of chats; `is_chosen`: by the user."""
    description = target.description
    if settings.gpu_layers is None and description.gpu and description.num_gpu_layers < description.num_layers:
        yield say(
            _SOME_ON_CARD if description.num_gpu_layers else _NONE_ON_CARD,
            fitting=description.num_gpu_layers,
            layers=description.num_layers,
            card=description.gpu,
        )
    if not description.chat_template and template == TEXT:
        yield say("This model has no chat template: it goes on with your text instead of answering it.")
    elif not description.chat_template and not is_chosen:
        yield say(
            "This model has no chat template; that of {family} is used, whose marks it knows.", family=name_of(template)
        )
    if TargetFeature.ROLLBACK in target.features and not target.limits.rolls_back_freely:
        yield say(
            "This model can roll back only the last {number} token(s) it has read: regenerating a reply reads the "
            "whole chat again.",
            number=target.limits.max_rollback,
        )
    if TargetFeature.ROLLBACK not in target.features:
        yield say(
            "This model cannot roll back what it has read, so it gets no speed-up, and regenerating a reply reads "
            "the whole chat again."
        )
