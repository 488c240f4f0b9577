"""The last fact of each lasting state of the engine: a window that is made again hears them again."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from engine.values.events import (
    DeletedErased,
    DrafterChosen,
    Event,
    EverythingForgotten,
    FoldersListed,
    LearningChanged,
    PresetsListed,
    ServersListed,
    SpeculationChanged,
    StoreBehind,
    TargetReady,
    TargetRefused,
    TargetsListed,
    ToolServerChanged,
    ToolsListed,
)

_HOLDING = (  # the last one of each
    *(TargetReady, TargetRefused, SpeculationChanged, DrafterChosen, LearningChanged, StoreBehind, DeletedErased),
    *(TargetsListed, ServersListed, FoldersListed, PresetsListed),
)
_WRITTEN = (FoldersListed, PresetsListed, StoreBehind, TargetsListed)  # by the user


class LastingFacts:
    """The last facts of each kind, in the order in which they came."""

    def __init__(self) -> None:
        self._told: dict[Hashable, Event] = {}

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(self._told.values())

    def note(self, event: Event) -> None:
        if isinstance(event, EverythingForgotten):
            self._told = {key: each for key, each in self._told.items() if not isinstance(each, _WRITTEN)}
        key = _key(event)
        if key is not None:
            self._told.pop(key, None)
            self._told[key] = _without_news(event)


def _key(event: Event) -> Hashable:
    """The same for an event and those that it takes the place of; None for what does not last."""
    match event:
        case ToolServerChanged(server) | ToolsListed(server):
            return type(event).__name__, server
        case _:
            return type(event).__name__ if isinstance(event, _HOLDING) else None


def _without_news(event: Event) -> Event:
    """What concerned that moment alone is not said again."""
    match event:
        case TargetReady(target):
            return replace(event, target=replace(target, notice=""))
    return event
