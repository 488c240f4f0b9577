"""How much memory a target is going to take.

Held against what the process really took with the starter, at two sizes of the context: within 3 %
(tests/unit/engine/library/test_estimate.py).
"""

from __future__ import annotations

import psutil

from engine.config import TargetSettings
from engine.library.architecture import Memory
from engine.library.facts import TargetFacts
from engine.library.gpu_layers import room_on, share_of
from engine.messages.targets import GpuShare, GpuSupport, MemoryEstimate

_PASS_TOKENS = 512  # of one pass, and
_PASS_ROWS = 64  # of its logits, likewise
_FLOAT_BYTES = 4
_MASK_BYTES = 2
_TOKEN_BYTES = 400  # of the vocabulary: texts, and the tables to find them by; measured
_CPU_ONLY = GpuSupport()
_STEP = 256  # tokens, that llama.cpp rounds a context up to


def context_size(facts: TargetFacts, settings: TargetSettings) -> int:
    """Tokens, as loading would choose."""
    return settings.context_for(facts.details.trained_context if facts.details else 0)


def estimate(
    facts: TargetFacts,
    settings: TargetSettings,
    support: GpuSupport = _CPU_ONLY,
    loaded: MemoryEstimate | None = None,
) -> MemoryEstimate:
    """`loaded`: what the target in use was estimated at, which goes when another one is loaded."""
    size = -(-context_size(facts, settings) // _STEP) * _STEP
    memory = facts.memory
    context = 0 if memory is None else memory.token_bytes * size + memory.state_bytes
    work = 0 if memory is None else _work(memory, size)
    room = room_on(support, 0 if loaded is None else loaded.gpu.num_bytes)
    share = GpuShare(support, room=room)
    if memory is not None:
        share = share_of(memory, context, _work_inside(memory, size), settings.gpu_layers, support, room)
    return MemoryEstimate(
        weights=facts.stamp.size_bytes,
        context=context,
        work=work,
        available=free_memory() + (0 if loaded is None else min(loaded.on_machine, _own_memory())),
        gpu=share,
    )


def free_memory() -> int:
    """Bytes that programs can still have. Where the system counts pages of files that are mapped as free, as Linux
    does, the weights of the target in use are among them."""
    return int(psutil.virtual_memory().available)


def _work(memory: Memory, size: int) -> int:
    return _work_inside(memory, size) + _logits(memory) + memory.vocabulary_size * _TOKEN_BYTES


def _work_inside(memory: Memory, size: int) -> int:
    """Where it is computed; the logits are copied from there to where they are read."""
    inside = _PASS_TOKENS * (4 * memory.width + 2 * memory.inner_width) * _FLOAT_BYTES
    mask = _PASS_TOKENS * size * _MASK_BYTES
    return _logits(memory) + inside + mask


def _logits(memory: Memory) -> int:
    return _PASS_ROWS * memory.vocabulary_size * _FLOAT_BYTES


def _own_memory() -> int:
    """Bytes that this process alone holds; what it maps from files is not among them where the system tells."""
    info = psutil.Process().memory_info()
    return int(max(0, info.rss - getattr(info, "shared", 0)))
