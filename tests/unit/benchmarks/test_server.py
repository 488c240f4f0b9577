from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.benchmarks.server import Measured, ratio, streamed
from tests.fakes.served import served
from tests.fakes.target import FakeTarget, says


def test_ratios_of_pairs_have_a_mean_an_error_and_a_median() -> None:
    assert ratio([(2.0, 1.0), (4.0, 2.0)]) == (2.0, 0.0, 2.0)
    mean, error, middle = ratio([(1.0, 1.0), (2.0, 1.0), (6.0, 1.0)])
    assert (mean, middle) == (3.0, 2.0)
    assert error == pytest.approx(math.sqrt(7 / 3))
    assert math.isnan(ratio([(1.0, 1.0)])[1])
    assert Measured(10.0, 4, "", processor_s=0.02).processor_ms == 5.0


def test_a_stream_is_read_with_its_times_and_counts(tmp_path: Path) -> None:
    with served(tmp_path, FakeTarget(says("Hello there, you."), 4_096)) as found:
        first_s, text, timings = streamed(found.serving.address.removeprefix("http://"), "Hi.", 50)
    assert (text, timings["predicted_n"]) == ("Hello there, you.", len("Hello there, you.") + 1)
    assert first_s > 0
