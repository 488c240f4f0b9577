"""Where a drafter is computed: whole on the card or whole on the processor, by what a step takes; on cards that are not
there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.speculation.drafter import gguf
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.llama.drafting_model import DraftingModel
from engine.values.config import TargetSettings
from engine.values.errors import Cancelled, CardsTooSmall
from engine.values.stop_signal import StopSignal

ALL = 31


class Loaded:
    """A model that was loaded with so many layers on the card."""

    def __init__(self, layers: int | None) -> None:
        self.layers = layers
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


class Machine:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, step_s: dict[int | None, float], fits: bool = True) -> None:
        self.loaded: list[Loaded] = []
        self._step_s = step_s
        self._fits = fits
        monkeypatch.setattr(DraftingModel, "load", self._load)
        monkeypatch.setattr(gguf, "measure_step", lambda drafter: step_s[drafter._model.layers])

    def _load(self, _path: Path, _name: str, settings: TargetSettings, *_: Any, **_more: Any) -> Loaded:
        if settings.gpu_layers and not self._fits:
            raise CardsTooSmall("There is no room.")
        self.loaded.append(Loaded(settings.gpu_layers))
        return self.loaded[-1]

    def drafter(self) -> gguf.GgufDrafter:
        return gguf._load(starter_path(), "Starter", True, StopSignal(), None)


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """Sets the layers for which the card has room."""

    def fit(layers: int | None) -> None:
        monkeypatch.setattr(gguf, "fitted_whole", lambda _path, settings: settings.__class__(gpu_layers=layers))

    return fit


@pytest.mark.parametrize(("card_s", "processor_s", "kept"), [(0.001, 0.005, ALL), (0.009, 0.005, 0)])
def test_where_it_fits_the_quicker_place_is_kept_and_the_other_is_freed(
    monkeypatch: pytest.MonkeyPatch,
    whole: Callable[[int | None], None],
    card_s: float,
    processor_s: float,
    kept: int,
) -> None:
    whole(ALL)
    machine = Machine(monkeypatch, {ALL: card_s, 0: processor_s})
    drafter = machine.drafter()
    assert [each.layers for each in machine.loaded] == [ALL, 0]
    assert [each.layers for each in machine.loaded if not each.is_closed] == [kept]
    assert drafter._model.layers == kept  # type: ignore[attr-defined]


@pytest.mark.parametrize("layers", [0, None])
def test_where_it_does_not_fit_or_there_is_no_card_it_is_loaded_once(
    monkeypatch: pytest.MonkeyPatch, whole: Callable[[int | None], None], layers: int | None
) -> None:
    whole(layers)
    machine = Machine(monkeypatch, {})
    drafter = machine.drafter()
    assert [each.layers for each in machine.loaded] == [layers]
    assert not machine.loaded[0].is_closed
    del drafter
    assert machine.loaded[0].is_closed


def test_a_card_that_refuses_leaves_it_to_the_processor(
    monkeypatch: pytest.MonkeyPatch, whole: Callable[[int | None], None]
) -> None:
    whole(ALL)
    machine = Machine(monkeypatch, {}, fits=False)
    drafter = machine.drafter()
    assert [each.layers for each in machine.loaded] == [0]
    assert drafter._model.layers == 0  # type: ignore[attr-defined]


def test_where_timing_fails_nothing_stays_loaded(
    monkeypatch: pytest.MonkeyPatch, whole: Callable[[int | None], None]
) -> None:
    def fail(_drafter: object) -> float:
        raise Cancelled("The card is gone.")

    whole(ALL)
    machine = Machine(monkeypatch, {})
    monkeypatch.setattr(gguf, "measure_step", fail)
    with pytest.raises(Cancelled):
        machine.drafter()
    assert [each.is_closed for each in machine.loaded] == [True, True]
