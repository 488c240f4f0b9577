"""Conversations that were read and are not written yet, kept on the disk: those of a large archive would fill the
memory."""

from __future__ import annotations

import marshal
import tempfile
import weakref
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from engine.errors import FileUnusable
from engine.messages.conversations import ConversationTree, Role, TreeMessage
from engine.messages.replies import Thought

_IN_MEMORY = 2**24  # bytes; more than most files of chats take


class KeptTrees:
    """Trees in the order in which they were added, as often as they are asked for. The file has no name that anybody
    could open, and goes with this object."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (closed by the next line)
        weakref.finalize(self, self._file.close)
        self._sizes: list[int] = []  # bytes of each tree

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, tree: ConversationTree) -> None:
        """Raises FileUnusable where the disk is full."""
        try:
            self._sizes.append(self._file.write(marshal.dumps(_packed(tree))))
        except OSError as error:
            raise FileUnusable(
                f"The disk for temporary files holds no more ({error.strerror}); free some space and try again."
            ) from error

    def __iter__(self) -> Iterator[ConversationTree]:
        place = 0
        for size in self._sizes:
            self._file.seek(place)
            yield _unpacked(*marshal.loads(self._file.read(size)))  # written above, and by nobody else
            place += size


def _packed(tree: ConversationTree) -> tuple[Any, ...]:
    messages = [
        (
            *(each.number, each.parent, each.role.value, each.text, _written(each.created_at), each.target_name),
            [(thought.place, thought.text, thought.seconds, thought.num_tokens) for thought in each.thoughts],
        )
        for each in tree.messages
    ]
    times = _written(tree.created_at), _written(tree.updated_at)
    return tree.title, tree.system_prompt, *times, messages, tree.head


def _unpacked(
    title: str,
    system_prompt: str,
    began: str | None,
    used: str | None,
    messages: list[tuple[int, int | None, str, str, str | None, str | None, list[tuple[int, str, float, int]]]],
    head: int | None,
) -> ConversationTree:
    unpacked = tuple(
        TreeMessage(
            *(number, parent, Role(role), text, _moment(written), target_name),
            tuple(Thought(*thought, is_whole=True) for thought in thoughts),
        )
        for number, parent, role, text, written, target_name, thoughts in messages
    )
    return ConversationTree(title, system_prompt, _moment(began), _moment(used), unpacked, head)


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(written: str | None) -> datetime | None:
    return None if written is None else datetime.fromisoformat(written)
