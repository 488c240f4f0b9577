"""What the engine asks of a host of tool servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.values.errors import MendableError
from engine.values.stop_signal import StopSignal
from engine.values.tools import Outcome, Tool, ToolServer


class ServerUnusable(MendableError):
    """A server could not be started, or has ended, or does not do what it should."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    text: str
    outcome: Outcome = Outcome.DONE
    num_left_out: int = 0  # characters at the end of the text that are left out
    seconds: float = 0.0


class ToolHost(Protocol):
    """Any thread may call any method. Servers are started when they are used, and again after they have ended."""

    def use(self, servers: Sequence[ToolServer]) -> None:
        """These are there from now on; those that are gone or were changed are ended."""

    @property
    def servers(self) -> tuple[ToolServer, ...]:
        """Those that are there, whether they run or not."""

    def tools_of(self, server: str, stop: StopSignal) -> tuple[Tool, ...]:
        """What it offers. Raises ServerUnusable, and Cancelled when it is stopped."""

    def call(self, tool: Tool, arguments: str, stop: StopSignal) -> ToolAnswer:
        """Carries it out, with `arguments` as JSON. Whatever happens, the answer can be shown to the model; also that
        it was stopped."""

    def end(self, servers: Sequence[str] | None = None) -> None:
        """Ends these servers; None: all."""

    def close(self) -> None:
        """Ends everything, soon."""
