"""What a drafter is trained on: conversations in its own tokens, and the target's law pushed down onto them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from engine.drafter.tokenizer import DrafterTokenizer
from engine.learning.corpus import Lesson
from engine.learning.labels import Labels
from engine.numerics.translation import align
from engine.records import ChatTurn, Role

_LOOP_TOKENS = 12  # a reply that writes the same so many tokens again is in a loop
_LOOP_WEIGHT = 0.1
_NONE = -1


@dataclass(frozen=True, slots=True)
class Sample:
    tokens: npt.NDArray[np.int32]  # shape (n,), the conversation in the drafter's tokens
    weights: npt.NDArray[np.float32]  # shape (n,), how much predicting this token counts
    rows: npt.NDArray[np.int32]  # shape (n,), of the label table: the law this token was drawn from; -1: unknown
    reply_start: int


@dataclass(frozen=True, slots=True)
class LabelTable:
    """Laws over the drafter's tokens; what it cannot guess is left out."""

    tokens: npt.NDArray[np.int32]  # shape (rows, k); tokens may come twice, their probabilities then add up
    probabilities: npt.NDArray[np.float16]  # shape (rows, k)

    @classmethod
    def joined(cls, parts: Sequence[tuple[list[Sample], LabelTable]]) -> tuple[list[Sample], LabelTable]:
        """One table for the samples of several files."""
        samples: list[Sample] = []
        num_rows = 0
        for some, table in parts:
            samples += [
                replace(sample, rows=np.where(sample.rows == _NONE, _NONE, sample.rows + num_rows).astype(np.int32))
                for sample in some
            ]
            num_rows += len(table.tokens)
        tables = [table for _, table in parts if len(table.tokens)] or [parts[0][1]]
        return samples, cls(
            np.concatenate([table.tokens for table in tables]),
            np.concatenate([table.probabilities for table in tables]),
        )


class SampleMaker:
    """Turns lessons into samples for one target and one drafter."""

    def __init__(
        self,
        target_pieces: Sequence[bytes],
        target_ends: frozenset[int],
        tokenizer: DrafterTokenizer,
        num_outputs: int,
        default_systems: frozenset[str],
    ) -> None:
        """`target_ends` end a turn of the target. `default_systems` are system prompts that targets add by themselves
        and a drafter does not get to see."""
        assert tokenizer.end is not None
        self._target_pieces = target_pieces
        self._ends = target_ends
        self._tokenizer = tokenizer
        self._end = tokenizer.end
        self._default_systems = default_systems
        self._num_outputs = num_outputs
        # What a target token begins with in the drafter's tokens, -1 where it cannot guess that.
        self._first = np.full(len(target_pieces), _NONE, np.int32)
        spelled = tokenizer.encode_many(list(target_pieces))
        for token, string in enumerate(spelled):
            if string and string[0] < num_outputs:
                self._first[token] = string[0]
        self._first[sorted(target_ends)] = self._end

    def make(self, lessons: Iterable[Lesson], labels: Mapping[int, Labels]) -> tuple[list[Sample], LabelTable]:
        """`labels` by line."""
        samples: list[Sample] = []
        tokens: list[npt.NDArray[np.int32]] = []
        probabilities: list[npt.NDArray[np.float16]] = []
        num_rows = 0
        for lesson in lessons:
            reply = lesson.reply.tolist()
            finished = reply[-1] in self._ends
            said = reply[:-1] if finished else reply
            spelled = self._tokenizer.encode(b"".join(self._target_pieces[token] for token in said))
            if not spelled:
                continue
            prompt = self._tokenizer.encode_prompt([turn for turn in lesson.turns if not self._is_unsaid(turn)])
            written = [*spelled, self._end] if finished else spelled
            rows = np.full(len(prompt) + len(written), _NONE, np.int32)
            label = labels.get(lesson.line)
            if label is not None:
                places, heads = self._begun_together(said, spelled)
                if finished:
                    places, heads = [*places, len(spelled)], [*heads, len(said)]
                firsts = self._first[label.tokens[heads]]
                known = firsts != _NONE
                tokens.append(np.where(known, firsts, 0).astype(np.int32))
                law = np.exp(label.log_probabilities[heads].astype(np.float32))
                probabilities.append(np.where(known, law, 0).astype(np.float16))
                rows[np.array(places, np.int64) + len(prompt)] = np.arange(num_rows, num_rows + len(places))
                num_rows += len(places)
            weights = np.concatenate([np.zeros(len(prompt)), _weights(written)]).astype(np.float32)
            samples.append(Sample(np.array(prompt + written, np.int32), weights, rows, len(prompt)))
        width = tokens[0].shape[1] if tokens else 1
        return samples, LabelTable(
            np.concatenate([np.zeros((0, width), np.int32), *tokens]),
            np.concatenate([np.zeros((0, width), np.float16), *probabilities]),
        )

    def _is_unsaid(self, turn: ChatTurn) -> bool:
        return turn.role is Role.SYSTEM and turn.text in self._default_systems

    def _begun_together(self, said: Sequence[int], spelled: Sequence[int]) -> tuple[list[int], list[int]]:
        """Where a draft token begins what a target token begins as well, and is the first of its string: the places of
        both. The target's law there is a law over draft tokens."""
        if len(said) == len(spelled) and (self._first[said] == spelled).all():
            places = list(range(len(said)))
            return places, places
        places, heads = [], []
        place = head = 0
        for targets, drafts in align(said, self._target_pieces, spelled, self._tokenizer.pieces):
            if self._first[targets[0]] == drafts[0]:
                places.append(place)
                heads.append(head)
            place += len(drafts)
            head += len(targets)
        return places, heads


def _weights(reply: Sequence[int]) -> list[float]:
    """Tokens that go on with a loop count little: a target that loops is easily guessed, and nothing to learn from."""
    seen: set[tuple[int, ...]] = set()
    weights = []
    for place in range(len(reply)):
        recent = tuple(reply[max(0, place - _LOOP_TOKENS) : place])
        weights.append(_LOOP_WEIGHT if len(recent) == _LOOP_TOKENS and recent in seen else 1.0)
        seen.add(recent)
    return weights
