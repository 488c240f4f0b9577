"""Pictures that a prompt can hold."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_SIDE = 2048  # pixels; a larger one is made smaller when it is read, as no target looks closer
MOST_BYTES = 2**24  # of its data: as many as that many pixels take, and a little more


@dataclass(frozen=True, slots=True)
class Picture:
    """Upright, without transparency or any word of where and when it was taken, as its conversation holds it."""

    digest: str  # SHA-256 of its data, in hex
    data: bytes = field(compare=False, repr=False)  # a PNG or JPEG file
    width: int  # pixels
    height: int
