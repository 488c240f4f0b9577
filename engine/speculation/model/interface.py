"""The target as the engine sees it, whatever runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from engine.speculation.model.special_tokens import SpecialTokens
from engine.speculation.numerics.vocabulary_map import fingerprint
from engine.values.pictures import Picture
from engine.values.stop_signal import StopSignal
from engine.values.targets import HeadMethod

FloatRows = npt.NDArray[np.float32]  # shape (rows, vocabulary)
FloatRow = npt.NDArray[np.float32]  # shape (vocabulary,)
StateRow = npt.NDArray[np.float32]  # shape (hidden,)
StateRows = npt.NDArray[np.float32]  # shape (rows, hidden)

_MOST_BYTES_PER_TOKEN = 16


class TargetFeature(StrEnum):
    """Features that not every target offers; a proposer names those it needs."""

    ROLLBACK = "rollback"  # tokens of the last pass can be taken back: `TargetLimits.max_rollback` says how many
    # One pass can check a draft that branches, as `BranchingTarget` says: into `TargetLimits.max_branches` at most.
    BRANCHES = "branches"
    KEEPS = "keeps"  # what is held can be saved for another run: see `KeepingTarget`
    STATES = "states"  # passes can return the states that their logits are made of: see `TellingTarget`
    PICTURES = "pictures"  # prompts can hold some: see `SeeingTarget`
    LEADS = "leads"  # those that a model brings can follow it: see `LeadingTarget`


class Interrupted(Exception):
    """The stop signal was set during a pass, which is taken back: see `Target.evaluate`."""


@dataclass(frozen=True)  # without slots, for its cached properties
class Vocabulary:
    """The tokens of a target as bytes, by which vocabularies are compared."""

    pieces: tuple[bytes, ...]  # by token id; for special tokens their text in a prompt
    special: frozenset[int]  # control and unknown tokens, which no text of a user or drafter may produce
    end_of_generation: frozenset[int]
    begin: int | None  # what templates call bos_token
    end: int | None  # what templates call eos_token
    begins_prompts: bool  # whether every prompt must start with `begin`

    def __len__(self) -> int:
        return len(self.pieces)

    @cached_property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens, including what ends a reply unless it is a line break."""
        ends = {token for token in self.end_of_generation if self.pieces[token].strip()}
        return SpecialTokens({token: self.pieces[token] for token in self.special | ends}, self.pieces)

    @cached_property
    def silent(self) -> frozenset[int]:
        """Tokens that are no text: special ones, and those that end a reply."""
        return self.special | self.end_of_generation

    def text_of(self, token: int | None) -> str:
        return "" if token is None else self.pieces[token].decode("utf-8", "replace")

    def with_begin(self, tokens: list[int]) -> list[int]:
        """A prompt with its first token, which some templates write themselves and others leave to the tokenizer."""
        begin = self.begin if self.begins_prompts else None
        return tokens if begin is None or tokens[:1] == [begin] else [begin, *tokens]

    @cached_property
    def fingerprint(self) -> str:
        """A digest that is the same for all targets with the same tokens; what is learned is stored under it."""
        return fingerprint(self.pieces, self.silent)


@dataclass(frozen=True, slots=True)
class TargetLimits:
    context_size: int  # tokens
    max_tokens: int  # of one pass
    max_rows: int  # of logits that one pass can return
    # Tokens that can be taken back. If it is less than the context, only those of the last pass except its first, once:
    # a running state has no past but the copies that this pass made of it.
    max_rollback: int
    max_branches: int = 1  # of a draft that one pass checks

    @property
    def rolls_back_freely(self) -> bool:
        """True if it can roll back to any of the tokens that are held."""
        return self.max_rollback >= self.context_size

    @property
    def max_bytes(self) -> int:
        """The most bytes of a text that may fit into the context. A longer one never does, and would take long to
        tokenize."""
        return _MOST_BYTES_PER_TOKEN * self.context_size


@dataclass(frozen=True, slots=True)
class SavedPart:
    """The content that a target holds of the tokens at places `start` up to `end`, in bytes that only a target of the
    same layout can read."""

    data: npt.NDArray[np.uint8]  # shape (bytes,)
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PictureRun:
    """A part of a picture in the context: places that hold no token."""

    picture: Picture
    number: int  # among the runs of its picture
    num_places: int  # among those of the tokens, which later tokens are moved by
    num_cells: int  # of the context's memory, which may be more than places


@dataclass(frozen=True, slots=True)
class SeenPicture:
    """A picture as one target reads it: tokens that mark it, and runs, in their order."""

    parts: tuple[tuple[int, ...] | PictureRun, ...]


