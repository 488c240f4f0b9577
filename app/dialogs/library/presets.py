"""Ways of choosing words that have a name; it is translated where it is shown, in the context "Sampling"."""

from __future__ import annotations

from app.text.marked_words import QT_TRANSLATE_NOOP
from engine import SamplingSettings

PRESETS: tuple[tuple[str, SamplingSettings], ...] = (
    (QT_TRANSLATE_NOOP("Sampling", "Precise"), SamplingSettings(temperature=0.2, top_k=20, top_p=0.9, min_p=0.1)),
    (QT_TRANSLATE_NOOP("Sampling", "Balanced"), SamplingSettings()),
    (QT_TRANSLATE_NOOP("Sampling", "Creative"), SamplingSettings(temperature=1.1, top_k=100, top_p=0.98, min_p=0.02)),
)
