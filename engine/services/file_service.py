"""Carries out commands for the user's files and texts: import, export, documents to attach, and forms of replies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from engine.documents import check_pictures, nearest_passages, read_attached, read_picture
from engine.errors import Cancelled, ConversationMissing, FileUnusable, SettingInvalid
from engine.exchange import read_chats, write_chats
from engine.messages.commands import (
    CheckGrammar,
    Command,
    ExportConversations,
    FileCommand,
    FindPassages,
    ImportConversations,
    ReadPicture,
    ReadTextFile,
    UpdateRecall,
)
from engine.messages.conversations import ConversationTree, LeftOut
from engine.messages.events import (
    ConversationsExported,
    ConversationsImported,
    GrammarChecked,
    Listener,
    PassagesFound,
    PictureRead,
    TextFileRead,
)
from engine.messages.pictures import Picture
from engine.services.learning_service import LearningService
from engine.stop_signal import StopSignal
from engine.storage import Repository


@dataclass(frozen=True)
class FileService:
    """Has its own thread: a large file must not delay the list of conversations."""

    _open_repository: Callable[[], Repository]
    _learning: LearningService
    _emit: Listener
    _post: Callable[[Command], object]  # queues a command of the engine's own
    _count_tokens: Callable[[str], int | None]  # of the target in use; None: there is none, or it is too much for it

    def handle(self, command: FileCommand, stop: StopSignal) -> None:
        match command:
            case ReadTextFile(path):
                read = read_attached(path, stop)
                self._emit(PictureRead(path, read) if isinstance(read, Picture) else TextFileRead(read))
            case ReadPicture(path, data):
                self._emit(PictureRead(path, read_picture(path, data, stop)))
            case FindPassages(attachments, question, most_tokens):
                self._emit(PassagesFound(nearest_passages(attachments, question, most_tokens, self._size)))
            case CheckGrammar(text):
                self._emit(GrammarChecked(text, _what_is_wrong(text)))
            case ExportConversations():
                self._export(command)
            case ImportConversations():
                self._import(command, stop)

    def _size(self, text: str) -> int:
        """In tokens."""
        number = self._count_tokens(text)
        return len(text) if number is None else number

    def _export(self, command: ExportConversations) -> None:
        repository = self._open_repository()
        ids = command.conversation_ids
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
                    if command.conversation_ids is not None:
                        raise
                    continue  # deleted meanwhile
                written += 1
                yield tree

        write_chats(command.path, trees(), command.format, command.overwrite)
        self._emit(ConversationsExported(command.path, written))

    def _import(self, command: ImportConversations, stop: StopSignal) -> None:
        def check() -> None:
            if stop.is_set():
                raise Cancelled("The import was cancelled; nothing was added.")

        def sizes_of(pictures: Iterable[bytes]) -> list[tuple[int, int] | None]:
            try:
                return check_pictures(pictures, stop)
            except Cancelled:
                check()
                raise

        check()
        read = read_chats(command.path, check, sizes_of)
        added = self._open_repository().add_trees(read.trees, check)
        known = [(LeftOut.KNOWN, tree.title) for tree, new in zip(read.trees, added, strict=True) if not new]
        self._emit(ConversationsImported(command.path, sum(added), (*known, *read.left_out)))
        if any(added) and self._learning.is_enabled:
            self._post(UpdateRecall(restarts=True))


def _what_is_wrong(grammar: str) -> str:
    """A sentence; empty where nothing is."""
    from engine.target.grammar import check_grammar

    try:
        check_grammar(grammar)
    except SettingInvalid as error:
        return str(error)
    return ""
