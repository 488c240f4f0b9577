"""Slipstream's engine: requests in, answers and facts out. No Qt anywhere below this folder."""
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
    "values.config": """
        AUTOMATIC STARTER EngineConfig LearningSettings OwnSampling PromptCacheSettings ReplySettings
        SamplingSettings SpeculationSettings TargetOptions TargetSettings data_dir
    """,
    "values.distilling": "DistillSettings",
    "values.places": "update_url",
    "speculation.drafter.choice": "BUILT_IN HUB_EXAMPLES STARTER_TORCH built_in_drafter drafter_source hub_name",
    "speculation.drafter.heads_folder": "heads_folder",
    "opening": "open_repository open_servers saved_downloads",
    "lab.distillation.progress": "DistillProgress InventProgress Judgement LabelProgress TrainingProgress",
    "lab.measuring.order": "BenchOrder SimulatedCosts",
    "speculation.drafter.siblings": "sibling_beside",
    "values.exports": "ExportEngine ExportOrder",
    "values.serving": "ANY_FILE Client ServerLimits ServerSettings",
    "speculation.proposers.catalogue": "origins",
    "backend.remote.keys": "key_of_environment",
    "speculation.replies.writing": "Reply",
    "backend.server.clients": "Clients",
    "backend.hub.hub_service": "HubService",
    "backend.library.tuning.tuning_service": "TuningService",
    "backend.worker": "deep_thread",
    "values.stop_signal": "StopSignal",
    "speculation.model.llama.build": "check_build",
    "speculation.model.files.sources": "starter_path",
    "threads": "Engine",
    "backend.tools.keys": "has_keys",
    "backend.tools.servers": "read_tool_servers write_tool_servers",
    "use_cases.chat": "notice_of open_writer read_prompt",
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
    from engine.backend.hub.hub_service import *
    from engine.backend.library.tuning.tuning_service import *
    from engine.backend.remote.keys import *
    from engine.backend.server.clients import *
    from engine.backend.tools.keys import *
    from engine.backend.tools.servers import *
    from engine.backend.worker import *
    from engine.lab.distillation.progress import *
    from engine.lab.measuring.order import *
    from engine.opening import *
    from engine.speculation.drafter.choice import *
    from engine.speculation.drafter.heads_folder import *
    from engine.speculation.drafter.siblings import *
    from engine.speculation.model.files.sources import *
    from engine.speculation.model.llama.build import *
    from engine.speculation.proposers.catalogue import *
    from engine.speculation.replies.writing import *
    from engine.threads import *
    from engine.use_cases.chat import *
    from engine.use_cases.lab import *
    from engine.use_cases.remote import *
    from engine.use_cases.serving import *
    from engine.use_cases.store import *
    from engine.use_cases.tools import *
    from engine.values.config import *
    from engine.values.distilling import *
    from engine.values.exports import *
    from engine.values.places import *
    from engine.values.serving import *
    from engine.values.stop_signal import *
else:
    _HOMES = {name: home for home, names in _PUBLIC.items() for name in names.split()}
    __all__ = [*_HOMES]  # noqa: PLE0604

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return value
