"""Slipstream's engine: commands in, events out. No Qt anywhere below this folder."""
# ruff: noqa: F403

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

# Without a handler of its own, Python would print warnings to the terminal.
logging.getLogger("slipstream").addHandler(logging.NullHandler())

# The public names, by the module that each comes from when somebody first uses it: importing all of them would take
# longer than showing the window does.
_PUBLIC = {
    "config": """
        AUTOMATIC STARTER DistillSettings EngineConfig LearningSettings OwnSampling ReadingSettings ReplySettings
        SamplingSettings SpeculationSettings TargetOptions TargetSettings data_dir update_url
    """,
    "drafter.choice": "BUILT_IN HUB_EXAMPLES STARTER_TORCH built_in_drafter drafter_source hub_name",
    "drafter.heads_folder": "heads_folder",
    "factory": "open_repository open_servers saved_downloads",
    "lab.distillation.progress": "DistillProgress InventProgress Judgement LabelProgress TrainingProgress",
    "lab.measuring.order": "BenchOrder SimulatedCosts",
    "library.siblings": "sibling_beside",
    "messages.commands": """
        Command ContinueReply EditPrompt ExportProfile ForgetEverything ForgetLearned ImportProfile PersonalCommand
        ReadLearned Regenerate ReplyCommand Send ShowProfile UseAdapter
    """,
    "messages.exports": "ExportEngine ExportOrder",
    "messages.serving": "Client ServerLimits ServerSettings",
    "proposers.catalogue": "origins",
    "remote.keys": "key_of_environment",
    "replies.writing": "Reply",
    "server.clients": "Clients",
    "services.hub_service": "HubService",
    "services.tuning_service": "TuningService",
    "services.worker": "deep_thread",
    "stop_signal": "StopSignal",
    "target.build": "check_build",
    "target.sources": "starter_path",
    "threads": "Engine",
    "tools.keys": "has_keys",
    "tools.servers": "read_tool_servers write_tool_servers",
    "use_cases.chat": "open_writer read_prompt",
    "use_cases.lab": "distill export_drafter open_bench",
    "use_cases.remote": "certificate_of look_at_server",
    "use_cases.serving": "checked_embedder serving",
    "use_cases.store": """
        export_profile fetch_drafter fetch_model forget_learned import_profile open_library open_tuning
        summarize_learned summarize_profile use_adapter
    """,
    "use_cases.tools": "ToolDesk answer list_tools open_tool_host",
}

if TYPE_CHECKING:  # the same modules for mypy, which finds more in them than is public
    from engine.config import *
    from engine.drafter.choice import *
    from engine.drafter.heads_folder import *
    from engine.factory import *
    from engine.lab.distillation.progress import *
    from engine.lab.measuring.order import *
    from engine.library.siblings import *
    from engine.messages.commands import *
    from engine.messages.exports import *
    from engine.messages.serving import *
    from engine.proposers.catalogue import *
    from engine.remote.keys import *
    from engine.replies.writing import *
    from engine.server.clients import *
    from engine.services.hub_service import *
    from engine.services.tuning_service import *
    from engine.services.worker import *
    from engine.stop_signal import *
    from engine.target.build import *
    from engine.target.sources import *
    from engine.threads import *
    from engine.tools.keys import *
    from engine.tools.servers import *
    from engine.use_cases.chat import *
    from engine.use_cases.lab import *
    from engine.use_cases.remote import *
    from engine.use_cases.serving import *
    from engine.use_cases.store import *
    from engine.use_cases.tools import *
else:
    _HOMES = {name: home for home, names in _PUBLIC.items() for name in names.split()}
    __all__ = [*_HOMES]  # noqa: PLE0604

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return value
