"""Pictures as a conversation holds them."""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO

import numpy as np
from PIL import Image

from engine.messages.pictures import Picture


def noise(seed: int = 1, width: int = 64, height: int = 48) -> Picture:
    """The same pixels for the same arguments."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    data = BytesIO()
    Image.fromarray(pixels).save(data, "PNG", compress_level=1)
    return Picture(sha256(data.getvalue()).hexdigest(), data.getvalue(), width, height)
