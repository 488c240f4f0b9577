"""Commands that stand for any."""

from __future__ import annotations

from engine.values.commands import Command


class ListThings(Command):
    pass


class OpenThing(Command):
    number: int
