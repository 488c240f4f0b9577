"""The order for a measurement, and what passes cost of a model that cannot be run here."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from engine.speculation.drafter.choice import BUILT_IN
from engine.speculation.numerics.draft_length import USUAL_LENGTH
from engine.speculation.proposers.catalogue import DRAFTER, HEADS, LOOKAHEAD, SUPPLIED, origins
from engine.values.config import ReplySettings, SamplingSettings, SpeculationSettings
from engine.values.drafters import DrafterRunner, DrafterSource
from engine.values.errors import SettingInvalid
from engine.values.places import expanded

PASS_S = 0.03  # of one pass over one row, as of an 8B model on a good machine; ratios do not depend on it
MEASURED = "measured"
_READ_SHARE = 0.1  # of a drafter's step, for reading one of many tokens, as llama.cpp does
_OTHER_NAMES = {"26M": BUILT_IN}


@dataclass(frozen=True, slots=True)
class SimulatedCosts:
    """Costs as multiples of one pass of the target over one row."""

    step: float | None = 0.075  # of one pass of a drafter; None: what it really takes on this machine
    passes: tuple[float, ...] = (1.0,)  # of a pass over 1, 2, … rows; the last one stands for all longer ones
    steps: tuple[tuple[str, float | None], ...] = ()  # of drafters that have one of their own, by name

    def __post_init__(self) -> None:
        for step in (self.step, *dict(self.steps).values()):
            if step is not None and not (math.isfinite(step) and step >= 0):
                raise SettingInvalid(f"The drafter's cost is {step:g}; choose 0 or more.")
        if not self.passes or not all(math.isfinite(cost) and cost > 0 for cost in self.passes):
            raise SettingInvalid("A pass cost is not above 0; write costs like 1,1.05,1.2.")

    @classmethod
    def parse(cls, step: str, passes: str) -> SimulatedCosts:
        """Parses costs with commas between them; `step` is one for all drafters, or `name=cost` for some. Raises
        SettingInvalid."""
        try:
            costs = tuple(float(cost) for cost in passes.split(","))
        except ValueError as error:
            raise SettingInvalid(f"“{passes}” is no list of pass costs; write them like 1,1.05,1.2.") from error
        try:
            named = [_named_step(part) for part in step.split(",")]
        except ValueError as error:
            raise SettingInvalid(
                f"“{step}” is no cost of a drafter; write one like 0.075, {MEASURED}, or built-in=0.01,starter=0.05."
            ) from error
        usual = [cost for name, cost in named if not name]
        if len(usual) > 1:
            raise SettingInvalid("The cost of a drafter is given twice; write one for all, and others as name=cost.")
        return cls(usual[0] if usual else cls().step, costs, tuple(each for each in named if each[0]))

    def of_drafter(self, drafter: DrafterSource) -> SimulatedCosts:
        names = (drafter.key, drafter.name, drafter.path.stem)
        return replace(self, step=next((cost for name, cost in self.steps if name in names), self.step), steps=())

    def pass_s(self, num_rows: int) -> float:
        return PASS_S * self.passes[min(num_rows, len(self.passes)) - 1]

    def target_s(self, passes: Counter[int]) -> float:
        """`passes`: rows of a pass -> how many such passes."""
        return sum(self.pass_s(num_rows) * count for num_rows, count in passes.items())

    @property
    def step_s(self) -> float | None:
        """Seconds of one pass of a drafter; None: as measured."""
        return None if self.step is None else PASS_S * self.step

    def draft_s(self, num_steps: int, measured_s: float) -> float:
        return measured_s if self.step_s is None else self.step_s * num_steps

    def reading_s(self, num_tokens: int, measured_s: float) -> float:
        """The seconds of the drafter over many tokens at once."""
        return measured_s if self.step_s is None else self.step_s * _READ_SHARE * num_tokens


def _named_step(text: str) -> tuple[str, float | None]:
    """The name and cost; no name if there is only a cost. Raises ValueError."""
    name, _, cost = text.rpartition("=")
    name, cost = name.strip(), cost.strip()
    return _OTHER_NAMES.get(name, name), None if cost == MEASURED else float(cost)


@dataclass(frozen=True, slots=True)
class Way:
    """A way of decoding, which a mode is the name of."""

    drafts: bool = True
    alone: str = ""  # the key of the origin of the only proposer; empty: all of them …
    without: str = ""  # … but the one of this origin
    always: bool = False  # whether that one drafts in every round, however it fares
    branches: bool = True  # whether drafts may branch, if that pays
    copies: bool = False  # whether a copy of the target with fewer layers drafts
    is_brought: bool = False  # whether it is the drafter that was made for the target

    def supplied_by(self, runner: DrafterRunner) -> bool:
        """True if drafters that run so draft in this way, where one must."""
        if self.is_brought or runner is DrafterRunner.BROUGHT:
            return self.is_brought and runner is DrafterRunner.BROUGHT
        return (runner is DrafterRunner.HEADS) is (self.alone == HEADS.key)


PLAIN = "plain"
PLAIN_AGAIN = "plain-2"  # shows how far the machine's noise drives ratios of the same from 1
AUTO = "auto"  # as the app does
CHAIN = "chain"
SELF = "self"
ALWAYS_DRAFTING = "neural"
_SUPPLIED = {listed.origin.key for listed in SUPPLIED}
WAYS = {
    PLAIN: Way(drafts=False),
    AUTO: Way(),
    CHAIN: Way(branches=False),
    f"{AUTO}-without-{LOOKAHEAD.key}": Way(without=LOOKAHEAD.key),
    ALWAYS_DRAFTING: Way(alone=DRAFTER.key, always=True, branches=False),
    "tree": Way(alone=DRAFTER.key, always=True),
    "medusa": Way(alone=HEADS.key, always=True, branches=False),
    "medusa-tree": Way(alone=HEADS.key, always=True),
    "brought": Way(alone=HEADS.key, always=True, branches=False, is_brought=True),
    SELF: Way(alone=DRAFTER.key, always=True, copies=True),
    **{origin.key: Way(alone=origin.key) for origin in origins() if origin.key not in _SUPPLIED},
    PLAIN_AGAIN: Way(drafts=False),
}
_OFFERED = tuple(mode for mode in WAYS if mode != PLAIN_AGAIN)
TRACE = "trace:"  # a target's name that begins so is the vocabulary in which recorded replies are replayed


@dataclass(frozen=True, slots=True)
class BenchOrder:
    """Raises SettingInvalid for what cannot be done."""

    target: str
    prompts: Path
    limit: int | None = None  # chats of the file; None = all
    modes: tuple[str, ...] = (PLAIN, AUTO)
    max_tokens: int = 128  # of a reply
    draft_length: int | None = None  # of every draft if the drafter always drafts; None = what pays best
    temperature: float = 0.0
    seed: int = 0
    speculation: SpeculationSettings = SpeculationSettings()
    costs: SimulatedCosts = SimulatedCosts()  # where seconds are computed from them
    teaches: bool = False  # whether drafters that can learn are taught between two replies
    remembers: bool = False  # whether a chat is recalled in those after it, as the app recalls a user's chats
    window: int | None = None  # replies of a stretch whose figures are told apart; None = only all together
    profile: Path | None = None  # what was learned before; None: nothing
    shift: Path | None = None  # prompts of another kind, that are asked after the others; as many of them at most
    body: Path | None = None  # a model whose passes are timed in place of the target's; None: the target's own
    counts: bool = False  # whether seconds are computed from `costs` though the target is a model

    def __post_init__(self) -> None:
        for mode in self.modes:
            if mode not in WAYS:
                raise SettingInvalid(f"There is no mode “{mode}”; choose from {', '.join(_OFFERED)}.")
        if not self.modes or len(set(self.modes)) < len(self.modes):
            raise SettingInvalid(f"Name each mode once; choose from {', '.join(_OFFERED)}.")
        if self.draft_length is not None and not 1 <= self.draft_length <= USUAL_LENGTH:
            raise SettingInvalid(f"The draft length is {self.draft_length}; choose 1 to {USUAL_LENGTH} tokens.")
        if self.limit is not None and self.limit < 1:
            raise SettingInvalid(f"The limit is {self.limit}; choose 1 or more prompts.")
        if self.window is not None and self.window < 1:
            raise SettingInvalid(f"The window is {self.window}; choose 1 or more replies.")
        _ = self.reply_settings  # checks what it is made of

    @staticmethod
    def parse_modes(names: str) -> tuple[str, ...]:
        """Parses names with commas between them; `plain` twice is plain and `plain-2`."""
        modes: list[str] = []
        for name in map(str.strip, names.split(",")):
            modes.append(PLAIN_AGAIN if name == PLAIN and PLAIN in modes else name)
        return tuple(modes)

    @property
    def vocabulary(self) -> Path | None:
        """The vocabulary of recorded replies, if the target is one that replays them."""
        return expanded(self.target.removeprefix(TRACE)) if self.target.startswith(TRACE) else None

    @property
    def is_simulated(self) -> bool:
        """True if seconds are computed from counts: for recorded replies, and if that is asked for."""
        return self.body is None and (self.counts or self.vocabulary is not None)

    @property
    def reply_settings(self) -> ReplySettings:
        return ReplySettings(SamplingSettings(temperature=self.temperature, seed=self.seed), self.max_tokens)
