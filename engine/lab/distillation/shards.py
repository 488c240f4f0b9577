"""The folder of an invented corpus, which a later run resumes from.

`about.json` names the target and the seed of the conversations. They are in shards: `00012.jsonl` with finished
conversations (lines of `corpus.py`, with the number, kind and temperature of each) and `00012.safetensors` with the
labels of their replies. A shard counts once its `.jsonl` is there, which is written last.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.lab.distillation.corpus import write_labels
from engine.lab.distillation.work import write_whole, writing_to
from engine.speculation.learning.samples import Labels
from engine.values.conversations import ChatTurn
from engine.values.errors import FileUnusable

_ABOUT = "about.json"
_DIGITS = 5  # of a shard's name


@dataclass(frozen=True, slots=True)
class ShardOrigin:
    """The origin of all conversations of a folder."""

    target: str
    vocabulary: str  # fingerprint
    seed: int
    format: int = 1


@dataclass(frozen=True, slots=True)
class LabelledConversation:
    number: int
    kind: str
    temperature: float  # of the reply
    turns: tuple[ChatTurn, ...]  # that the reply answers
    ids: tuple[int, ...]  # of prompt and reply, in the target's tokens
    start: int  # of the reply in them
    looped: bool  # whether the reply was cut because it repeated itself
    labels: Labels  # of the reply's tokens


class Shards:
    """The shards of a folder. The constructor raises FileUnusable when the folder holds something else, is damaged or
    cannot be written."""

    def __init__(self, folder: Path, origin: ShardOrigin) -> None:
        self._folder = folder
        files = sorted(folder.glob("*.jsonl"))
        with writing_to(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._check(origin, bool(files))
        # The conversations that were there when the folder was opened.
        self.numbers = frozenset(number for file in files for number in _numbers(file))
        self._next = 1 + max((int(file.stem) for file in files), default=-1)

    def add(self, conversations: Sequence[LabelledConversation]) -> None:
        """Writes them as one shard, if there are any. Raises FileUnusable."""
        if not conversations:
            return
        path = self._folder / f"{self._next:0{_DIGITS}}.jsonl"
        labels = [conversation.labels for conversation in conversations]
        write_labels(path.with_suffix(".safetensors"), range(len(conversations)), labels)
        write_whole(path, "".join(f"{_line(conversation)}\n" for conversation in conversations).encode())
        self._next += 1

    def _check(self, origin: ShardOrigin, is_begun: bool) -> None:
        path = self._folder / _ABOUT
        if not path.exists():
            if is_begun:
                raise FileUnusable(f"{self._folder} holds another corpus; choose another folder.")
            write_whole(path, (json.dumps(asdict(origin), indent=2) + "\n").encode())
            return
        try:
            found = ShardOrigin(**json.loads(path.read_text("utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise FileUnusable(f"{path} is not in a format known here; choose another folder.") from error
        if found != origin:
            raise FileUnusable(
                f"{self._folder} holds conversations of {found.target} with seed {found.seed}, which these would not "
                f"go on from ({_difference(found, origin)}); choose another folder."
            )


def _difference(found: ShardOrigin, wanted: ShardOrigin) -> str:
    if found.format != wanted.format:
        return "another version wrote them"
    if found.target != wanted.target:
        return f"they would be of {wanted.target}"
    return "the seed is another" if found.seed != wanted.seed else "the vocabulary is another"


def _numbers(path: Path) -> list[int]:
    if not path.with_suffix(".safetensors").is_file() or not path.stem.isdecimal():
        raise FileUnusable(f"{path} has no labels next to it; remove it, and it is written again.")
    try:
        return [int(json.loads(line)["n"]) for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FileUnusable(f"{path} is damaged; remove it, and it is written again.") from error


def _line(conversation: LabelledConversation) -> str:
    record: dict[str, object] = {
        "n": conversation.number,
        "kind": conversation.kind,
        "temperature": conversation.temperature,
        "turns": [{"role": turn.role.value, "text": turn.text} for turn in conversation.turns],
        "ids": conversation.ids,
        "a": conversation.start,
    }
    if conversation.looped:
        record["looped"] = True
    return json.dumps(record)  # in ASCII, where no character of a text looks like the end of a line
