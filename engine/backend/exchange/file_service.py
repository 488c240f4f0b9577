"""The user's files and texts: import, export, documents to attach, and reply formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path

from engine.backend.documents import check_pictures, nearest_passages, read_attached, read_picture
from engine.backend.exchange import read_chats, write_chats
from engine.backend.exchange.preset_service import PresetService
from engine.backend.exchange.presets import read_presets, write_presets
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.values.conversations import (
    ConversationTree,
    ExportFormat,
    ImportedConversations,
    LeftOut,
    Missing,
    TextFile,
)
from engine.values.errors import Cancelled, ConversationMissing, FileUnusable, SettingInvalid
from engine.values.events import ConversationsImported, Listener
from engine.values.order import AddedPresets, LibraryPrompt, Preset
from engine.values.pictures import Picture
from engine.values.prompts import Attachment
from engine.values.requests import NEVER
from engine.values.sentences import Told
from engine.values.stop_signal import StopSignal


@dataclass(frozen=True)
class FileService:
    """Has its own thread: a large file must not delay the list of conversations."""

    _open_repository: Callable[[], Repository]
    _presets: Callable[[], PresetService]
    _learning: LearningService
    _emit: Listener
    _catch_up: Callable[..., object]  # `Upkeep.catch_up` on its thread
    _count_tokens: Callable[[str], int | None]  # of the target in use; None: there is none, or it is too much for it

    def read(self, path: Path, stop: StopSignal = NEVER) -> TextFile | Picture:
        """A document, a picture or a text file. Raises FileUnusable and Cancelled."""
        return read_attached(path, stop)

    def read_picture(self, path: Path, data: bytes, stop: StopSignal = NEVER) -> Picture:
        """A pasted picture of any format; no file is at `path`, which names it. Raises FileUnusable and Cancelled."""
        return read_picture(path, data, stop)

    def find_passages(
        self, attachments: tuple[Attachment, ...], question: str, most_tokens: int
    ) -> tuple[Attachment, ...]:
        """The passages nearest to the question, of `most_tokens` together, in the order of their documents. Short files
        are whole."""
        return nearest_passages(attachments, question, most_tokens, self._size)

    def check_grammar(self, text: str) -> Told:
        """What is wrong with a JSON schema or GBNF grammar, in a sentence; empty if replies can keep to it."""
        from engine.speculation.model.chat.grammar import check_grammar

        try:
            check_grammar(text)
        except SettingInvalid as error:
            return str(error)
        return ""

    def export_conversations(
        self, path: Path, conversation_ids: tuple[int, ...] | None, form: ExportFormat, overwrite: bool = False
    ) -> int:
        """Writes conversations to a file, all or none, and returns their number; `conversation_ids` None: all but
        incognito ones. Raises FileUnusable, and ConversationMissing for one that was named."""
        repository, ids = self._open_repository(), conversation_ids
        if ids is None:
            ids = tuple(each.id for each in repository.list_conversations() if not each.incognito)
        if not ids:
            raise FileUnusable("There are no chats to export yet; write a message first.")
        written = 0

        def trees() -> Iterator[ConversationTree]:
            nonlocal written
            for conversation_id in ids:
                try:
                    tree = repository.read_tree(conversation_id)
                except ConversationMissing:
                    if conversation_ids is not None:
                        raise
                    continue  # deleted meanwhile
                written += 1
                yield tree

        write_chats(path, trees(), form, overwrite)
        return written

    def import_conversations(self, path: Path, stop: StopSignal = NEVER) -> ImportedConversations:
        """Adds the conversations of a file, all or none. Raises FileUnusable and Cancelled."""

        def check() -> None:
            if stop.is_set():
                raise Cancelled("The import was cancelled; nothing was added.")

        def sizes_of(pictures: Iterable[bytes]) -> list[tuple[int, int] | None]:
            try:
                return check_pictures(pictures, stop)
            except Cancelled:
                check()
                raise

        read = read_chats(path, check, sizes_of)
        added = self._open_repository().add_trees(read.trees, check)
        known = [(LeftOut.KNOWN, tree.title) for tree, new in zip(read.trees, added, strict=True) if not new]
        missing: Counter[Missing] = Counter()
        for each in compress(read.missing, added):
            missing.update(each)
        self._emit(ConversationsImported())
        if any(added) and self._learning.is_enabled:
            self._catch_up(restarts=True)
        return ImportedConversations(sum(added), (*known, *read.left_out), tuple((+missing).items()))

    def export_presets(
        self, path: Path, presets: tuple[Preset, ...], prompts: tuple[LibraryPrompt, ...], overwrite: bool = False
    ) -> None:
        """Raises FileUnusable."""
        write_presets(path, presets, prompts, overwrite)

    def import_presets(self, path: Path, stop: StopSignal = NEVER) -> AddedPresets:
        """Adds the presets and prompts of a file, as `PresetService.add` does. Raises FileUnusable and Cancelled."""
        read = read_presets(path)
        if stop.is_set():
            raise Cancelled("The import was cancelled; nothing was added.")
        return replace(self._presets().add(read.presets, read.prompts), num_unreadable=read.num_unreadable)

    def _size(self, text: str) -> int:
        """The number of tokens."""
        number = self._count_tokens(text)
        return len(text) if number is None else number
