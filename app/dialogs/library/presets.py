"""Ways of choosing words that have a name."""

from __future__ import annotations

from engine import SamplingSettings

PRESETS: tuple[tuple[str, SamplingSettings], ...] = (
    ("Precise", SamplingSettings(temperature=0.2, top_k=20, top_p=0.9, min_p=0.1)),
    ("Balanced", SamplingSettings()),
    ("Creative", SamplingSettings(temperature=1.1, top_k=100, top_p=0.98, min_p=0.02)),
)
