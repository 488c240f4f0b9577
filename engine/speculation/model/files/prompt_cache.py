"""The prompt cache: what targets hold of the chats that they have read, in a folder, so that no prompt is read twice.

Each chat is a chain of parts of up to `PART_TOKENS` tokens, a file each, named by what it follows and what it is. Chats
that begin alike share the parts of their beginning, and a chat that grows adds parts. Each part lies in the folder of
the chat that it was written for, and is erased with it.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np

from engine.speculation.model.files.prompt_cache_file import (
    CacheKey,
    PartUnusable,
    Tokens,
    digest_of,
    read_part,
    read_tokens,
    write_part,
)
from engine.speculation.model.interface import SavedPart
from engine.speculation.numerics.draft import common_prefix_length
from engine.values.config import PromptCacheSettings
from engine.values.logged import Loggable
from engine.values.whole_file import private_folder

PART_TOKENS = 256

_FOLDER = "readings"
_SUFFIX = ".read"
_ROOM_BYTES = 1_000_000_000  # that the disk keeps for everything else

_logger = logging.getLogger("slipstream.prompt_cache")


class Chat:
    """A chat that is being written into the cache, until it is forgotten."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_forgotten = False


@dataclass(eq=False, slots=True)
class _Part:
    path: Path
    chat: int
    key: CacheKey
    follows: bytes
    digest: bytes
    num_bytes: int
    used_at: float  # as the file's own time
    tokens: Tokens | None = None  # once they were needed


@dataclass(frozen=True, slots=True)
class Step:
    """A part that has the next tokens of a prompt, up to the place `end` of them."""

    part: _Part
    end: int


@dataclass(frozen=True, slots=True)
class Lacking:
    """Tokens at places `start` up to `end` that no part has."""

    follows: bytes
    start: int
    end: int


