"""Every command that can be posted, and two that stand for any."""

from __future__ import annotations

from engine.values import commands
from engine.values.commands import Command


class ListThings(Command):
    pass


class OpenThing(Command):
    number: int


ALL_COMMANDS = tuple(
    kind
    for kind in vars(commands).values()
    if isinstance(kind, type) and issubclass(kind, Command) and not kind.__subclasses__()
)
