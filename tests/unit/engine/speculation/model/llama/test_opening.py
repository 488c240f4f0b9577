"""One file is mapped once, however many use it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.llama import opening
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.values.config import TargetSettings
from engine.values.errors import TargetUnusable
from engine.values.stop_signal import StopSignal
from tests.fakes.gguf import write

pytestmark = pytest.mark.starter

TEXT = "The sea is"


@pytest.fixture
def closed() -> Iterator[ExitStack]:
    """Closes what it is given in the end."""
    with ExitStack() as stack:
        yield stack


def load(path: Path, gpu_layers: int = 0) -> LlamaCppTarget:
    settings = TargetSettings(context_size=64, gpu_layers=gpu_layers)
    return LlamaCppTarget.load(path, path.stem, settings, lambda _progress: None, StopSignal())


def next_token(target: LlamaCppTarget) -> int:
    target.roll_back(0)
    return int(np.argmax(target.evaluate(target.tokenize(TEXT), 1, StopSignal())[-1]))


def num_open() -> int:
    return len(opening._open_models)


def test_a_file_is_mapped_once_and_each_has_a_context_of_its_own(closed: ExitStack) -> None:
    before = num_open()
    target = closed.enter_context(closing(load(starter_path())))
    drafter = closed.enter_context(closing(load(starter_path())))
    assert target._model == drafter._model
    assert num_open() == before + 1
    assert target._context != drafter._context
    written = next_token(target)
    assert drafter.num_held == 0
    assert next_token(drafter) == written


@pytest.mark.parametrize("first_goes", [True, False])
def test_one_that_is_closed_leaves_the_other_working_and_the_last_one_frees_the_file(
    first_goes: bool, closed: ExitStack
) -> None:
    before = num_open()
    one, other = (closed.enter_context(closing(load(starter_path()))) for _ in range(2))
    written = next_token(one)
    gone, stays = (one, other) if first_goes else (other, one)
    gone.close()
    gone.close()  # twice is once
    assert num_open() == before + 1
    assert next_token(stays) == written
    third = closed.enter_context(closing(load(starter_path())))
    assert third._model == stays._model
    stays.close()
    assert next_token(third) == written
    third.close()
    assert num_open() == before


def test_with_other_layers_on_a_card_or_from_another_file_it_is_another_model(
    closed: ExitStack, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.gguf"
    shutil.copy(starter_path(), copy)
    link = tmp_path / "link.gguf"
    link.symlink_to(copy)
    one = closed.enter_context(closing(load(starter_path())))
    on_a_card = closed.enter_context(closing(load(starter_path(), gpu_layers=1)))
    copied = closed.enter_context(closing(load(copy)))
    linked = closed.enter_context(closing(load(link)))
    assert len({one._model, on_a_card._model, copied._model}) == 3
    assert linked._model == copied._model, "whatever it is called"


def test_a_file_that_was_replaced_is_read_anew(closed: ExitStack, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    shutil.copy(starter_path(), path)
    before = closed.enter_context(closing(load(path)))
    written = next_token(before)
    path.unlink()
    write(path)
    with pytest.raises(TargetUnusable):
        load(path)
    assert next_token(before) == written


def test_what_cannot_be_loaded_leaves_nothing_open(tmp_path: Path) -> None:
    before = num_open()
    with pytest.raises(TargetUnusable):
        load(write(tmp_path / "weightless.gguf"))
    assert num_open() == before
