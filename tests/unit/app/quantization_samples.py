"""A model as it was measured beside other quantizations of its weights."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from engine.values.quantizations import Distance, QuantizationFigures, QuantizationOffer, TuneReport
from tests.unit.app.library_samples import QWEN, STARTER_TARGET

_SHARES = ((1, 1.0), (2, 1.25), (4, 1.65), (8, 3.0))


def figures(
    quantization: str, size_bytes: int, one_row: float, distance: Distance | None = None
) -> QuantizationFigures:
    passes = tuple((number, share * one_row) for number, share in _SHARES)
    return QuantizationFigures(quantization, f"file:{quantization}", size_bytes, passes, 0.004, distance)


Q8 = figures("Q8_0", 8_100_000_000, 0.19, Distance(0.004, 0.001, 0.98, 380))
Q4_0 = figures("Q4_0", 4_430_000_000, 0.08, Distance(0.046, 0.01, 0.92, 380))
IQ4 = figures("IQ4_NL", 4_500_000_000, 0.125, Distance(0.17, 0.02, 0.81, 380))
ORIGINAL = figures("Q4_K_M", QWEN.size_bytes, 0.106)
REPORT = TuneReport("b1 AVX2", 4, datetime(2026, 3, 4, 12, 0, tzinfo=UTC), ORIGINAL, (Q8, Q4_0, IQ4))
MODELS = QWEN.path.parent
OFFERS = (
    QuantizationOffer("F16", 15_200_000_000, MODELS / "qwen2.5-7b-F16.gguf", "There is no room for it in /models."),
    QuantizationOffer("Q8_0", 8_100_000_000, MODELS / "qwen2.5-7b-Q8_0.gguf", is_usual=True),
    QuantizationOffer("Q6_K", 6_250_000_000, MODELS / "qwen2.5-7b-Q6_K.gguf"),
    QuantizationOffer("Q5_K_M", 5_440_000_000, MODELS / "qwen2.5-7b-Q5_K_M.gguf"),
    QuantizationOffer("IQ4_NL", 4_500_000_000, MODELS / "qwen2.5-7b-IQ4_NL.gguf"),
    QuantizationOffer("Q4_0", 4_430_000_000, MODELS / "qwen2.5-7b-Q4_0.gguf", is_usual=True),
)
MEASURED = replace(QWEN, tuned=REPORT)

_STARTER_Q8 = figures("Q8_0", 145_000_000, 0.0068, Distance(0.004, 0.001, 0.98, 380))
_STARTER_OWN = figures("Q4_1", 97_000_000, 0.0084)
STARTER_REPORT = TuneReport("b1 AVX2", 2, datetime(2026, 3, 4, tzinfo=UTC), _STARTER_OWN, (_STARTER_Q8,))
STARTER_IN_Q8 = replace(
    STARTER_TARGET, path=Path("/store/starter/smol-Q8_0.gguf"), tuned=STARTER_REPORT, starter_quantization="Q8_0"
)
STARTER_OFFERS = (
    QuantizationOffer("Q8_0", 145_000_000, Path("/store/models/smol-Q8_0.gguf"), is_usual=True),
    QuantizationOffer("Q4_0", 92_000_000, Path("/store/models/smol-Q4_0.gguf"), is_usual=True),
)
