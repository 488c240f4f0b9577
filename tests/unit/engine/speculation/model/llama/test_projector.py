"""Models that see, through tiny projectors in libmtmd: what pictures do to what comes after, and to what is held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.interface import FloatRow, Interrupted, PictureRun, TargetFeature
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.values.config import TargetSettings
from engine.values.errors import TargetUnusable
from engine.values.pictures import Picture
from engine.values.stop_signal import StopSignal
from tests.fakes.pictures import noise
from tests.fakes.tiny_models import tiny_gemma2, tiny_llama, tiny_mamba, tiny_qwen2vl
from tests.projector import width_of, write_projector

GO = StopSignal()
STARTER = "mlp"

Part = str | Picture | PictureRun | tuple[int, ...]


def load(model: Path, projector: Path | None, size: int = 512) -> LlamaCppTarget:
    settings = TargetSettings(context_size=size, threads=1)
    return LlamaCppTarget.load(model, "name", settings, lambda _progress: None, GO, projector=projector)


@pytest.fixture(scope="module", params=[STARTER, "qwen2vl_merger"])
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaCppTarget]:
    """The starter; and a model to which a picture is of fewer places than cells."""
    kind, folder = request.param, tmp_path_factory.mktemp("projector")
    model = starter_path() if kind == STARTER else tiny_qwen2vl(folder / "tiny.gguf")
    target = load(model, write_projector(folder / "mmproj.gguf", width_of(model), kind))
    yield target
    target.close()


def read(target: LlamaCppTarget, *parts: Part) -> FloatRow | None:
    """The logits after all of these; None after a picture."""
    row = None
    for part in parts:
        match part:
            case PictureRun():
                target.evaluate_picture(part, GO)
                row = None
            case Picture():
                row = read(target, *target.see(part, GO).parts)
            case _:
                tokens = target.tokenize(part) if isinstance(part, str) else part
                row = target.evaluate(tokens, 1, GO)[0].copy()
    return row


def afresh(target: LlamaCppTarget, *parts: Part) -> FloatRow:
    target.roll_back(0)
    row = read(target, *parts)
    assert row is not None
    return row


def assert_like(row: FloatRow | None, wanted: FloatRow) -> None:
    """But for the kernels, which are others for passes of other sizes."""
    assert row is not None
    assert (row - wanted).std() < 0.2 * wanted.std()


def test_what_follows_depends_on_what_the_picture_shows(target: LlamaCppTarget) -> None:
    assert TargetFeature.PICTURES in target.features
    one, again, other = (afresh(target, "a", noise(seed), " and") for seed in (1, 1, 2))
    assert_like(one, again)
    assert (other - one).std() > 0.4 * one.std()


def test_it_goes_on_as_if_nothing_had_been_taken_back(target: LlamaCppTarget) -> None:
    wanted, plain = afresh(target, "a b", noise(), " and", " the end"), afresh(target, "a b", " then", " the end")
    target.roll_back(0)
    read(target, "a b")
    before = target.num_held
    read(target, noise())
    behind = target.num_held
    read(target, " then", " or so")
    assert target.roll_back(behind)
    assert_like(read(target, " and", " the end"), wanted)
    assert target.roll_back(before)
    assert_like(read(target, " then", " the end"), plain)
    assert target.roll_back(before)
    assert_like(read(target, noise(), " and", " the end"), wanted)


def test_drafts_and_branches_are_checked_behind_a_picture(target: LlamaCppTarget) -> None:
    tokens = target.tokenize(" and then the end")[:4]

    def begin() -> None:
        target.roll_back(0)
        read(target, "a b", noise())

    begin()
    wanted = [target.evaluate([token], 1, GO)[0].copy() for token in tokens]
    begin()
    for row, expected in zip(target.evaluate(tokens, len(tokens), GO), wanted, strict=True):
        assert_like(row, expected)
    begin()
    other = target.tokenize(" d")[-1]
    rows = target.evaluate_tree(tokens[0], [other, tokens[1], tokens[2]], [-1, -1, 1], GO)
    for place, expected in zip((0, 2, 3), wanted, strict=False):
        assert_like(rows[place], expected)
    target.keep_branch([1, 2])
    assert_like(target.evaluate(tokens[3:], 1, GO)[0], wanted[3])


def test_what_is_held_of_a_picture_can_be_saved_and_restored(target: LlamaCppTarget) -> None:
    wanted = afresh(target, "a b", noise(), " and", " the end")
    *marks, run = _up_to_run(target, noise())
    closing = target.see(noise(), GO).parts[len(marks) + 1 :]
    target.roll_back(0)
    read(target, "a b", *marks)
    before = target.num_held
    read(target, run)
    behind, saved = target.num_held, target.save()
    read(target, *closing, " and")
    end = target.num_held
    part = target.save_part(before, end)
    assert saved is not None
    assert part is not None
    read(target, noise(2))
    assert target.restore(saved)
    assert target.num_held == behind
    assert_like(read(target, *closing, " and", " the end"), wanted)
    for up_to, rest in ((behind, (*closing, " and", " the end")), (end, (" the end",))):
        target.roll_back(0)
        read(target, "a b", *marks)
        assert target.restore_part(part, up_to)
        assert_like(read(target, *rest), wanted)


def _up_to_run(target: LlamaCppTarget, picture: Picture) -> list[Part]:
    """The first run, behind the tokens that mark it."""
    parts = target.see(picture, GO).parts
    (place,) = (place for place, part in enumerate(parts) if isinstance(part, PictureRun))
    return list(parts[: place + 1])


class LateSignal(StopSignal):
    """Seen by a running pass alone."""

    def is_set(self) -> bool:
        return False


@pytest.mark.parametrize("signal", [StopSignal, LateSignal])
def test_an_interrupted_picture_leaves_nothing_behind(target: LlamaCppTarget, signal: type[StopSignal]) -> None:
    wanted = afresh(target, "a b", " and")
    (run,) = (part for part in target.see(noise(), GO).parts if isinstance(part, PictureRun))
    target.roll_back(0)
    read(target, "a b")
    before = target.num_held
    stop = signal()
    stop.set()
    with pytest.raises(Interrupted):
        target.evaluate_picture(run, stop)
    assert target.num_held == before
    assert_like(read(target, " and"), wanted)


def test_a_picture_that_does_not_fit_any_more_is_refused(tmp_path: Path) -> None:
    model = tiny_llama(tmp_path / "tiny.gguf")
    target = load(model, write_projector(tmp_path / "mmproj.gguf", width_of(model)), size=256)
    (run,) = (part for part in target.see(noise(), GO).parts if isinstance(part, PictureRun))
    filled = target.limits.context_size - run.num_cells + 1
    target.evaluate([5] * filled, 1, GO)
    with pytest.raises(TargetUnusable, match="model's context is full"):
        target.evaluate_picture(run, GO)
    assert target.num_held == filled
    target.close()


def test_a_recurrent_model_reads_pictures_and_forgets_all_to_take_one_back(tmp_path: Path) -> None:
    model = tiny_mamba(tmp_path / "tiny.gguf")
    target = load(model, write_projector(tmp_path / "mmproj.gguf", width_of(model)))
    one, again, other = (afresh(target, "a", noise(seed), " and") for seed in (1, 1, 2))
    assert_like(one, again)
    assert np.abs(other - one).max() > 0
    target.roll_back(0)
    read(target, "a", noise())
    assert not target.roll_back(1)
    assert target.num_held == 0
    target.close()


def test_many_pictures_of_many_runs_are_read_again_where_they_were_forgotten(tmp_path: Path) -> None:
    model = tiny_llama(tmp_path / "tiny.gguf")
    target = load(model, write_projector(tmp_path / "mmproj.gguf", width_of(model), "tiles"))
    wanted = afresh(target, "a", noise(0), " and")
    seen = [target.see(noise(seed), GO) for seed in range(6)]
    assert [part.number for part in seen[0].parts if isinstance(part, PictureRun)] == [0, 1, 2]
    assert_like(afresh(target, "a", noise(0), " and"), wanted)
    target.close()


def test_a_large_picture_leaves_room_for_words_and_a_narrow_one_is_read(tmp_path: Path) -> None:
    model = tiny_qwen2vl(tmp_path / "tiny.gguf")
    target = load(model, write_projector(tmp_path / "mmproj.gguf", width_of(model), "qwen2vl_merger"), size=256)

    def num_cells(picture: Picture) -> int:
        return sum(part.num_cells for part in target.see(picture, GO).parts if isinstance(part, PictureRun))

    assert 64 < num_cells(noise(1, 900, 600)) <= 128
    assert num_cells(noise(1, 900, 1)) > 0
    target.close()


def test_damaged_pictures_are_refused_in_a_sentence(target: LlamaCppTarget) -> None:
    sound = noise(7)
    for data in (b"", sound.data[:200], sound.data[:-2000], b"GIF89a" + sound.data):
        with pytest.raises(TargetUnusable, match="attach it again"):
            target.see(replace(sound, digest=str(len(data)), data=data), GO)


def cut(path: Path, model: Path) -> None:
    data = write_projector(path, width_of(model)).read_bytes()
    path.write_bytes(data[: len(data) // 2])


def garbage(path: Path, _model: Path) -> None:
    path.write_bytes(b"GGUF" + bytes(200))


def ending_the_process(path: Path, model: Path) -> None:
    """It has too few positions for its patches."""
    data = write_projector(path, width_of(model)).read_bytes()
    size = (56).to_bytes(4, "little")
    at = data.index(b"clip.vision.image_size") + len(b"clip.vision.image_size") + 4
    assert data[at : at + 4] == size
    path.write_bytes(data[:at] + (560).to_bytes(4, "little") + data[at + 4 :])


def unknown(path: Path, model: Path) -> None:
    data, length = write_projector(path, width_of(model)).read_bytes(), (3).to_bytes(8, "little")
    path.write_bytes(data.replace(length + b"mlp", length + b"new"))


def other_width(path: Path, model: Path) -> None:
    write_projector(path, 2 * width_of(model))


def other_marks(path: Path, model: Path) -> None:
    write_projector(path, width_of(model), "idefics3")


def too_many_at_once(path: Path, model: Path) -> None:
    write_projector(path, width_of(model), "gemma3", side=112, patch=2)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (cut, "is damaged"),
        (garbage, "is damaged"),
        (ending_the_process, "mmproj.gguf is damaged: llama.cpp cannot open it; download it again"),
        (unknown, "of a kind that this version cannot run"),
        (other_width, "mmproj.gguf does not belong to tiny.gguf; remove it, or download the one of this model"),
        (other_marks, "does not belong to"),
        (too_many_at_once, "tokens, which must be read at once"),
    ],
)
def test_what_is_wrong_with_a_projector_is_said_with_the_first_picture(
    make: Callable[[Path, Path], None], sentence: str, tmp_path: Path
) -> None:
    model = tiny_llama(tmp_path / "tiny.gguf")
    make(tmp_path / "mmproj.gguf", model)
    target = load(model, tmp_path / "mmproj.gguf")
    wanted = afresh(target, "a and b")
    for _ in range(2):
        with pytest.raises(TargetUnusable, match=sentence):
            target.see(noise(), GO)
    assert_like(afresh(target, "a and b"), wanted)
    target.close()


def test_one_whose_cells_see_each_other_is_read_in_one_pass(tmp_path: Path) -> None:
    model = tiny_gemma2(tmp_path / "tiny.gguf")
    target = load(model, write_projector(tmp_path / "mmproj.gguf", width_of(model), "gemma3"))
    one, again, other = (afresh(target, "a", noise(seed), " and") for seed in (1, 1, 2))
    assert_like(one, again)
    assert np.abs(other - one).max() > 0
    target.close()


def test_a_model_without_a_projector_does_not_see(tmp_path: Path) -> None:
    target = load(tiny_llama(tmp_path / "tiny.gguf"), None)
    assert TargetFeature.PICTURES not in target.features
    target.close()