@dataclass(frozen=True, slots=True)
class TargetDescription:
    path: Path
    name: str
    summary: str  # architecture, size and quantization
    size_bytes: int  # of the weights
    threads: int
    chat_template: str | None
    num_gpu_layers: int = 0  # on graphics cards, its output counted as one
    num_layers: int = 0  # that could be there; 0: not known
    gpu: str = ""  # what the cards are called; empty where there are none
    names: str = ""  # that its header and its file have for it, also of what it was tuned to


class TokenizingVocabulary(Protocol):
    """A vocabulary with the tokenizer that belongs to it."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    def tokenize(self, text: str) -> list[int]:
        """Tokens of a rendered prompt. Special tokens in the text are recognised except in what was said, as
        `PromptText` knows; none are added."""

    def close(self) -> None: ...


class SpellingVocabulary(TokenizingVocabulary, Protocol):
    """A vocabulary that also splits ordinary text, as a drafter's must."""

    def spell(self, text: str) -> list[int]:
        """Tokens of a text without special ones; the tokenizer may put a space in front, as SentencePiece does."""


class PromptReader(TokenizingVocabulary, Protocol):
    """All that prompts for a target depend on."""

    @property
    def description(self) -> TargetDescription: ...
    @property
    def limits(self) -> TargetLimits: ...


class Target(PromptReader, Protocol):
    """A loaded model with one sequence of evaluated tokens ("held"). Used by one thread at a time."""

    @property
    def features(self) -> frozenset[TargetFeature]: ...
    @property
    def num_held(self) -> int:
        """How many tokens the target holds: evaluated, and part of its context."""

    def evaluate(self, tokens: Sequence[int], num_rows: int, stop: StopSignal) -> FloatRows:
        """One pass over `tokens` (1 … max_tokens of them), placed after what is held.

        Returns the logits that follow each of the last `num_rows` (1 … max_rows) tokens, shape (num_rows, vocabulary):
        a view that the next pass overwrites. Raises `Interrupted` when `stop` is or gets set. After a failed pass the
        target holds what it held before, or nothing where it cannot roll back: `num_held` says which.
        """

    def roll_back(self, num_kept: int) -> bool:
        """Forgets all held tokens but the first `num_kept`. False where this target cannot (see
        `TargetLimits.max_rollback`): it then holds nothing."""

    def save(self) -> object | None:
        """A copy of what is held, for `restore`; None if nothing is, or a copy would take too much memory."""

    def restore(self, saved: object) -> bool:
        """Restores what was held when this was saved. False if that fails: nothing is held then."""


class BranchingTarget(Target, Protocol):
    """The additional abilities of a target with TargetFeature.BRANCHES."""

    def evaluate_tree(self, token: int, draft: Sequence[int], parents: Sequence[int], stop: StopSignal) -> FloatRows:
        """Evaluates `token`, placed after what is held, and a tree of tokens after it in one pass: each follows the one
        at the place of its parent, which comes before it; -1 is `token`. There are at least one and less than max_rows
        of them, with at most `max_branches` that no other follows.

        Returns the logits after `token` and after each of the draft, shape (1 + len(draft), vocabulary), and raises as
        `evaluate` does. `token` is held then; of the draft, what `keep_branch` says, or else nothing.
        """

    def keep_branch(self, places: Sequence[int]) -> None:
        """Keeps the tokens at these places of the tree that was evaluated last; each follows the one before, and the
        first one `token`. May be empty."""


def branching(target: Target) -> BranchingTarget:
    """A target with TargetFeature.BRANCHES, as what it is."""
    assert TargetFeature.BRANCHES in target.features
    return cast(BranchingTarget, target)


class TellingTarget(Target, Protocol):
    """The additional abilities of a target with TargetFeature.STATES."""

    def tell_states(self, wanted: bool) -> None:
        """Sets whether passes return their states from now on; at first they do not. A pass that returns fewer rows
        than it has tokens, such as that of a prompt, never does: it would have to make all of them."""

    @property
    def states(self) -> StateRows | None:
        """The states that the rows of the last pass are made of, the output of the last layer after the final norm,
        shape (rows, hidden): a view that the next pass overwrites. None if it did not return them."""


def telling(target: Target) -> TellingTarget:
    """A target with TargetFeature.STATES, as what it is."""
    assert TargetFeature.STATES in target.features
    return cast(TellingTarget, target)


