"""Slipstream's engine: commands in, events out. No Qt anywhere below this folder."""

import logging
import os

# GNU OpenMP threads wait for each other by spinning, by default for milliseconds: while another program keeps the cores
# busy, a token then takes seconds (docs/decisions/0007-busy-machine.md). Read once, when its library is loaded: hence
# here.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

from engine.assembly import Engine, distill, open_bench, open_repository, open_writer
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
    DistillSettings,
    EngineConfig,
    ReplySettings,
    SamplingSettings,
    SpeculationSettings,
    TargetSettings,
    data_dir,
)
from engine.learning.progress import TrainingProgress
from engine.measuring.costs import SimulatedCosts
from engine.measuring.order import BenchOrder
from engine.stop_signal import StopSignal
from engine.targets import starter_path
from engine.worker import deep_thread

__all__ = [
    "STARTER",
    "BenchOrder",
    "Command",
    "DeleteConversation",
    "DistillSettings",
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
    "SimulatedCosts",
    "SpeculationSettings",
    "StopSignal",
    "TargetSettings",
    "TrainingProgress",
    "data_dir",
    "deep_thread",
    "distill",
    "open_bench",
    "open_repository",
    "open_writer",
    "starter_path",
]

# Without a handler of its own, Python would print warnings to the terminal.
logging.getLogger("slipstream").addHandler(logging.NullHandler())
