"""Our library against numpy, its twin: the same ids, and the same numbers but for rounding."""

from __future__ import annotations

import ctypes
import logging
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.native import rows
from engine.speculation.native.numpy_rows import NumpyRows
from engine.speculation.native.rows import LogitRow, NativeRows, load
from engine.speculation.numerics.sampling import RandomDice, make_distribution
from engine.values.config import SamplingSettings

SOURCE = Path(rows.__file__).with_name("rows.cpp")
NAME = "libslipstream.dylib" if sys.platform == "darwin" else "libslipstream.so"
TWIN = NumpyRows()

pytestmark = pytest.mark.skipif(not shutil.which("c++") or sys.platform == "win32", reason="needs a compiler")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with a library of this checkout's source: what is installed may be older."""
    made = tmp_path_factory.mktemp("library")
    subprocess.run(["c++", "-std=c++17", "-O3", "-fPIC", "-shared", SOURCE, "-o", made / NAME], check=True)
    return made


@pytest.fixture(scope="module")
def library(folder: Path) -> NativeRows:
    found = load(folder)
    assert isinstance(found, NativeRows)
    return found


def same(one: tuple[rows.Ids, LogitRow], other: tuple[rows.Ids, LogitRow]) -> None:
    assert one[0].tolist() == other[0].tolist()
    assert one[0].dtype == other[0].dtype
    assert one[1].dtype == other[1].dtype
    np.testing.assert_array_equal(one[1], other[1])


def check(library: NativeRows, row: LogitRow, counts: tuple[int, ...]) -> None:
    place, value = library.best(row)
    assert place == TWIN.best(row)[0]
    np.testing.assert_equal(value, TWIN.best(row)[1])
    for count in counts:
        same(library.largest(row, count), TWIN.largest(row, count))
    best, total = library.outlook(row)
    expected, expected_total = TWIN.outlook(row)
    assert best == expected
    maximum = float(row[best])
    if not math.isfinite(maximum):
        assert not math.isfinite(total)
        return
    assert total == pytest.approx(expected_total, rel=1e-6, abs=1e-6)
    exact = np.exp(row.astype(np.float64) - maximum).sum()
    assert library.sum_of_exponentials(row, maximum) == pytest.approx(exact, rel=1e-6)
    for bound in (maximum, maximum - 0.5, maximum - 5.0, maximum + 1.0):
        same(library.reaching(row, bound), TWIN.reaching(row, bound))


SPECIAL = st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan])
FLOATS = st.floats(-(2.0**99), 2.0**99, width=32) | SPECIAL


@given(st.lists(FLOATS, min_size=1, max_size=200), st.integers(1, 200))
def test_any_numbers(library: NativeRows, numbers: list[float], count: int) -> None:
    check(library, np.array(numbers, np.float32), (count,))


