"""What is looked at before a target is loaded: how the user wants it, and whether there is room for it."""

from __future__ import annotations

from pathlib import Path

from engine.config import SamplingSettings, TargetOptions, TargetSettings
from engine.errors import TargetMissing, TargetTooLarge
from engine.library.estimate import context_size, estimate
from engine.library.facts import facts_of
from engine.model_files import model_name
from engine.target.llama_cpp import computes_elsewhere

_CLEARLY = 1.05  # times what is free: an estimate may be some percent too high
_GIB = 2**30


def check_memory(path: Path, settings: TargetSettings, facts: str = "") -> None:
    """Raises TargetTooLarge where the target would clearly take more than is free while the one in use is there too.

    What cannot be estimated passes, as does all where a GPU may hold it: loading has the last word.
    """
    if computes_elsewhere():
        return
    try:
        found = facts_of(path, facts)
    except TargetMissing:
        return
    needed = estimate(found, settings)
    if found.problem or needed.total <= _CLEARLY * needed.available:
        return
    fits_smaller = needed.weights < needed.available
    way_out = "a smaller context size or quantization" if fits_smaller else "a smaller quantization"
    raise TargetTooLarge(
        f"{model_name(path)} with a context of {context_size(found, settings):,} tokens takes about "
        f"{needed.total / _GIB:.1f} GiB of memory, but {needed.available / _GIB:.1f} GiB are free; choose {way_out}, "
        "close other programs, or load it anyway."
    )


def effective_sampling(
    usual: SamplingSettings, target: SamplingSettings | None, conversation: SamplingSettings | None = None
) -> SamplingSettings:
    """The nearest to the reply counts: what was set for its conversation, else for its target, else for all."""
    return conversation or target or usual


def effective_system_prompt(usual: str, options: TargetOptions) -> str:
    """Of a new conversation: what was set for its target, also if that is nothing, else for all."""
    return usual if options.system_prompt is None else options.system_prompt
