"""A chat from the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from engine.backend.documents import read_attached
from engine.backend.storage import FILE_NAME
from engine.loading import load_target, speculate
from engine.opening import open_repository
from engine.speculation.model.chat.families import TEXT
from engine.speculation.model.files.sources import named_source, resolve_target
from engine.speculation.model.interface import Interrupted
from engine.speculation.proposers.supply import DrafterSupply, Known
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import AnyWriter
from engine.use_cases.remote import Agrees, open_remote_writer
from engine.values.config import AUTOMATIC, EngineConfig, TargetSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import Cancelled, NotPossible
from engine.values.pictures import Picture
from engine.values.prompts import Attachment, join_prompt
from engine.values.remote import is_reference
from engine.values.stop_signal import StopSignal
from engine.values.targets import TargetRecord, TargetSource


def read_prompt(words: str, paths: Iterable[Path], stop: StopSignal) -> ChatTurn:
    """The turn of a user, with the files and pictures at these paths. Raises FileUnusable or Cancelled."""
    files: list[Attachment] = []
    pictures: list[Picture] = []
    for path in paths:
        found = read_attached(path, stop)
        if isinstance(found, Picture):
            pictures.append(found)
        else:
            files.append(Attachment(path.name, found.text))
    return ChatTurn(Role.USER, join_prompt(files, words), pictures=tuple(pictures))


@contextmanager
def open_writer(
    config: EngineConfig,
    target: str,
    settings: TargetSettings,
    on_progress: Callable[[float], None],
    stop: StopSignal,
    agrees: Agrees = lambda _sentence: False,
) -> Iterator[AnyWriter]:
    """A writer of replies without threads or stored conversations; its target is closed with it. It leaves the store as
    it is, and opens it only for the name of a target used before. `agrees`: for a target on a server that no chat was
    sent to yet.

    Raises what resolving and loading the target raise, TemplateFailed and StoreUnusable; DrafterUnusable for a drafter
    that was requested by name; for a server what `open_remote_writer` raises.
    """
    if is_reference(target):
        yield open_remote_writer(config, target, agrees, stop)
        return
    requested = config.speculation.drafter != AUTOMATIC or config.speculation.device is not None  # so fail loudly
    with ExitStack() as opened:
        try:
            loaded = opened.enter_context(closing(load_target(resolve(config, target), settings, on_progress, stop)))
            supply = DrafterSupply(config, loaded, known=Known(library=lambda: list_library(config)))
            speculation = speculate(config, loaded, stop, supply, at_once=requested)
            writer = ReplyWriter(loaded, speculation, template=_chosen_template(config, loaded.description.path))
        except Interrupted as error:
            raise Cancelled(f"Loading {target} was cancelled.") from error
        yield opened.enter_context(closing(writer))


def resolve(config: EngineConfig, target: str) -> TargetSource:
    """The source of `starter`, of a path, or of a target used before. Raises TargetMissing and StoreUnusable, and
    NotPossible for one on a server."""
    if is_reference(target):
        raise NotPossible(f"{target} is on a server, and this needs a model on this machine; choose a GGUF file.")
    source = named_source(target, config.data_dir)
    if source is None:
        with closing(open_repository(config)) as repository:
            source = resolve_target(target, repository)
    return source


def notice_of(writer: AnyWriter) -> str:
    """What a user of the command line should know of it before it writes, in a sentence; usually empty."""
    if isinstance(writer, ReplyWriter) and writer.template == TEXT:
        return f"{writer.target_name} continues the text instead of answering it, as it has no chat template."
    return ""


def _chosen_template(config: EngineConfig, path: Path) -> str:
    """The chat template that the user chose for this file; empty: none."""
    chosen = (each.options.chat_template for each in list_library(config) if each.path == path)
    return next(chosen, None) or ""


def list_library(config: EngineConfig) -> tuple[TargetRecord, ...]:
    """Nothing where there is no store yet: looking makes none."""
    if not (config.data_dir / FILE_NAME).exists():
        return ()
    with closing(open_repository(config)) as repository:
        return repository.list_targets()
