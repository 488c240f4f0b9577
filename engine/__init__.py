"""Slipstream's engine: commands in, events out. No Qt anywhere below this folder."""

import logging

from engine.assembly import Engine, open_repository, open_writer
from engine.commands import (
    Command,
    DeleteConversation,
    ListConversations,
    LoadTarget,
    OpenConversation,
    Regenerate,
    RenameConversation,
    RestoreConversation,
    Send,
)
from engine.config import (
    STARTER,
    EngineConfig,
    ReplySettings,
    SamplingSettings,
    TargetSettings,
    data_dir,
)
from engine.stop_signal import StopSignal
from engine.targets import starter_path

__all__ = [
    "STARTER",
    "Command",
    "DeleteConversation",
    "Engine",
    "EngineConfig",
    "ListConversations",
    "LoadTarget",
    "OpenConversation",
    "Regenerate",
    "RenameConversation",
    "ReplySettings",
    "RestoreConversation",
    "SamplingSettings",
    "Send",
    "StopSignal",
    "TargetSettings",
    "data_dir",
    "open_repository",
    "open_writer",
    "starter_path",
]

# Without a handler of its own, Python would print warnings to the terminal.
logging.getLogger("slipstream").addHandler(logging.NullHandler())
