"""What a measurement is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.config import ReplySettings, SamplingSettings, SpeculationSettings
from engine.errors import SettingInvalid
from engine.lab.measuring.costs import SimulatedCosts
from engine.numerics.draft_length import MAX_LENGTH

PLAIN = "plain"
AUTO = "auto"  # as the app does
ALWAYS_DRAFTING = "neural"  # the drafter drafts in every round, however it fares
RECALL = "recall"  # recall alone, where it pays
MODES = (PLAIN, AUTO, ALWAYS_DRAFTING, RECALL)
TRACE = "trace:"  # a target's name that begins so is the vocabulary in which recorded replies are replayed


@dataclass(frozen=True, slots=True)
class BenchOrder:
    """Raises SettingInvalid for what cannot be done."""

    target: str
    prompts: Path
    limit: int | None = None  # chats of the file; None = all
    modes: tuple[str, ...] = (PLAIN, AUTO)
    max_tokens: int = 128  # of a reply
    draft_length: int | None = None  # of every draft where the drafter always drafts; None = what pays best
    temperature: float = 0.0
    seed: int = 0
    speculation: SpeculationSettings = SpeculationSettings()
    costs: SimulatedCosts = SimulatedCosts()  # for recorded replies
    learns: bool = False  # whether a chat is remembered in those after it, as the app remembers a user's chats
    window: int | None = None  # replies of a stretch whose figures are told apart; None = only all together
    profile: Path | None = None  # what was learned before; None: nothing
    shift: Path | None = None  # prompts of another kind, that are asked after the others; as many of them at most

    def __post_init__(self) -> None:
        for mode in self.modes:
            if mode not in MODES:
                raise SettingInvalid(f"There is no mode “{mode}”; choose from {', '.join(MODES)}.")
        if not self.modes or len(set(self.modes)) < len(self.modes):
            raise SettingInvalid(f"Name each mode once; choose from {', '.join(MODES)}.")
        if self.draft_length is not None and not 1 <= self.draft_length <= MAX_LENGTH:
            raise SettingInvalid(f"The draft length is {self.draft_length}; choose 1 to {MAX_LENGTH} tokens.")
        if self.limit is not None and self.limit < 1:
            raise SettingInvalid(f"The limit is {self.limit}; choose 1 or more prompts.")
        if self.window is not None and self.window < 1:
            raise SettingInvalid(f"The window is {self.window}; choose 1 or more replies.")
        _ = self.reply_settings  # checks what it is made of

    @property
    def vocabulary(self) -> Path | None:
        """Of recorded replies, where the target is one that replays them."""
        return Path(self.target.removeprefix(TRACE)).expanduser() if self.target.startswith(TRACE) else None

    @property
    def reply_settings(self) -> ReplySettings:
        return ReplySettings(SamplingSettings(temperature=self.temperature, seed=self.seed), self.max_tokens)
