"""How many layers of a target go on the graphics cards, and what they take there.

llama.cpp puts the output there first, then the last layers and those before them; each with its part of the context.
What comes before the layers stays with the machine. Held against what llama.cpp told of the starter on a Vulkan device:
weights and context to the byte, buffers of a pass up to twice as much.
"""

from __future__ import annotations

from engine.library.architecture import Memory
from engine.messages.targets import GpuShare, GpuSupport

_SPARE_BYTES = 256 << 20  # of each card, for its driver, and
_SPARE_SHARE = 16  # this part of it, for other programs


def room_on(support: GpuSupport, leaving_bytes: int = 0) -> int:
    """Bytes that a target can have on all cards. `leaving_bytes` are those of a target that goes when it comes."""
    free = sum(max(0, device.free_memory - _SPARE_BYTES) for device in support.devices)
    total = sum(device.total_memory for device in support.devices)
    return max(0, min(free + leaving_bytes, total) - total // _SPARE_SHARE)


def share_of(
    memory: Memory, context_bytes: int, work_bytes: int, wanted: int | None, support: GpuSupport, room: int
) -> GpuShare:
    """With so many layers as are `wanted`; None: as many as there is room for."""
    if not support.devices:
        return GpuShare(support)
    all_layers = memory.num_layers + 1

    def taken(num_layers: int) -> int:
        if not num_layers:
            return 0
        in_layers = (memory.layer_bytes + context_bytes) * (num_layers - 1) // memory.num_layers
        return memory.output_bytes + in_layers + work_bytes

    if wanted is None:
        num_layers = next((count for count in range(all_layers, 0, -1) if taken(count) <= room), 0)
    else:
        num_layers = min(wanted, all_layers)
    twice = memory.output_bytes if num_layers and not memory.has_own_output else 0
    return GpuShare(support, num_layers, all_layers, taken(num_layers), room, twice)
