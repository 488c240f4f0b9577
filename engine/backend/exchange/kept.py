"""Conversations that were read and are not written yet, kept on the disk: those of a large archive would fill the
memory."""

from __future__ import annotations

import base64
import binascii
import marshal
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from engine.values.conversations import ConversationTree, Role, TreeMessage
from engine.values.errors import FileUnusable
from engine.values.pictures import MOST_BYTES, Picture
from engine.values.prompts import pictures_in
from engine.values.replies import Thought
from engine.values.tools import Outcome, ToolCall, ToolResult

_IN_MEMORY = 2**24  # bytes; more than most files of chats take
_MOST_PICTURES = 5_000  # that are looked at, which takes minutes; others count as absent

SizesOf = Callable[[Iterable[bytes]], Sequence[tuple[int, int] | None]]


class PicturePiece(NamedTuple):
    """Where a piece of a picture is kept."""

    place: int
    size: int


@dataclass(frozen=True, slots=True)
class _KeptPictures:
    """Those of a tree that are sound, one after the other."""

    _find: Callable[[str], Picture]
    _digests: Sequence[str]

    def __iter__(self) -> Iterator[Picture]:
        return map(self._find, self._digests)


class KeptTrees:
    """Trees in the order in which they were added, as often as they are iterated. The file has no name that another
    program could open, and goes with this object."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (closed by the next line)
        weakref.finalize(self, self._file.close)
        self._trees: list[PicturePiece] = []
        self._pictures: dict[str, Sequence[PicturePiece]] = {}  # by digest
        self._sizes: dict[str, tuple[int, int]] = {}  # widths and heights of those that are sound

    def __len__(self) -> int:
        return len(self._trees)

    def add(self, tree: ConversationTree, pictures: Mapping[str, Sequence[PicturePiece]]) -> None:
        """`pictures`: by digest, in pieces that `put_aside` returned. Raises FileUnusable where the disk is full."""
        self._trees.append(self._written(marshal.dumps(_packed(tree))))
        for digest in pictures_in(message.text for message in tree.messages):
            pieces = pictures.get(digest, ())
            if 0 < sum(piece.size for piece in pieces) <= MOST_BYTES and len(self._pictures) < _MOST_PICTURES:
                self._pictures.setdefault(digest, pieces)

    def put_aside(self, text: str) -> PicturePiece | None:
        """Part of a picture, in base 64; None for what is not. Raises FileUnusable where the disk is full."""
        try:
            return self._written(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError):
            return None

    def look_at_pictures(self, sizes_of: SizesOf) -> None:
        """Only those that have a width and a height come with their trees. To be called when all trees were added."""
        sizes = sizes_of(map(self._data_of, self._pictures))
        self._sizes = {digest: size for digest, size in zip(self._pictures, sizes, strict=True) if size}

    def __iter__(self) -> Iterator[ConversationTree]:
        for piece in self._trees:
            tree = _unpacked(*marshal.loads(self._read(piece)))  # written above, and nowhere else
            digests = [each for each in pictures_in(one.text for one in tree.messages) if each in self._sizes]
            yield replace(tree, pictures=_KeptPictures(self._picture, digests)) if digests else tree

    def _picture(self, digest: str) -> Picture:
        return Picture(digest, self._data_of(digest), *self._sizes[digest])

    def _data_of(self, digest: str) -> bytes:
        """Empty where it is not what its digest says."""
        data = b"".join(map(self._read, self._pictures[digest]))
        return data if sha256(data).hexdigest() == digest else b""

    def _read(self, piece: PicturePiece) -> bytes:
        self._file.seek(piece.place)
        return self._file.read(piece.size)

    def _written(self, data: bytes) -> PicturePiece:
        try:
            return PicturePiece(self._file.seek(0, os.SEEK_END), self._file.write(data))
        except OSError as error:
            raise FileUnusable(
                "The disk for temporary files is full ({reason}); free some space and try again.",
                reason=error.strerror,
            ) from error


def _packed(tree: ConversationTree) -> tuple[Any, ...]:
    messages = [
        (
            *(each.number, each.parent, each.role.value, each.text, _written(each.created_at), each.target_name),
            [(thought.place, thought.text, thought.seconds, thought.num_tokens) for thought in each.thoughts],
            [_packed_call(call) for call in each.calls],
            None if each.result is None else _packed_result(each.result),
        )
        for each in tree.messages
    ]
    times = _written(tree.created_at), _written(tree.updated_at)
    order = tree.folder, tree.is_pinned, tree.is_archived
    return tree.title, tree.system_prompt, *times, messages, tree.head, order


def _unpacked(
    title: str,
    system_prompt: str,
    began: str | None,
    used: str | None,
    messages: list[tuple[Any, ...]],
    head: int | None,
    order: tuple[str, bool, bool],
) -> ConversationTree:
    unpacked = tuple(
        TreeMessage(
            number=number,
            parent=parent,
            role=Role(role),
            text=said,
            created_at=_moment(written),
            target_name=target_name,
            thoughts=tuple(Thought(place, text, seconds, num, True) for place, text, seconds, num in thoughts),
            calls=tuple(ToolCall(*call) for call in calls),
            result=None if result is None else _unpacked_result(*result),
        )
        for number, parent, role, said, written, target_name, thoughts, calls, result in messages
    )
    folder, is_pinned, is_archived = order
    return ConversationTree(
        title=title,
        system_prompt=system_prompt,
        created_at=_moment(began),
        updated_at=_moment(used),
        messages=unpacked,
        head=head,
        folder=folder,
        is_pinned=is_pinned,
        is_archived=is_archived,
    )


def _packed_call(call: ToolCall) -> tuple[str, ...]:
    return call.id, call.server, call.tool, call.arguments


def _packed_result(result: ToolResult) -> tuple[Any, ...]:
    return _packed_call(result.call), result.outcome.value, result.seconds, result.num_left_out


def _unpacked_result(call: tuple[str, ...], outcome: str, seconds: float, num_left_out: int) -> ToolResult:
    return ToolResult(ToolCall(*call), Outcome(outcome), seconds, num_left_out)


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(written: str | None) -> datetime | None:
    return None if written is None else datetime.fromisoformat(written)
