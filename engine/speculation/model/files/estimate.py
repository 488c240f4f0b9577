"""Estimates how much memory a target takes, and how many of its layers go on graphics cards.

The estimate was compared with what the process really took with the starter, at two context sizes: within 3 %
(`test_estimate.py`). llama.cpp moves the output to the cards first, then the last layers and those before them, each
with its part of the context; the embedding stays in main memory. Compared with what llama.cpp reported for the starter
on a Vulkan device: weights and context to the byte, buffers of a pass up to twice as much.
"""

from __future__ import annotations

import psutil

from engine.speculation.model.files.architecture import MemoryNeeds, num_copies
from engine.speculation.model.files.facts import TargetFacts
from engine.speculation.numerics.draft_length import MAX_LENGTH
from engine.values.config import TargetSettings
from engine.values.targets import GpuShare, GpuSupport, MemoryEstimate

_PASS_TOKENS = 512  # of one pass, and
_PASS_ROWS = 64  # rows of its logits
_FLOAT_BYTES = 4
_MASK_BYTES = 2
_TOKEN_BYTES = 400  # of the vocabulary: texts, and the tables to find them by; measured
_CPU_ONLY = GpuSupport()
_STEP = 256  # tokens; llama.cpp rounds a context up to a multiple
_SPARE_BYTES = 256 << 20  # of each card, for its driver
_MOST_PARALLEL = 512 << 20  # bytes, for sequences parallel to the chat
_PARALLEL_SHARE = 4  # a fourth of what is free
_PARALLEL_TOKENS = 64  # of one pass there
_SPARE_SHARE = 16  # a sixteenth of each card, for other programs


def context_size(facts: TargetFacts, settings: TargetSettings) -> int:
    return settings.context_for(facts.details.trained_context if facts.details else 0)


def estimate(
    facts: TargetFacts,
    settings: TargetSettings,
    support: GpuSupport = _CPU_ONLY,
    loaded: MemoryEstimate | None = None,
    reserved_bytes: int = 0,
    head: TargetFacts | None = None,
) -> MemoryEstimate:
    """The estimate. `loaded`: that of the target in use, whose memory is free when another one is loaded.
    `reserved_bytes` of the cards are left to what drafts, except where all of the target fits without that: a layer on
    the processor costs it more than a drafter there. `head`: the file of the drafter that the target brings along."""
    size = -(-context_size(facts, settings) // _STEP) * _STEP
    memory = facts.memory
    context = 0 if memory is None else memory.token_bytes * size + _states(memory, facts.stamp.size_bytes)
    work = 0 if memory is None else _work(memory, size)
    room = room_on(support, 0 if loaded is None else loaded.gpu.num_bytes)
    share = GpuShare(support, room=room)
    if memory is not None:
        share = _share_of(
            memory, context, _work_inside(memory, size), settings.gpu_layers, support, room, reserved_bytes
        )
    return MemoryEstimate(
        weights=facts.stamp.size_bytes,
        context=context,
        work=work,
        available=free_memory() + (0 if loaded is None else min(loaded.on_machine, _own_memory())),
        gpu=share,
        drafter=_drafter(facts, head, size),
    )


def _drafter(facts: TargetFacts, head: TargetFacts | None, size: int) -> int:
    """The bytes of a drafter that is brought along: of its weights, a context as long as the target's, and a pass.
    Layers of the target's own are part of its weights and context."""
    if facts.own_layers and facts.memory is not None:
        return _work_inside(facts.memory, size)
    if head is None or head.memory is None:
        return 0
    return head.stamp.size_bytes + head.memory.token_bytes * size + _work_inside(head.memory, size)


def fitting_beside(
    facts: TargetFacts, most: int, context_size: int, support: GpuSupport | None = None
) -> tuple[int, int]:
    """How many sequences, at most `most`, may be opened on a target's weights parallel to its chat, and about how many
    bytes they take: a small part of what is free. `support`: of the cards that the target is on. Zeros if nothing is
    known of the target."""
    memory = facts.memory
    if memory is None:
        return 0, 0
    each = memory.token_bytes * context_size + memory.state_bytes + memory.vocabulary_size * _FLOAT_BYTES
    work = _work_inside(memory, context_size) * _PARALLEL_TOKENS // _PASS_TOKENS
    room = free_memory() if support is None else min(free_memory(), room_on(support))
    number = max(0, min(most, (min(_MOST_PARALLEL, room // _PARALLEL_SHARE) - work) // each))
    return number, work + number * each


def free_memory() -> int:
    """The bytes that programs can still have. If the system counts pages of mapped files as free, as Linux does, they
    include the weights of the target in use."""
    return int(psutil.virtual_memory().available)


def room_on(support: GpuSupport, leaving_bytes: int = 0) -> int:
    """The bytes that a target can have on all cards. `leaving_bytes`: of the target that leaves when it is loaded."""
    free = sum(max(0, device.free_memory - _SPARE_BYTES) for device in support.devices)
    total = sum(device.total_memory for device in support.devices)
    return max(0, min(free + leaving_bytes, total) - total // _SPARE_SHARE)


def _share_of(
    memory: MemoryNeeds,
    context_bytes: int,
    work_bytes: int,
    wanted: int | None,
    support: GpuSupport,
    room: int,
    reserved: int,
) -> GpuShare:
    """The share with the `wanted` number of layers; None: as many as there is room for, with `reserved` bytes left
    unless all fit."""
    if not support.devices:
        return GpuShare(support)
    all_layers = memory.num_layers + 1

    def taken(num_layers: int) -> int:
        if not num_layers:
            return 0
        in_layers = (memory.layer_bytes + context_bytes) * (num_layers - 1) // memory.num_layers
        return memory.output_bytes + in_layers + work_bytes

    if wanted is None:
        left = room if taken(all_layers) <= room else room - reserved
        num_layers = next((count for count in range(all_layers, 0, -1) if taken(count) <= left), 0)
    else:
        num_layers = min(wanted, all_layers)
    twice = memory.output_bytes if num_layers and not memory.has_own_output else 0
    return GpuShare(support, num_layers, all_layers, taken(num_layers), room, twice)


def _states(memory: MemoryNeeds, weights_bytes: int) -> int:
    copies = num_copies(memory.state_bytes, weights_bytes, MAX_LENGTH) if memory.keeps_states else 0
    return memory.state_bytes * (1 + copies)


def _work(memory: MemoryNeeds, size: int) -> int:
    return _work_inside(memory, size) + _logits(memory) + memory.vocabulary_size * _TOKEN_BYTES


def _work_inside(memory: MemoryNeeds, size: int) -> int:
    """The bytes where it is computed; the logits are copied from there to where they are read."""
    inside = _PASS_TOKENS * (4 * memory.width + 2 * memory.inner_width) * _FLOAT_BYTES
    mask = _PASS_TOKENS * size * _MASK_BYTES
    return _logits(memory) + inside + mask


def _logits(memory: MemoryNeeds) -> int:
    return _PASS_ROWS * memory.vocabulary_size * _FLOAT_BYTES


def _own_memory() -> int:
    """Bytes that only this process has, without mapped files where the system reports them."""
    info = psutil.Process().memory_info()
    return int(max(0, info.rss - getattr(info, "shared", 0)))
