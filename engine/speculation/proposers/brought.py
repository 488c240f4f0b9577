"""Heads that a model brings (MTP, EAGLE-3, DFlash, DSpark) as a proposer.

They are handed what the target's passes leave, so they read nothing twice, and guess in the target's own vocabulary.
What they guess is drawn, checked and judged like the guesses of any drafter with that vocabulary.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from engine.speculation.drafter.interface import LogitRow
from engine.speculation.model.interface import FollowingHeads, LeadingTarget, TargetFeature
from engine.speculation.proposers.blending import DraftOutlook
from engine.speculation.proposers.catalogue import HEADS
from engine.speculation.proposers.interface import Context, Worth
from engine.speculation.proposers.shared_vocabulary import SharedVocabularyDrafter, texts_of

_SPARE = 4  # places of the context that are left alone


class BroughtDrafter:
    """Implements `drafter.interface.Drafter` as far as a draft goes: it holds what the target holds, and reads no token
    but the pending one and its own guesses."""

    def __init__(self, heads: FollowingHeads) -> None:
        self.heads = heads
        self._room = max(1, heads.max_guesses)
        self._has_begun = False

    def begin(self, room: int) -> None:
        """Begins a draft of at most `room` guesses."""
        self._room, self._has_begun = room, False

    def read(self, tokens: Sequence[int]) -> LogitRow:
        if self._has_begun:
            return self.heads.next(tokens[-1])
        self._has_begun = True
        return self.heads.start(tokens[-1], self._room)

    @property
    def num_held(self) -> int:
        return self.heads.end

    @property
    def max_held(self) -> int:
        return self.heads.max_held - _SPARE

    @property
    def most_threads(self) -> int:
        return self.heads.most_threads

    def use_threads(self, num_threads: int) -> None:
        self.heads.use_threads(num_threads)

    def roll_back(self, num_kept: int) -> None:
        self._has_begun = False
        self.heads.keep(num_kept)

    @property
    def can_drop(self) -> bool:
        return False

    def drop(self, start: int, end: int) -> None:  # noqa: ARG002
        raise AssertionError("it holds what the target holds")

    def refresh(self, is_original: bool = False) -> bool:  # noqa: ARG002
        return False


class BroughtProposer(SharedVocabularyDrafter):
    """The heads of one target, which closes them when nothing needs this proposer any more. They are silent where they
    do not know the end of the text: after a picture, and in the first pass after something was restored."""

    origin = HEADS
    needs = frozenset({TargetFeature.ROLLBACK, TargetFeature.LEADS})
    continues = False

    def __init__(self, heads: FollowingHeads, target: LeadingTarget, label: str) -> None:
        texts = texts_of(target.vocabulary)[: heads.num_tokens]
        super().__init__(
            drafter := BroughtDrafter(heads),
            [*texts, *[b""] * (heads.num_tokens - len(texts))],
            target.vocabulary,
            label,
        )
        self._brought = drafter
        self._are_at_once = heads.are_at_once
        self._most = 0  # guesses of the draft under way
        self._lead = target.lead
        weakref.finalize(self, heads.let_go)

    def num_unread(self, context: Context) -> int:  # noqa: ARG002
        return 0  # the target's passes have brought all there is to read

    def measure_cost(self) -> float:
        has_room = self._brought.num_held + (self._brought.heads.max_guesses or 1) < self._brought.max_held
        if has_room:
            self._brought.begin(self._brought.heads.max_guesses or 1)
            return super().measure_cost()
        return self.step_s

    def _begun(self, context: Context, limit: int) -> DraftOutlook | None:
        drafter, num_held = self._brought, len(context.tokens)
        if not drafter.heads.is_following:
            self._lead(drafter.heads)
        self._most = min(limit, drafter.heads.max_guesses or limit, drafter.max_held - num_held)
        if context.ahead or self._most < 1 or drafter.num_held != num_held:
            return None
        self._window.clear()
        drafter.begin(self._most)
        return self._read([context.pending])

    def _read(self, tokens: list[int]) -> DraftOutlook:
        num_passes, step_s = self._num_passes, self.step_s
        own = super()._read(tokens)
        if num_passes and self._are_at_once:  # it was guessed with the first one
            self._num_passes, self.step_s = num_passes, step_s
        return own

    def _goes_on(self, limit: int, worth: Worth) -> bool:
        has_room = len(self._drafted) < min(limit, self._most)
        return has_room and (self._are_at_once or worth.goes_on(self._chances()))