class FollowingHeads(Protocol):
    """Heads that a model brings. Once they follow their target, what its passes leave is handed to them, and they
    forget with it; from then on they belong to its thread."""

    @property
    def is_following(self) -> bool: ...
    def let_go(self) -> None:
        """Has them closed, by the target if they follow it. From any thread."""

    @property
    def max_guesses(self) -> int:
        """Of a draft; 0: any number."""

    @property
    def are_at_once(self) -> bool:
        """True if `start` makes all guesses, and the others take no time."""

    @property
    def num_tokens(self) -> int:
        """Of a row of logits."""

    @property
    def end(self) -> int:
        """The place in the target's text after the last token that they know. Raises DrafterUnusable once they
        failed."""

    @property
    def max_held(self) -> int: ...
    @property
    def most_threads(self) -> int: ...
    def use_threads(self, num_threads: int) -> None: ...

    def start(self, pending: int, count: int) -> FloatRow:
        """The logits of the first guess, after a token that the target has not evaluated yet, shape (tokens,): a view
        that the next call overwrites. `count`: how many guesses may follow. Raises DrafterUnusable."""

    def next(self, guess: int) -> FloatRow:
        """The logits of the guess after this one, as of `start`."""

    def keep(self, num_kept: int) -> None:
        """Forgets all but the first tokens of the text."""


class LeadingTarget(Target, Protocol):
    """The additional abilities of a target with TargetFeature.LEADS."""

    def open_heads(self, method: HeadMethod, path: Path | None) -> FollowingHeads:
        """Opens the heads in this file, or, where there is none, in the target's own. From any thread. Raises
        DrafterUnusable."""

    def lead(self, heads: FollowingHeads) -> None:
        """Has these heads of its own follow it from the next pass on, in place of others."""


def leading(target: Target) -> LeadingTarget:
    """A target with TargetFeature.LEADS, as what it is."""
    assert TargetFeature.LEADS in target.features
    return cast(LeadingTarget, target)


class KeepingTarget(Target, Protocol):
    """The additional abilities of a target with TargetFeature.KEEPS."""

    @property
    def layout(self) -> str:
        """A text that must be the same, in addition to the model's file, for one target to restore what another one
        saved."""

    @property
    def saves_parts(self) -> bool:
        """True if it saves and restores any of the tokens it holds; else only all of them."""

    def save_part(self, start: int, end: int) -> SavedPart | None:
        """A copy of what is held of the tokens at places `start` up to `end`. None if that is nothing, or a copy would
        take too much memory."""

    def restore_part(self, saved: SavedPart, end: int) -> bool:
        """Restores what this part has up to `end`: all of it, replacing what is held, if it begins at the first token;
        or else what comes after the held tokens, which must reach to where it begins. False if that fails: nothing is
        held then. The bytes must be those that were saved: llama.cpp does not check all of them."""


class SeeingTarget(Target, Protocol):
    """The additional abilities of a target with TargetFeature.PICTURES. What is rolled back, saved or restored ends
    before or after a run. If runs have fewer places than cells, the context is full before as many places are held."""

    def see(self, picture: Picture, stop: StopSignal) -> SeenPicture:
        """The picture as this target reads it, which takes little time; the projector is loaded with the first one.
        Raises TargetUnusable or Interrupted."""

    def evaluate_picture(self, run: PictureRun, stop: StopSignal) -> None:
        """Evaluates a run like `Target.evaluate`, without logits: its places come after what is held. The picture is
        encoded first, which cannot be interrupted, unless that was done lately."""


def seeing(target: Target) -> SeeingTarget:
    """A target with TargetFeature.PICTURES, as what it is."""
    assert TargetFeature.PICTURES in target.features
    return cast(SeeingTarget, target)


def keeping(target: Target) -> KeepingTarget:
    """A target with TargetFeature.KEEPS, as what it is."""
    assert TargetFeature.KEEPS in target.features
    return cast(KeepingTarget, target)


class ParallelTarget(PromptReader, Protocol):
    """A loaded model with several sequences of evaluated tokens side by side, each in a slot (0 … num_slots - 1) until
    it is dropped. Its limits are those of each sequence. Used by one thread at a time."""

    @property
    def num_slots(self) -> int: ...

    def evaluate(self, tokens: Mapping[int, Sequence[int]], stop: StopSignal | None = None) -> Mapping[int, FloatRow]:
        """One pass: the tokens (at least one, within the context) of each slot are placed after what it holds.

        Returns for each slot the logits that follow its last token, shape (vocabulary,): a view that the next pass
        overwrites. Raises TargetUnusable when there is no room, and Interrupted when `stop` is or gets set; after a
        failed pass all slots are empty.
        """

    def copy(self, slot: int, into: int) -> None:
        """Copies what this slot holds into the other one, which must be empty."""

    def drop(self, slot: int) -> None:
        """Forgets a sequence, so that another one can begin in its slot."""
