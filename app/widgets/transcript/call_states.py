"""How far the calls of the reply under way have come, whichever chat is shown."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.text.tool_calls import CallBlock, CallPhase
from engine.values.conversations import Message

if TYPE_CHECKING:  # not before the window is there
    from engine.values.events import ToolAsked


class CallStates(QObject):
    """Calls by their ids, which no two share. A call that is not known here has its result, or never got one.

    Signals:
        changed(str): another phase of the call with this id.
        answered(str, object): the user has answered the question for a call; a `Permission`.
    """

    changed = Signal(str)
    answered = Signal(str, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._phases: dict[str, tuple[CallPhase, ToolAsked | None, float]] = {}  # the last: since when

    @property
    def asked(self) -> str | None:
        """The call that waits for the user."""
        return next((number for number, (phase, *_) in self._phases.items() if phase is CallPhase.ASKED), None)

    def set_phase(self, call_id: str, phase: CallPhase, asked: ToolAsked | None = None) -> None:
        """`asked`: what the user is asked for."""
        self._phases[call_id] = phase, asked, monotonic()
        self.changed.emit(call_id)

    def forget(self, call_id: str) -> None:
        """It has its result."""
        if self._phases.pop(call_id, None) is not None:
            self.changed.emit(call_id)

    def clear(self) -> None:
        """The reply has ended: nobody waits for any of them."""
        for call_id in [*self._phases]:
            self.forget(call_id)

    def applied(self, block: CallBlock, result: Message | None, is_open: bool) -> CallBlock:
        """The block as it is now."""
        if result is not None and result.result is not None:
            came = result.result
            ended = (came.outcome, came.seconds, result.text)
            return CallBlock(block.call, CallPhase.ENDED, None, *ended, is_open=is_open)
        phase, asked, since_s = self._phases.get(block.call.id, (CallPhase.LEFT, None, 0.0))
        return replace(block, phase=phase, asked=asked, since_s=since_s, is_open=is_open)
