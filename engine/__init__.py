"""Slipstream's engine: commands in, events out. No Qt anywhere below this folder."""

import logging
import os
from importlib import import_module
from typing import TYPE_CHECKING

# GNU OpenMP threads wait for each other by spinning, by default for milliseconds: while another program keeps the cores
# busy, a token then takes seconds (docs/decisions/0007-busy-machine.md). Read once, when its library is loaded: hence
# here.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# huggingface_hub would tell the hub which programs run here, and ask it for a list of them. Read once, as above.
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

if TYPE_CHECKING:
    from engine.assembly import (
        Engine,
        built_in_drafter,
        distill,
        download_target,
        export_profile,
        fetch_drafter,
        forget_learned,
        import_profile,
        list_hub_files,
        open_bench,
        open_library,
        open_repository,
        open_writer,
        summarize_learned,
        summarize_profile,
        use_adapter,
    )
    from engine.config import (
        STARTER,
        DistillSettings,
        EngineConfig,
        LearningSettings,
        OwnSampling,
        ReplySettings,
        SamplingSettings,
        SpeculationSettings,
        TargetOptions,
        TargetSettings,
        data_dir,
        update_url,
    )
    from engine.drafter.choice import BUILT_IN, HUB_EXAMPLES, drafter_folder, hub_name
    from engine.lab.distillation.invent_progress import InventProgress
    from engine.lab.distillation.progress import DistillProgress, Judgement, LabelProgress, TrainingProgress
    from engine.lab.measuring.costs import SimulatedCosts
    from engine.lab.measuring.order import BenchOrder
    from engine.messages.commands import (
        AddTargets,
        ChangeConversation,
        ChangeTargetOptions,
        ChatSampling,
        CheckForUpdate,
        Command,
        Compare,
        ContinueReply,
        CountTokens,
        DeleteConversation,
        DiscardDownload,
        DownloadTarget,
        EditPrompt,
        EstimateMemory,
        ExportConversations,
        ExportProfile,
        FetchDrafter,
        ForgetConversation,
        ForgetEverything,
        ForgetLearned,
        ImportConversations,
        ImportProfile,
        KeepDraft,
        ListConversations,
        ListDownloads,
        ListHubFiles,
        ListTargets,
        LoadTarget,
        OpenConversation,
        PersonalCommand,
        ReadHistory,
        ReadLearned,
        ReadRuntime,
        ReadTextFile,
        Regenerate,
        RemoveTarget,
        RenameConversation,
        ReplyCommand,
        RestoreConversation,
        SearchConversations,
        SearchHub,
        Send,
        ShowBranch,
        ShowProfile,
        UseAdapter,
        UseDrafter,
        UseLearning,
    )
    from engine.replies.reply import Reply
    from engine.services.worker import deep_thread
    from engine.stop_signal import StopSignal
    from engine.target.files import starter_path

__all__ = [
    "BUILT_IN",
    "HUB_EXAMPLES",
    "STARTER",
    "AddTargets",
    "BenchOrder",
    "ChangeConversation",
    "ChangeTargetOptions",
    "ChatSampling",
    "CheckForUpdate",
    "Command",
    "Compare",
    "ContinueReply",
    "CountTokens",
    "DeleteConversation",
    "DiscardDownload",
    "DistillProgress",
    "DistillSettings",
    "DownloadTarget",
    "EditPrompt",
    "Engine",
    "EngineConfig",
    "EstimateMemory",
    "ExportConversations",
    "ExportProfile",
    "FetchDrafter",
    "ForgetConversation",
    "ForgetEverything",
    "ForgetLearned",
    "ImportConversations",
    "ImportProfile",
    "InventProgress",
    "Judgement",
    "KeepDraft",
    "LabelProgress",
    "LearningSettings",
    "ListConversations",
    "ListDownloads",
    "ListHubFiles",
    "ListTargets",
    "LoadTarget",
    "OpenConversation",
    "OwnSampling",
    "PersonalCommand",
    "ReadHistory",
    "ReadLearned",
    "ReadRuntime",
    "ReadTextFile",
    "Regenerate",
    "RemoveTarget",
    "RenameConversation",
    "Reply",
    "ReplyCommand",
    "ReplySettings",
    "RestoreConversation",
    "SamplingSettings",
    "SearchConversations",
    "SearchHub",
    "Send",
    "ShowBranch",
    "ShowProfile",
    "SimulatedCosts",
    "SpeculationSettings",
    "StopSignal",
    "TargetOptions",
    "TargetSettings",
    "TrainingProgress",
    "UseAdapter",
    "UseDrafter",
    "UseLearning",
    "built_in_drafter",
    "data_dir",
    "deep_thread",
    "distill",
    "download_target",
    "drafter_folder",
    "export_profile",
    "fetch_drafter",
    "forget_learned",
    "hub_name",
    "import_profile",
    "list_hub_files",
    "open_bench",
    "open_library",
    "open_repository",
    "open_writer",
    "starter_path",
    "summarize_learned",
    "summarize_profile",
    "update_url",
    "use_adapter",
]

# Without a handler of its own, Python would print warnings to the terminal.
logging.getLogger("slipstream").addHandler(logging.NullHandler())

# Where names come from when they are asked for; importing all of them would take longer than showing the window does.
_HOMES = (
    "config",
    "drafter.choice",
    "stop_signal",
    "messages.commands",
    "assembly",
    "services.worker",
    "target.files",
    "replies.reply",
    "lab.distillation.progress",
    "lab.distillation.invent_progress",
    "lab.measuring.costs",
    "lab.measuring.order",
)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in __all__:
            for home in _HOMES:
                module = import_module(f"{__name__}.{home}")
                if hasattr(module, name):
                    globals()[name] = getattr(module, name)
                    return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
