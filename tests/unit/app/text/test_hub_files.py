from __future__ import annotations

from app.text.hub_files import Fit, advise
from engine.values.quantizations import QuantizationSpeed
from engine.values.targets import HubFile

GB = 1_000_000_000


def file(quantization: str, size_gb: float) -> HubFile:
    return HubFile("owner/model", f"model-{quantization}.gguf", int(size_gb * GB), quantization)


FILES = (file("Q2_K", 3.0), file("q4_k_m", 4.7), file("Q8_0", 8.1), file("F16", 15.2), file("", 200.0))


def test_what_fits_depends_on_memory_and_disk() -> None:
    advice = advise(FILES, memory=16 * GB, disk=100 * GB)
    assert [each.fit for each in advice] == [Fit.FITS, Fit.FITS, Fit.FITS, Fit.TOO_LARGE, Fit.NO_ROOM]
    assert [each.fit for each in advise(FILES[:3], 12 * GB, 100 * GB)] == [Fit.FITS, Fit.FITS, Fit.TIGHT]


def test_one_is_recommended_the_proven_one_that_fits() -> None:
    def recommended(memory: int) -> list[str]:
        return [each.file.quantization for each in advise(FILES, memory, 100 * GB) if each.is_recommended]

    assert recommended(16 * GB) == ["q4_k_m"]
    assert recommended(7 * GB) == ["Q2_K"], "the other would be tight"
    assert recommended(5 * GB) == ["Q2_K"], "tight, but there is no other"
    assert recommended(2 * GB) == []


def test_forms_that_were_fastest_here_are_marked_and_none_without_measurements() -> None:
    speeds = (QuantizationSpeed("q4_k_m", 1.0), QuantizationSpeed("Q2_K", 0.98), QuantizationSpeed("Q8_0", 0.6))
    advice = advise(FILES, 16 * GB, 100 * GB, speeds)
    assert [each.file.quantization for each in advice if each.is_fast] == ["Q2_K", "q4_k_m"]
    assert [each.speed for each in advice] == [0.98, 1.0, 0.6, 0.0, 0.0]
    assert not any(each.is_fast for each in advise(FILES, 16 * GB, 100 * GB))
