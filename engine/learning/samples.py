"""What a drafter is trained on: conversations in its own tokens, and the target's distribution pushed down onto
them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
import numpy.typing as npt

from engine.drafter.tokenizer import DrafterTokenizer
from engine.learning.corpus import CorpusLesson
from engine.learning.labels import Labels
from engine.messages.conversations import ChatTurn, Role
from engine.numerics.translation import align
from engine.numerics.vocabulary_map import MAX_STRING, Strings
from engine.target.interface import Vocabulary

MOST_TOKENS = 512  # of a sample; what is too much leaves at the prompt's front …
_MOST_OF_REPLY = 384  # … or at the reply's end
_LOOP_TOKENS = 12  # a reply that writes the same so many tokens again is in a loop
_LOOP_WEIGHT = 0.1
_NONE = -1

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sample:
    tokens: npt.NDArray[np.int32]  # shape (n,), the conversation in the drafter's tokens
    weights: npt.NDArray[np.float32]  # shape (n,), how much predicting this token counts
    rows: npt.NDArray[np.int32]  # shape (n,), of the label table: what this token was drawn from; -1: unknown
    reply_start: int


@dataclass(frozen=True, slots=True)
class LabelTable:
    """Distributions over the drafter's tokens; what it cannot guess is left out."""

    tokens: npt.NDArray[np.int32]  # shape (rows, k), each once; 0 where there are fewer
    probabilities: npt.NDArray[np.float16]  # shape (rows, k); 0 where there are fewer

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
        target: Vocabulary,
        tokenizer: DrafterTokenizer,
        strings: Strings,
        default_systems: frozenset[str] = frozenset(),
    ) -> None:
        """`strings`: what the target's tokens are made of, shape (target vocabulary, any width), see `spellings`.
        `default_systems` are system prompts that targets add by themselves and a drafter does not get to see."""
        self._target = target
        self._tokenizer = tokenizer
        self._end = tokenizer.end
        self._default_systems = default_systems
        self._strings = strings.copy()
        if self._end is not None:
            self._strings[sorted(target.end_of_generation), 0] = self._end

    def make(self, lessons: Iterable[CorpusLesson], labels: Mapping[int, Labels]) -> tuple[list[Sample], LabelTable]:
        """`labels` by line."""
        samples: list[Sample] = []
        distributions: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.float16]]] = []
        num_distributions = 0
        for lesson in lessons:
            reply: list[int] = lesson.reply.tolist()
            is_finished = reply[-1] in self._target.end_of_generation
            said = reply[:-1] if is_finished else reply
            spelled = self._tokenizer.encode(b"".join(self._target.pieces[token] for token in said))
            if not spelled:
                continue
            end = [self._end] if is_finished and self._end is not None else []
            written = [*spelled, *end][:_MOST_OF_REPLY]
            prompt = self._tokenizer.encode_prompt([turn for turn in lesson.turns if not self._is_unsaid(turn)])
            prompt = prompt[-(MOST_TOKENS - len(written)) :]
            rows = np.full(len(prompt) + len(written), _NONE, np.int32)
            if (label := labels.get(lesson.line)) is not None:
                places, heads = self._begun_together(said, spelled)
                if end:
                    places, heads = np.append(places, len(spelled)), np.append(heads, len(said))
                told = (places < len(written)) & np.isfinite(label.log_probabilities[heads, 0])
                places, heads = places[told], heads[told]
                distributions.append(self._distributions(label, heads))
                inner = self._inner_distributions(label, places, heads, written)
                if inner:
                    distributions.append(_table([distribution for _, distribution in inner], label.tokens.shape[1]))
                    places = np.append(places, [place for place, _ in inner])
                rows[places + len(prompt)] = np.arange(num_distributions, num_distributions + len(places))
                num_distributions += len(places)
            weights = np.concatenate([np.zeros(len(prompt)), _weights(written)]).astype(np.float32)
            samples.append(Sample(np.array(prompt + written, np.int32), weights, rows, len(prompt)))
        width = distributions[0][0].shape[1] if distributions else 1
        return samples, LabelTable(
            np.concatenate([np.zeros((0, width), np.int32), *(tokens for tokens, _ in distributions)]),
            np.concatenate([np.zeros((0, width), np.float16), *(probabilities for _, probabilities in distributions)]),
        )

    def is_said(self, tokens: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Which of a reply's tokens a drafter gets to see: not the target's own marks, but for the one that ends it."""
        said = ~np.isin(tokens, sorted(self._target.special | self._target.end_of_generation))
        said[-1] |= int(tokens[-1]) in self._target.end_of_generation
        return said

    def _distributions(self, label: Labels, heads: Places) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float16]]:
        """The distributions over draft tokens before these tokens of the target."""
        firsts = self._strings[label.tokens[heads], 0]
        known = firsts != _NONE
        probabilities = np.where(known, np.exp(label.log_probabilities[heads].astype(np.float32)), 0)
        alike = firsts[:, :, None] == firsts[:, None, :]  # [distributions, k, k]: tokens that begin with the same one
        together = np.where(alike, probabilities[:, None, :], 0).sum(-1)
        is_first = alike.argmax(-1) == np.arange(firsts.shape[1])
        probabilities = np.where(is_first & known, together, 0)
        return np.where(probabilities > 0, firsts, 0).astype(np.int32), probabilities.astype(np.float16)

    def _inner_distributions(
        self, label: Labels, places: Places, heads: Places, written: Sequence[int]
    ) -> list[tuple[int, dict[int, float]]]:
        """Where the target's token is made of several, the distributions of the second, third, … of them, given those
        before: the children of a node of the trie, without the stop, which is what did not happen there."""
        found = []
        borders = set(places.tolist())
        for place, head in zip(places.tolist(), heads.tolist(), strict=True):
            if place + 1 in borders or place + 1 >= len(written):
                continue
            strings = self._strings[label.tokens[head]]
            probabilities = np.exp(label.log_probabilities[head].astype(np.float32))
            for depth in range(1, strings.shape[1]):
                if place + depth in borders or place + depth >= len(written):
                    break
                alike = strings[:, depth - 1] == written[place + depth - 1]
                strings, probabilities = strings[alike], probabilities[alike]
                distribution: defaultdict[int, float] = defaultdict(float)
                for token, probability in zip(strings[:, depth].tolist(), probabilities.tolist(), strict=True):
                    if token != _NONE:
                        distribution[token] += probability
                total = sum(distribution.values())
                if written[place + depth] not in distribution or not total:
                    break
                found.append((place + depth, {token: mass / total for token, mass in distribution.items()}))
        return found

    def _is_unsaid(self, turn: ChatTurn) -> bool:
        return turn.role is Role.SYSTEM and turn.text in self._default_systems

    def _begun_together(self, said: Sequence[int], spelled: Sequence[int]) -> tuple[Places, Places]:
        """Where a draft token begins what a target token begins as well, and is the first of its string: the places of
        both. The target's distribution there is a distribution over draft tokens."""
        if len(said) == len(spelled) and (self._strings[said, 0] == spelled).all():
            places = np.arange(len(said))
            return places, places
        pairs = []
        place = head = 0
        for targets, drafts in align(said, self._target.pieces, spelled, self._tokenizer.pieces):
            if self._strings[targets[0], 0] == drafts[0]:
                pairs.append((place, head))
            place += len(drafts)
            head += len(targets)
        places, heads = np.array(pairs, np.int64).reshape(-1, 2).T
        return places, heads


def spellings(target: Vocabulary, tokenizer: DrafterTokenizer, num_outputs: int) -> Strings:
    """The drafter's tokens that each token of the target is made of, as far as it can guess them, padded with -1."""
    strings = np.full((len(target), MAX_STRING), _NONE, np.int32)
    for token, string in enumerate(tokenizer.encode_many(list(target.pieces))):
        if string and token not in target.special:
            guessable = list(takewhile(lambda each: each < num_outputs, string[:MAX_STRING]))
            strings[token, : len(guessable)] = guessable
    return strings


def _table(
    distributions: Sequence[Mapping[int, float]], width: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float16]]:
    """Distributions of at most `width` tokens as rows of a label table."""
    tokens = np.zeros((len(distributions), width), np.int32)
    probabilities = np.zeros((len(distributions), width), np.float16)
    for row, distribution in enumerate(distributions):
        tokens[row, : len(distribution)] = list(distribution)
        probabilities[row, : len(distribution)] = list(distribution.values())
    return tokens, probabilities


def _weights(reply: Sequence[int]) -> list[float]:
    """Tokens that go on with a loop count little: a target that loops is easily guessed, and nothing to learn from."""
    seen: set[tuple[int, ...]] = set()
    weights = []
    for place in range(len(reply)):
        recent = tuple(reply[max(0, place - _LOOP_TOKENS) : place])
        weights.append(_LOOP_WEIGHT if len(recent) == _LOOP_TOKENS and recent in seen else 1.0)
        seen.add(recent)
    return weights
