"""The prompt cache: what targets hold of the chats that they have read, in a folder, so that no prompt is read twice.

Each chat is a chain of parts of up to `PART_TOKENS` tokens, a file each, named by what it follows and what it is. Chats
that begin alike share the parts of their beginning, and a chat that grows adds parts. Each part lies in the folder of
the chat that it was written for, and is erased with it.

The file of a part holds what a target holds of some tokens, the model and tokens it belongs to, and a digest of it all.
llama.cpp trusts the bytes that it restores, so they are bounded and checked here before it sees them.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import struct
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from engine.speculation.model.interface import SavedPart
from engine.speculation.numerics.draft import common_prefix_length
from engine.values.config import PromptCacheSettings
from engine.values.logged import Loggable
from engine.values.whole_file import plain_file, private_folder, whole_file

_MAGIC = b"SLPREAD1"
_HEAD = struct.Struct("<8s16s16s16sIIQ")  # magic, model, layout, what it follows, start, tokens, bytes
_DIGEST_BYTES = 32
_MOST_TOKENS = 1 << 24
_MOST_BYTES = 1 << 36

Tokens = npt.NDArray[np.int32]  # shape (tokens,)

PART_TOKENS = 256
_FOLDER = "readings"
_SUFFIX = ".read"
_ROOM_BYTES = 1_000_000_000  # that the disk keeps for everything else
_logger = logging.getLogger("slipstream.prompt_cache")


class PartUnusable(Exception):
    """The file is damaged, cut off, or of something else."""


@dataclass(frozen=True, slots=True)
class CacheKey:
    """The key of a cached part: digests of the model's identity and of the target's layout."""

    model: bytes
    layout: bytes

    @classmethod
    def of(cls, identity: str, layout: str) -> CacheKey:
        return cls(_digest(identity.encode()), _digest(layout.encode()))

    @property
    def root(self) -> bytes:
        """The digest that the first part of every chat follows."""
        return _digest(self.model + self.layout)


def digest_of(follows: bytes, tokens: Sequence[int] | Tokens) -> bytes:
    """The name of what ends with these tokens: all tokens before them count by the digest that they follow."""
    return _digest(follows + np.asarray(tokens, np.int32).tobytes())


def write_part(path: Path, key: CacheKey, follows: bytes, tokens: Sequence[int], part: SavedPart) -> int:
    """Returns the bytes written. Raises OSError."""
    head = _HEAD.pack(_MAGIC, key.model, key.layout, follows, part.start, len(tokens), len(part.data))
    digest = hashlib.sha256()
    with whole_file(path) as file:
        for piece in (head, np.asarray(tokens, np.int32).tobytes(), part.data.data):
            digest.update(piece)
            file.write(piece)
        file.write(digest.digest())
        return file.tell()


def read_tokens(path: Path, key: CacheKey, follows: bytes) -> Tokens:
    """The tokens of the part in this file, from its beginning alone. Raises PartUnusable."""
    try:
        with plain_file(path) as file:
            _, count, _ = _checked(file.read(_HEAD.size), os.fstat(file.fileno()).st_size, key, follows)
            return np.frombuffer(file.read(4 * count), np.int32)
    except OSError as error:
        raise PartUnusable(error.strerror) from error


def read_part(path: Path, key: CacheKey, follows: bytes) -> SavedPart:
    """The whole part, checked. Raises PartUnusable."""
    try:
        with plain_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            start, count, _ = _checked(file.read(_HEAD.size), size, key, follows)
            file.seek(0)
            content = np.fromfile(file, np.uint8, size)
    except (OSError, MemoryError) as error:
        raise PartUnusable(str(error)) from error
    if (
        len(content) != size
        or hashlib.sha256(content[:-_DIGEST_BYTES].data).digest() != content[-_DIGEST_BYTES:].tobytes()
    ):
        raise PartUnusable("its bytes have changed")
    return SavedPart(content[_HEAD.size + 4 * count : -_DIGEST_BYTES], start, start + count)


def _checked(head: bytes, size: int, key: CacheKey, follows: bytes) -> tuple[int, int, int]:
    """The start, and the numbers of tokens and bytes, that fit the size of the file."""
    if len(head) < _HEAD.size:
        raise PartUnusable("it is cut off")
    magic, model, layout, before, start, count, num_bytes = _HEAD.unpack(head)
    if (magic, model, layout, before) != (_MAGIC, key.model, key.layout, follows):
        raise PartUnusable("it is of something else")
    is_bounded = start <= _MOST_TOKENS and 0 < count <= _MOST_TOKENS and num_bytes <= _MOST_BYTES
    if not is_bounded or size != _HEAD.size + 4 * count + num_bytes + _DIGEST_BYTES:
        raise PartUnusable("its size does not fit")
    return start, count, num_bytes


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:16]


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
    """The prompt cache. Any thread may use it. What fails is logged and does no harm: the tokens are read again."""

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
        """The chat, the same object until it is forgotten."""
        with self._lock:
            return self._chats.setdefault(number, Chat(number))

    def drop_other_layouts(self, key: CacheKey) -> None:
        """Drops what an earlier build of llama.cpp, or another context, has read with this model."""
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
        """The part; None if it cannot be used, and it is then removed."""
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
        """Removes a part that llama.cpp refused."""
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
        """Stores a part if there is room. Parts of this chat whose tokens are the first of these leave. `tokens`: of
        the part. False: nothing more of this chat can be kept now."""
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
        """Erases what was read of this chat, including what is being written."""
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
        """Erases what was read of all chats but these."""
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
        """The tokens; None if they are not what the name says, and the part is then removed."""
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
        """The parts of the same chat that hold some of its tokens and no others."""
        siblings = [each for each in self._all if each.chat == part.chat and each.follows == part.follows]
        assert part.tokens is not None
        found = []
        for each in siblings:
            own = self._tokens_of(each)
            if each is not part and own is not None and np.array_equal(own, part.tokens[: len(own)]):
                found.append(each)
        return found

    def _make_room(self, chat: Chat | None, num_bytes: int) -> bool:
        """Makes room for `num_bytes` more of a chat. Other chats leave for it, the one that was used longest ago first,
        and as a whole: the rest of a chain is of no use."""
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
    """The part that a file holds; None for what is no part, such as a file that was not finished."""
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