@given(
    size=st.sampled_from([1, 2, 63, 64, 65, 127, 128, 129, 700, 4095, 4096, 4097, 8200, 20_000]),
    num_different=st.sampled_from([1, 2, 30, 100_000]),
    masked=st.sampled_from([0.0, 0.5, 0.999, 1.0]),
    special=st.sampled_from([None, math.nan, -math.nan, math.inf]),
    order=st.sampled_from([0, 1, -1]),
    seed=st.integers(0, 10_000),
)
def test_rows_with_ties_masks_and_what_is_no_number(
    library: NativeRows, size: int, num_different: int, masked: float, special: float | None, order: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    row = (random.integers(-num_different, num_different + 1, size) / 1000).astype(np.float32)
    if order:
        row = np.sort(row)[::order].copy()
    row[random.random(size) < masked] = -np.inf
    if masked < 1:
        row[random.integers(size)] = random.choice([0.0, -0.0, 40.0])
    if special is not None:
        row[random.integers(size, size=2)] = special
    check(library, row, (1, 16, 40, 64, 300, size))


@pytest.mark.parametrize("size", [49_152, 128_000, 262_144, 300_000])
def test_rows_as_long_as_vocabularies(library: NativeRows, size: int) -> None:
    random = np.random.default_rng(size)
    row = random.normal(scale=4, size=size).astype(np.float32)
    check(library, row, (1, 16, 40, 64, 2048, size))
    check(library, np.sort(row), (16, 40))
    check(library, np.round(row), (16, 40))


@given(
    numbers=st.lists(st.floats(-60, 0, width=32) | st.sampled_from([0.0, -1.0, -math.inf]), min_size=1, max_size=80),
    temperature=st.floats(1e-4, 5),
    top_p=st.sampled_from([0.0, 0.5, 0.95, 1.0]) | st.floats(0, 1),
    min_p=st.sampled_from([0.0, 0.05, 1.0]) | st.floats(1e-6, 1),
)
def test_distributions(
    library: NativeRows, numbers: list[float], temperature: float, top_p: float, min_p: float
) -> None:
    values = np.sort(np.array([0.0, *numbers], np.float32))[::-1] + np.float32(7)
    log_min_p = math.log(min_p) if min_p else -math.inf
    ours = library.chances(values, temperature, top_p, log_min_p)
    theirs = TWIN.chances(values, temperature, top_p, log_min_p)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-300)


@given(
    st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.25]), min_size=1, max_size=80),
    st.floats(0, 1, exclude_max=True) | st.sampled_from([0.25, 0.5]),
)
def test_places(library: NativeRows, numbers: list[float], share: float) -> None:
    weights = np.array([*numbers, 0.5])
    assert library.place_of(weights, share) == TWIN.place_of(weights, share)


@pytest.mark.parametrize(
    "settings",
    [
        SamplingSettings(),
        SamplingSettings(temperature=0),
        SamplingSettings(top_k=0),
        SamplingSettings(top_k=0, top_p=1.0),
        SamplingSettings(top_k=5, top_p=1.0, min_p=0.0),
        SamplingSettings(top_k=0, top_n_sigma=1.5),
        SamplingSettings(temperature_range=0.3),
        SamplingSettings(xtc_probability=0.5),
        SamplingSettings(repetition_penalty=1.3),
    ],
)
def test_draws_are_the_same(library: NativeRows, monkeypatch: pytest.MonkeyPatch, settings: SamplingSettings) -> None:
    monkeypatch.setattr(rows._InUse, "reader", library)
    logits = np.random.default_rng(5).normal(scale=3, size=(50, 5000)).astype(np.float32)
    ours = [make_distribution(row, settings, (1, 2, 3)) for row in logits]
    with rows.read_by_numpy():
        theirs = [make_distribution(row, settings, (1, 2, 3)) for row in logits]
    one, other = RandomDice(7), RandomDice(7)
    for native, plain in zip(ours, theirs, strict=True):
        assert native.ids.tolist() == plain.ids.tolist()
        np.testing.assert_allclose(native.probabilities, plain.probabilities, rtol=1e-12)
        assert native.draw(one) == plain.draw(other)


def test_what_is_no_row_is_refused(library: NativeRows) -> None:
    row = np.zeros(10, np.float32)
    with pytest.raises(AssertionError):
        library.best(row.astype(np.float64))
    with pytest.raises(AssertionError):
        library.best(row[:0])
    with pytest.raises(ValueError, match="contiguous"):
        library.largest(row[::2], 2)
    with pytest.raises(TypeError):
        library.sum_of_exponentials([0.0], 0.0)  # type: ignore[arg-type]


def test_where_there_is_none_numpy_does_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert isinstance(load(None), NumpyRows)
    assert isinstance(load(tmp_path), NumpyRows)
    with caplog.at_level(logging.WARNING):
        (tmp_path / NAME).write_text("no library")
        assert isinstance(load(tmp_path), NumpyRows)
    assert "make setup" in caplog.text
    caplog.clear()


def test_another_version_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_VERSION", 0)
    with pytest.raises(OSError, match="version"):
        NativeRows(ctypes.PyDLL(str(folder / NAME)))
