"""Checks before a target is loaded: how the user wants it, and whether there is room for it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from engine.speculation.model.files.estimate import context_size, estimate
from engine.speculation.model.files.facts import facts_of
from engine.speculation.model.files.model_files import model_name
from engine.speculation.model.llama.runtime import gpu_support
from engine.values.config import TargetOptions, TargetSettings
from engine.values.errors import TargetMissing, TargetUnusable
from engine.values.sentences import say
from engine.values.targets import GpuShare, MemoryEstimate

_CLEARLY = 1.05  # times the free memory: an estimate may be some percent too high
_GB = 1e9
_ALL_LAYERS = 1 << 16  # more than any model has


def check_memory(path: Path, settings: TargetSettings, facts: str = "", way_out: str = "") -> None:
    """Raises TargetUnusable if the target would clearly take more memory than is free besides the target in use, or
    more than the graphics cards have. A target that cannot be estimated passes: loading has the last word. `way_out`:
    what can be done, instead of what can be done about a target."""
    try:
        found = facts_of(path, facts)
    except TargetMissing:
        return
    needed = estimate(found, settings, gpu_support())
    if found.problem:
        return
    _check_cards(path, settings, needed)
    if needed.on_machine <= _CLEARLY * needed.available:
        return
    raise TargetUnusable(
        "{name} takes about {size:.1f} GB of memory with a context of {context:,} tokens, but only {free:.1f} GB "
        "are free; {way_out}.",
        name=model_name(path),
        size=needed.on_machine / _GB,
        context=context_size(found, settings),
        free=needed.available / _GB,
        way_out=way_out or _way_out(needed),
    )


def _way_out(needed: MemoryEstimate) -> str:
    fits_smaller = needed.on_machine - needed.context - needed.work < needed.available
    if fits_smaller:
        return say("choose a smaller context size or quantization, close other programs, or load it anyway")
    return say("choose a smaller quantization, close other programs, or load it anyway")


def fitted(path: Path, settings: TargetSettings, reserved_bytes: int = 0) -> TargetSettings:
    """The settings with as many layers on the graphics cards as there is room for now, unless the user set a number.
    `reserved_bytes`: as for `estimate`."""
    share = None if settings.gpu_layers is not None else _share(path, settings, reserved_bytes)
    return settings if share is None else replace(settings, gpu_layers=share.num_layers)


def fitted_whole(path: Path, settings: TargetSettings) -> TargetSettings:
    """The settings with all layers on the graphics cards, or none: between two devices, a step of a small model takes
    longer than on either."""
    share = _share(path, settings)
    if share is None:
        return settings
    return replace(settings, gpu_layers=share.num_layers if share.num_layers == share.all_layers else 0)


def bytes_on_cards(path: Path, settings: TargetSettings) -> int:
    """What the whole model would take of the graphics cards; 0 where there are none, or nothing is known of it."""
    share = _share(path, replace(settings, gpu_layers=_ALL_LAYERS))
    return 0 if share is None else share.num_bytes


def _share(path: Path, settings: TargetSettings, reserved_bytes: int = 0) -> GpuShare | None:
    """None: there are no cards, or nothing is known of the model."""
    if (support := gpu_support()).devices:
        with suppress(TargetMissing):
            found = facts_of(path)
            if found.memory is not None:
                return estimate(found, settings, support, reserved_bytes=reserved_bytes).gpu
    return None


def _check_cards(path: Path, settings: TargetSettings, needed: MemoryEstimate) -> None:
    """Checks the user's number of layers, which may take more than the cards have, even when nothing else is on
    them."""
    gpu = needed.gpu
    total = sum(device.total_memory for device in gpu.support.devices)
    if settings.gpu_layers is None or gpu.num_bytes <= total:
        return
    raise TargetUnusable(
        "{layers} layers of {name} take about {size:.1f} GB on {card}, which has {total:.1f} GB; choose fewer GPU "
        "layers for it, or set them to automatic.",
        layers=gpu.num_layers,
        name=model_name(path),
        size=gpu.num_bytes / _GB,
        card=gpu.support.description,
        total=total / _GB,
    )


def effective_system_prompt(usual: str, options: TargetOptions) -> str:
    """The system prompt of a new conversation: the one set for its target, even an empty one, else the one for all."""
    return usual if options.system_prompt is None else options.system_prompt
