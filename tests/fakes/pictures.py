"""Pictures as conversations hold them."""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO

import numpy as np
from PIL import Image

from engine.values.pictures import Picture


def noise(seed: int = 1, width: int = 64, height: int = 48) -> Picture:
    """The same pixels for the same arguments."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return _kept(Image.fromarray(pixels))


def made_picture(width: int, height: int, colour: str = "red") -> Picture:
    return _kept(Image.new("RGB", (width, height), colour))


def _kept(image: Image.Image) -> Picture:
    data = BytesIO()
    image.save(data, "PNG", compress_level=1)
    return Picture(sha256(data.getvalue()).hexdigest(), data.getvalue(), image.width, image.height)
