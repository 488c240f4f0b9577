"""Every command that can be posted."""

from __future__ import annotations

from dataclasses import is_dataclass

from engine.messages import commands
from engine.messages.commands import Command

ALL_COMMANDS = tuple(
    kind
    for kind in vars(commands).values()
    if is_dataclass(kind) and isinstance(kind, type) and issubclass(kind, Command)
)
