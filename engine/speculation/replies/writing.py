"""What all writers of replies have in common, whether the target runs in this program or on a server."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from engine.speculation.decoding.figures import DecodingFigures
from engine.values.config import ReplySettings
from engine.values.conversations import ChatTurn
from engine.values.growing_reply import GrowingReply
from engine.values.learned import VerifiedReply
from engine.values.replies import ReplyStatistics, Thought
from engine.values.stop_signal import StopSignal
from engine.values.tools import Tool, ToolCall


@dataclass(frozen=True, slots=True)
class Reply:
    text: str  # the answer
    statistics: ReplyStatistics
    failure: Exception | None = None  # the error that ended it
    thoughts: tuple[Thought, ...] = ()
    tokens: tuple[int, ...] = ()  # the target's; without those that belong to a stop string, wholly or partly
    figures: DecodingFigures = field(default_factory=DecodingFigures)
    verified: VerifiedReply | None = None  # if the settings asked for it
    calls: tuple[ToolCall, ...] = ()
    was_sent: bool = True  # to the server that writes it; otherwise no one has seen the prompt

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.thoughts or self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a reply is to answer."""

    turns: tuple[ChatTurn, ...]
    conversation: Hashable = None
    begun: str = ""  # beginning of the reply, which continues from there
    thoughts: tuple[Thought, ...] = ()  # of that beginning
    thinks: bool | None = None  # whether the target should think, if it has a switch; None: as by default
    tools: tuple[Tool, ...] = ()  # that it may call
    keeps_all: bool = False  # no turn is left out, also where the context fills up


class Breaks(Protocol):
    """Others who need the target while a reply is being written, and go first."""

    @property
    def is_due(self) -> bool: ...
    def signal(self, stop: StopSignal) -> StopSignal:
        """Is set with `stop`, and as soon as others wait."""

    def give_way(self) -> None:
        """Returns when no one else waits. What it raises ends the reply."""


P = TypeVar("P", bound=Prepared)


class Writer(Protocol[P]):
    """Writes replies with one target. What `prepare` returns is the input of `write`, until something else is
    written."""

    @property
    def target_name(self) -> str: ...
    @property
    def sees_pictures(self) -> bool: ...
    @property
    def calls_tools(self) -> bool: ...
    @property
    def thinks_unless_told(self) -> bool | None: ...

    def prepare(
        self,
        turns: Sequence[ChatTurn],
        conversation: Hashable = None,
        begun: str = "",
        thoughts: tuple[Thought, ...] = (),
        thinks: bool | None = None,
        tools: Sequence[Tool] = (),
    ) -> P: ...

    def write(
        self, prepared: P, settings: ReplySettings, stop: StopSignal, growing: GrowingReply | None = None
    ) -> Reply:
        """Writes into `growing`. A reply that is stopped or fails is returned as far as it came, with its error."""
        ...

    def close(self) -> None: ...


AnyWriter = Writer[Any]  # for who passes on what it has prepared
