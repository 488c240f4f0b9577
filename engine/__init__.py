"""Slipstream's engine: commands in, events out. No Qt anywhere below this folder."""

import logging
import os

# GNU OpenMP threads wait for each other by spinning, by default for milliseconds: while another program keeps the cores
# busy, a token then takes seconds (docs/decisions/0007-busy-machine.md). Read once, when its library is loaded: hence
# here.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# huggingface_hub would tell the hub which programs run here, and ask it for a list of them. Read once, as above.
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

from engine.assembly import (
    Engine,
    built_in_drafter,
    distill,
    export_profile,
    fetch_drafter,
    forget_learned,
    import_profile,
    open_bench,
    open_repository,
    open_writer,
    summarize_learned,
    summarize_profile,
    use_adapter,
)
from engine.commands import (
    Command,
    DeleteConversation,
    ExportProfile,
    FetchDrafter,
    ForgetEverything,
    ForgetLearned,
    ImportProfile,
    ListConversations,
    LoadTarget,
    OpenConversation,
    PersonalCommand,
    ReadLearned,
    Regenerate,
    RenameConversation,
    RestoreConversation,
    Send,
    ShowProfile,
    UseAdapter,
    UseDrafter,
    UseLearning,
)
from engine.config import (
    STARTER,
    DistillSettings,
    EngineConfig,
    LearningSettings,
    ReplySettings,
    SamplingSettings,
    SpeculationSettings,
    TargetSettings,
    data_dir,
)
from engine.drafter_choice import BUILT_IN, HUB_EXAMPLES, drafter_folder, hub_name
from engine.learning.invent_progress import InventProgress
from engine.learning.progress import DistillProgress, Judgement, LabelProgress, TrainingProgress
from engine.measuring.costs import SimulatedCosts
from engine.measuring.order import BenchOrder
from engine.stop_signal import StopSignal
from engine.targets import starter_path
from engine.worker import deep_thread

__all__ = [
    "BUILT_IN",
    "HUB_EXAMPLES",
    "STARTER",
    "BenchOrder",
    "Command",
    "DeleteConversation",
    "DistillProgress",
    "DistillSettings",
    "Engine",
    "EngineConfig",
    "ExportProfile",
    "FetchDrafter",
    "ForgetEverything",
    "ForgetLearned",
    "ImportProfile",
    "InventProgress",
    "Judgement",
    "LabelProgress",
    "LearningSettings",
    "ListConversations",
    "LoadTarget",
    "OpenConversation",
    "PersonalCommand",
    "ReadLearned",
    "Regenerate",
    "RenameConversation",
    "ReplySettings",
    "RestoreConversation",
    "SamplingSettings",
    "Send",
    "ShowProfile",
    "SimulatedCosts",
    "SpeculationSettings",
    "StopSignal",
    "TargetSettings",
    "TrainingProgress",
    "UseAdapter",
    "UseDrafter",
    "UseLearning",
    "built_in_drafter",
    "data_dir",
    "deep_thread",
    "distill",
    "drafter_folder",
    "export_profile",
    "fetch_drafter",
    "forget_learned",
    "hub_name",
    "import_profile",
    "open_bench",
    "open_repository",
    "open_writer",
    "starter_path",
    "summarize_learned",
    "summarize_profile",
    "use_adapter",
]

# Without a handler of its own, Python would print warnings to the terminal.
logging.getLogger("slipstream").addHandler(logging.NullHandler())