class PromptCache:
    """Any thread may use it. What fails is logged and does no harm: the tokens are read again."""

    def __init__(self, data_dir: Path, settings: PromptCacheSettings) -> None:
        self._folder = data_dir / _FOLDER
        self.budget_bytes = settings.num_bytes
        self._lock = threading.RLock()
        self._found: dict[Path, _Part] | None = None  # once they were looked for
        self._chats: WeakValueDictionary[int, Chat] = WeakValueDictionary()

    def measure(self) -> int:
        """Returns the bytes in use."""
        with self._lock:
            return sum(part.num_bytes for part in self._parts.values())

    def use(self, settings: PromptCacheSettings) -> int:
        """Limits the bytes in use, and returns them."""
        self.budget_bytes = settings.num_bytes
        self._make_room(None, 0)
        return self.measure()

    def chat(self, number: int) -> Chat:
        """The same object until the chat is forgotten."""
        with self._lock:
            return self._chats.setdefault(number, Chat(number))

    def drop_other_layouts(self, key: CacheKey) -> None:
        """What an earlier build of llama.cpp, or another context, has read with this model."""
        with self._lock:
            old = [each for each in self._all if each.key.model == key.model and each.key.layout != key.layout]
            self._remove(old, Loggable("they are of another build or context"))

    def latest(self, key: CacheKey, chat: int) -> list[int]:
        """The tokens of this chat that were used last, from the first on; empty where none are kept."""
        with self._lock:
            by_digest = {part.digest: part for part in self._all if part.key == key}
            own = [part for part in by_digest.values() if part.chat == chat]
            followed = {part.follows for part in own}
            ends = sorted((part for part in own if part.digest not in followed), key=lambda part: part.used_at)
            chain = [ends[-1]] if ends else []
            while chain and (before := by_digest.pop(chain[-1].follows, None)):
                chain.append(before)
            if not chain or chain[-1].follows != key.root:
                return []
            held = [self._tokens_of(part) for part in reversed(chain)]
        known = [tokens for tokens in held if tokens is not None]
        return np.concatenate(known).tolist() if len(known) == len(held) else []

    def find(self, key: CacheKey, tokens: Sequence[int], can_cut: bool) -> list[Step]:
        """The parts that hold the first of these tokens, in order; the last one holds others, too, where it `can_cut`
        such a part."""
        steps: list[Step] = []
        follows, start = key.root, 0
        with self._lock:
            after = self._by_follows(key)
            while start < len(tokens):
                best = max(self._steps(after.get(follows, ()), tokens, start), key=lambda step: step.end, default=None)
                if best is None or best.end == start:
                    break
                assert best.part.tokens is not None
                is_whole = best.end == start + len(best.part.tokens)
                if is_whole or can_cut:
                    steps.append(best)
                if not is_whole:
                    break
                follows, start = best.part.digest, best.end
        return steps

    def read(self, step: Step) -> SavedPart | None:
        """None where the part cannot be used; it is removed then."""
        part = step.part
        try:
            saved = read_part(part.path, part.key, part.follows)
        except PartUnusable as error:
            with self._lock:
                self._remove([part], error)
            return None
        try:
            os.utime(part.path)
            part.used_at = part.path.stat().st_mtime
        except OSError as error:  # it counts as older than it is
            _logger.debug("the time of what was read cannot be set: %s", error)
        return saved

    def refuse(self, step: Step) -> None:
        """llama.cpp cannot use it."""
        with self._lock:
            self._remove([step.part], Loggable("llama.cpp refused it"))

    def lacking(self, key: CacheKey, tokens: Sequence[int], in_parts: bool) -> Lacking | None:
        """The first of these tokens that no part holds; at most as many as are a part. None: all are kept."""
        follows = key.root
        step = PART_TOKENS if in_parts else len(tokens)
        with self._lock:
            known = {part.digest for part in self._all}
        for start in range(0, len(tokens), max(1, step)):
            end = min(start + step, len(tokens))
            digest = digest_of(follows, tokens[start:end])
            if digest not in known:
                return Lacking(follows, start, end)
            follows = digest
        return None

    def write(self, key: CacheKey, chat: Chat, lacking: Lacking, tokens: Sequence[int], saved: SavedPart) -> bool:
        """Where there is room. Parts of this chat whose tokens are the first of these leave. `tokens`: of the part.
        False: nothing more of this chat can be kept now."""
        digest = digest_of(lacking.follows, tokens)
        folder = self._folder / str(chat.number)
        path = folder / f"{key.model.hex()}-{key.layout.hex()}-{lacking.follows.hex()}-{digest.hex()}{_SUFFIX}"
        if not self._make_room(chat, saved.data.nbytes):
            return False
        try:
            private_folder(folder)
            num_bytes = write_part(path, key, lacking.follows, tokens, saved)
            used_at = path.stat().st_mtime
        except OSError as error:
            _logger.warning("what was read of a chat is not kept: %s", error)
            return False
        part = _Part(path, chat.number, key, lacking.follows, digest, num_bytes, used_at, np.array(tokens, np.int32))
        with self._lock:
            if chat.is_forgotten:
                _unlink(path)
                return False
            self._parts[path] = part
            self._remove(self._shorter(part))
        return True

    def forget(self, chat: int) -> None:
        """What was read of this chat, also what is being written."""
        with self._lock:
            if known := self._chats.pop(chat, None):
                known.is_forgotten = True
            for path in [path for path, part in (self._found or {}).items() if part.chat == chat]:
                self._parts.pop(path)
            self._remove_folder(self._folder / str(chat))

    def forget_all(self) -> int:
        """Returns the bytes that are left."""
        self.forget_others(())
        return self.measure()

    def forget_others(self, chats: Collection[int]) -> None:
        """What was read of all chats but these."""
        kept = {str(number) for number in chats}
        with self._lock:
            for number in [number for number in self._chats if str(number) not in kept]:
                self.forget(number)
            for folder in _entries(self._folder):
                if folder.name not in kept:
                    self._remove_folder(Path(folder))
            self._found = None

    # Inside

    @property
    def _parts(self) -> dict[Path, _Part]:
        if self._found is None:
            self._found = {part.path: part for part in _look(self._folder)}
        return self._found

    @property
    def _all(self) -> list[_Part]:
        return [*self._parts.values()]

    def _by_follows(self, key: CacheKey) -> dict[bytes, list[_Part]]:
        after: dict[bytes, list[_Part]] = {}
        for part in self._all:
            if part.key == key:
                after.setdefault(part.follows, []).append(part)
        return after

    def _steps(self, parts: Sequence[_Part], tokens: Sequence[int], start: int) -> Iterator[Step]:
        for part in parts:
            own = self._tokens_of(part)
            if own is not None:
                common = common_prefix_length(own.tolist(), tokens[start : start + len(own)])
                yield Step(part, start + common)

    def _tokens_of(self, part: _Part) -> Tokens | None:
        """None where they are not what the name says; the part is removed then."""
        if part.tokens is None:
            try:
                tokens = read_tokens(part.path, part.key, part.follows)
                if digest_of(part.follows, tokens) != part.digest:
                    raise PartUnusable("its tokens have changed")
            except PartUnusable as error:
                self._remove([part], error)
                return None
            part.tokens = tokens
        return part.tokens

    def _shorter(self, part: _Part) -> list[_Part]:
        """Those of the same chat that hold some of its tokens and no others."""
        beside = [each for each in self._all if each.chat == part.chat and each.follows == part.follows]
        assert part.tokens is not None
        found = []
        for each in beside:
            own = self._tokens_of(each)
            if each is not part and own is not None and np.array_equal(own, part.tokens[: len(own)]):
                found.append(each)
        return found

    def _make_room(self, chat: Chat | None, num_bytes: int) -> bool:
        """For so many bytes more of a chat. Other chats leave for it, the one that was used longest ago first, and as a
        whole: the rest of a chain is of no use."""
        with self._lock:
            used = self.measure()
            try:
                free = shutil.disk_usage(self._folder.parent).free
            except OSError:
                free = 0
            most = min(self.budget_bytes, used + free - _ROOM_BYTES)
            while used + num_bytes > most:
                last_used: dict[int, float] = {}
                for part in self._all:
                    last_used[part.chat] = max(part.used_at, last_used.get(part.chat, 0.0))
                if chat is not None:
                    last_used.pop(chat.number, None)
                if not last_used:
                    return False
                oldest = min(last_used, key=lambda number: last_used[number])
                self._remove([part for part in self._all if part.chat == oldest])
                used = self.measure()
            return True

    def _remove(self, parts: Sequence[_Part], why: Loggable | PartUnusable | None = None) -> None:
        if parts and why is not None:
            _logger.info("%d parts of what was read are removed: %s", len(parts), why)
        for part in parts:
            self._parts.pop(part.path, None)
            _unlink(part.path)

    def _remove_folder(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            _logger.warning("what was read of a chat cannot be removed")


def _look(folder: Path) -> Iterator[_Part]:
    for chat in _entries(folder):
        for entry in _entries(Path(chat)) if chat.name.isdecimal() else ():
            part = _named(entry, int(chat.name))
            if part is not None:
                yield part


def _named(entry: os.DirEntry[str], chat: int) -> _Part | None:
    """None for what is no part, such as a file that was not finished."""
    try:
        model, layout, follows, digest = map(bytes.fromhex, entry.name.removesuffix(_SUFFIX).split("-"))
        state = entry.stat(follow_symlinks=False)
    except (ValueError, OSError):
        return None
    return _Part(Path(entry), chat, CacheKey(model, layout), follows, digest, state.st_size, state.st_mtime)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [*entries]
    except OSError:  # as long as nothing was kept
        return []


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _logger.warning("what was read cannot be removed: %s", error)
