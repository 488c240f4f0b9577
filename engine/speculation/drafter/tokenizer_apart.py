"""The tokenizer of a drafter from an unknown source, in a separate process.

Its patterns and rules come from the folder: on some later text they may take minutes or gigabytes, hold Python's lock
meanwhile, or end the process. There they end only that process: the drafter is given up, and the reply goes on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from engine.speculation.drafter.choice import bytes_on_disk
from engine.speculation.drafter.files import TOKENIZER
from engine.speculation.drafter.tokenizer import DrafterTokenizer
from engine.speculation.model.apart.child import Child, ChildEnded, Limits, take_at_most
from engine.speculation.model.apart.sandbox import confine
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import DrafterUnusable, MendableError
from engine.values.sentences import packed, unpacked

_ANSWER_S = 2.0  # of processor time for an answer: texts are some pages at most, which take hundredths
_OPENING_S = 30.0  # the same, for a vocabulary of 256,000 tokens, which takes seven
_MANY = 1024  # items that are split for one answer, for which others wait


def limits_for(num_bytes: int) -> Limits:
    """Limits for reading files of `num_bytes`: for weights of 4 bits, eight times as much memory while they become
    floats, and for a vocabulary of 256,000 tokens twelve times. The rest is for libraries, on a slow machine."""
    seconds = num_bytes / 10e6
    return Limits((512 << 20) + 16 * num_bytes, 60 + seconds, 120 + seconds)


class TokenizerApart:
    """Implements `drafter.interface.TurnVocabulary` as `DrafterTokenizer` does. For any threads. Its process ends with
    it."""

    def __init__(self, folder: Path) -> None:
        """Raises DrafterUnusable."""
        self._name = folder.name
        self._child = Child(_serve, (folder,), limits_for(bytes_on_disk(folder / TOKENIZER)))
        known = self._answered(None, _OPENING_S)
        if "complaint" in known:
            self._child.end()
            raise DrafterUnusable(unpacked(known["complaint"]))
        self.pieces = tuple(piece.encode("latin-1") for piece in known["pieces"])
        self.special = frozenset(known["special"])
        self.end: int | None = known["end"]
        self.fingerprint: str = known["fingerprint"]

    def encode(self, data: bytes) -> list[int] | None:
        found: list[int] | None = self._asked("encode", data.decode("latin-1"))
        return found

    def encode_many(self, items: Sequence[bytes]) -> list[list[int] | None]:
        found: list[list[int] | None] = []
        for start in range(0, len(items), _MANY):
            found += self._asked("encode_many", [item.decode("latin-1") for item in items[start : start + _MANY]])
        return found

    def encode_prompt(self, turns: Sequence[ChatTurn]) -> list[int]:
        found: list[int] = self._asked("encode_prompt", [(turn.role.value, turn.text) for turn in turns])
        return found

    def _asked(self, what: str, argument: Any) -> Any:
        """Raises DrafterUnusable."""
        return self._answered(json.dumps((what, argument)).encode(), _ANSWER_S)

    def _answered(self, question: bytes | None, processor_s: float) -> Any:
        try:
            return json.loads(self._child.ask(question, processor_s))
        except (ChildEnded, ValueError) as error:
            self._child.end()
            raise DrafterUnusable(
                "The tokenizer of {name} takes too long or too much memory for a text; choose another drafter.",
                name=self._name,
            ) from error


def _serve(folder: Path, pipe: Connection) -> None:
    """Runs in the separate process."""
    take_at_most(_OPENING_S)
    try:
        tokenizer = DrafterTokenizer.from_folder(folder)
    except MendableError as error:
        pipe.send_bytes(json.dumps({"complaint": packed(error.sentence)}).encode())
        return
    pieces = [piece.decode("latin-1") for piece in tokenizer.pieces]
    known = {"pieces": pieces, "special": [*tokenizer.special], "end": tokenizer.end}
    pipe.send_bytes(json.dumps(known | {"fingerprint": tokenizer.fingerprint}).encode())
    del pieces, known
    confine()
    while True:
        try:
            question = json.loads(pipe.recv_bytes())
        except EOFError:
            return
        take_at_most(_ANSWER_S)
        answer = json.dumps(_answer(tokenizer, *question)).encode()
        take_at_most(0)
        pipe.send_bytes(answer)


def _answer(tokenizer: DrafterTokenizer, what: str, argument: Any) -> Any:
    if what == "encode":
        return tokenizer.encode(argument.encode("latin-1"))
    if what == "encode_many":
        return tokenizer.encode_many([item.encode("latin-1") for item in argument])
    return tokenizer.encode_prompt([ChatTurn(Role(role), text) for role, text in argument])
