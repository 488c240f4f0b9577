"""Selects the drafter that is expected to write most tokens per second for a target, or none.

Expected is what the costs of passes and steps on this machine and the share of right guesses allow, at the best draft
length: max over k of (1 + a₁ + a₁a₂ + … + a₁a₂ᵏ⁻¹) · V(1) / (V(k + 1) + k · step), where a₁ is the chance of a first
guess and a₂ that of every later one. Chances begin with what is usual for a pair of this kind and follow what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from engine.speculation.numerics.draft_length import USUAL_LENGTH, PassCosts
from engine.values.drafters import (
    DrafterChoice,
    DrafterProspect,
    DrafterRecord,
    DrafterRunner,
    DrafterSource,
    Guesses,
)
from engine.values.sentences import say

WORTHWHILE = 1.05  # times plain; less is not worth the memory, as estimates are not that good
_CLEARLY_BETTER = 1.07  # times the drafter in use: what another one must promise to replace it
_PRIOR_GUESSES = 60.0  # that the usual chances count for
_GENEROUS_CHANCE = 0.8  # where this does not pay, no drafter of this cost ever will
STEP_OVERHEAD_S = 0.0012  # of a pass of a small model: many small operations
_STEP_SHARE = 1.5  # a small model reads its bytes that much slower than a large one
_TORCH_BYTES_PER_S = 14e9
_BELIEVED = 3.0  # times the estimate: a longer step at an earlier start says how busy the machine was


GivenStep = Callable[[DrafterSource], float | None]


class Pair(Enum):
    """Kinds of drafters for a target, with the usual chances of a first and of a later guess: measured, where that is
    said, and else assumed (docs/decisions/0019-drafters.md). Some sixty guesses outweigh either."""

    DISTILLED = (0.30, 0.50)  # the built-in drafter; measured on recorded replies of 7–8B models
    TAUGHT = (0.46, 0.58)  # the built-in drafter for the starter, which taught it; measured
    SMALL = (0.54, 0.68)  # a language model of its own; measured with the starter on the same replies
    # A smaller model with the target's vocabulary, trained alike. Assumed, somewhat above a stranger: no two models of
    # one family were at hand, and a pruned or requantized copy of the target would be too like it.
    FAMILY = (0.66, 0.76)
    UNKNOWN = (0.35, 0.52)  # assumed, to be on the safe side: it is the user's choice anyway
    BROUGHT = (0.70, 0.70)  # made with the target, or for it; assumed, as no real ones were at hand
    HEADS = (0.40, 0.45)  # made for the target; a chain that brings what their trees brought when measured


@dataclass(frozen=True, slots=True)
class Applicant:
    source: DrafterSource
    pair: Pair
    memory_bytes: int


class Selection:
    """Chooses among applicants for one target, again after every reply."""

    def __init__(
        self,
        passes: PassCosts,
        target_bytes: int,
        applicants: Sequence[Applicant],
        records: Mapping[str, DrafterRecord],
        given_step: GivenStep = lambda _source: None,
    ) -> None:
        """`target_bytes`: of its weights, to estimate steps that were never measured; `records`: what was seen with
        this target, by the drafter's key; `given_step`: seconds of a drafter's step, where they are not measured."""
        self._passes = passes
        self._target_bytes = target_bytes
        self._applicants = {each.source.key: each for each in applicants}
        self._records = dict(records)
        self._given_step = given_step
        self._unusable: set[str] = set()
        self._seen: set[str] = set()  # keys of those that were measured since this start

    def record(self, key: str) -> DrafterRecord:
        return self._records.get(key, DrafterRecord(key))

    def note(self, record: DrafterRecord) -> None:
        """Takes in more of what is known of a drafter."""
        self._seen.add(record.key)
        self._records[record.key] = record

    def rule_out(self, key: str) -> None:
        self._unusable.add(key)

    def choose(self, current: str = "") -> DrafterChoice:
        """`current`: the key of the drafter in use, which stays unless another is clearly better."""
        usable = [self.prospect(each) for key, each in self._applicants.items() if key not in self._unusable]
        prospects = sorted(usable, key=lambda each: -each.speedup)
        best = prospects[0] if prospects else None
        mine = next((each for each in prospects if each.source.key == current), None)
        if mine is not None and best is not None and best.speedup <= mine.speedup * _CLEARLY_BETTER:
            best = mine
        bar = 1.0 if best is mine and mine is not None else WORTHWHILE
        if best is None or best.speedup < bar or not self._could_pay(best.step_s):
            return DrafterChoice(None, _why_nobody(best), tuple(prospects))
        return DrafterChoice(best.source, _why(best), tuple(prospects))

    def prospect(self, applicant: Applicant) -> DrafterProspect:
        source, record = applicant.source, self.record(applicant.source.key)
        usual_first, usual_next = applicant.pair.value
        first = _chance(usual_first, record.guesses.num_first, record.guesses.first_right)
        following = _chance(usual_next, record.guesses.num_next, record.guesses.next_right)
        given_s = self._given_step(source)
        is_measured = bool(given_s or record.step_s)
        step_s = given_s or self.step_of(source)
        speedup = expected_speedup(self._passes, first, following, step_s, at_once=source.guesses_at_once)
        seen = record.guesses.num_first + record.guesses.num_next
        return DrafterProspect(source, first, following, seen, step_s, is_measured, speedup, applicant.memory_bytes)

    def step_of(self, source: DrafterSource) -> float:
        """Seconds of a step, as last measured or estimated. A value from an earlier start that would rule out a drafter
        for ever, as only loading it measures it again, is believed up to a point."""
        known_s, estimated_s = self.record(source.key).step_s, self._estimated_step(source)
        if source.key not in self._seen:
            known_s = min(known_s, _BELIEVED * estimated_s)
        return known_s or estimated_s

    def speedup_of(self, choice: DrafterChoice) -> float:
        """The expected speed-up of the chosen drafter; 1 where there is none."""
        chosen = (each.speedup for each in choice.prospects if each.source == choice.chosen)
        return max(1.0, next(chosen, 1.0))

    def is_clearly_better(self, prospect: DrafterProspect, choice: DrafterChoice) -> bool:
        """True if it would replace the chosen drafter."""
        return prospect.speedup > self.speedup_of(choice) * _CLEARLY_BETTER and self._could_pay(prospect.step_s)

    def _could_pay(self, step_s: float) -> bool:
        return expected_speedup(self._passes, _GENEROUS_CHANCE, _GENEROUS_CHANCE, step_s) > 1

    def _estimated_step(self, source: DrafterSource) -> float:
        """An estimate from the target's pass, as both take longer on a busy machine; torch reads no faster than the CPU
        it uses."""
        seconds = 0.0
        if self._target_bytes:
            seconds = _STEP_SHARE * self._passes.of(1) * source.size_bytes / self._target_bytes
        if source.runner is DrafterRunner.TORCH or not self._target_bytes:
            seconds = max(seconds, source.size_bytes / _TORCH_BYTES_PER_S)
        return STEP_OVERHEAD_S + seconds


def expected_speedup(
    passes: PassCosts, chance_first: float, chance_next: float, step_s: float, at_once: bool = False
) -> float:
    """Tokens per second relative to plain decoding, at the best draft length of at least one. `at_once`: one step
    guesses all tokens."""
    # A pass over one row takes no longer than one over several: what was measured otherwise was something else.
    single_s = min(passes.of(num_rows) for num_rows in range(1, USUAL_LENGTH + 2))
    best, tokens, accepted = 0.0, 1.0, chance_first
    for length in range(1, USUAL_LENGTH + 1):
        tokens += accepted
        accepted *= chance_next
        best = max(best, tokens * single_s / (passes.of(length + 1) + (1 if at_once else length) * step_s))
    return best


def seen_again(record: DrafterRecord, guesses: Guesses, step_s: float) -> DrafterRecord:
    """The record with more guesses and the latest step."""
    return DrafterRecord(record.key, record.guesses.plus(guesses), step_s or record.step_s)


def _chance(usual: float, num: float, right: float) -> float:
    return (usual * _PRIOR_GUESSES + right) / (_PRIOR_GUESSES + num)


def _why(best: DrafterProspect) -> str:
    return say(
        "With {drafter}, this model should write {speedup:.1f} times as fast as without speed-up: {right:.0%} of "
        "its first guesses are right, and a guess takes {step:.1f} ms.",
        drafter=best.source.label,
        speedup=best.speedup,
        right=best.chance_first,
        step=best.step_s * 1e3,
    )


def _why_nobody(best: DrafterProspect | None) -> str:
    if best is None:
        return say("There is no drafter for this model.")
    return say(
        "No drafter pays for this model on this computer, so none is loaded. With the best one, {drafter}, the "
        "model should write {speedup:.2f} times as fast as without speed-up.",
        drafter=best.source.label,
        speedup=best.speedup,
    )
