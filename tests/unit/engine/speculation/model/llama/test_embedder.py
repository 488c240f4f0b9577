"""Embeddings of a tiny model that llama.cpp really runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from gguf import PoolingType

from engine.speculation.model.interface import Interrupted
from engine.speculation.model.llama.embedder import Embedder
from engine.speculation.model.llama.preflight import preflight
from engine.use_cases.serving import checked_embedder
from engine.values.errors import TargetMissing, TargetUnsupported, TargetUnusable
from engine.values.stop_signal import StopSignal
from tests.fakes.tiny_models import tiny_bert, tiny_llama, tiny_mamba, tiny_qwen2

TEXTS = ("abc", "the quick fox " * 20, "z", "abc")


def tiny_last(path: Path) -> Path:
    """One that reads as a chat model does, and tells the state of the last token."""
    return tiny_qwen2(path, pooling=PoolingType.LAST)


@pytest.fixture(scope="module", params=[tiny_bert, tiny_last])
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedder]:
    path = request.param(tmp_path_factory.mktemp("models") / "tiny.gguf")
    with closing(Embedder.load(path, "tiny", StopSignal())) as found:
        yield found


def test_a_text_has_the_same_vector_alone_and_among_others(embedder: Embedder) -> None:
    texts = [embedder.tokenize(text) for text in TEXTS * 10]  # more than one pass
    together = np.array(embedder.embed(texts, StopSignal()))
    alone = np.array([embedder.embed([text], StopSignal())[0] for text in texts[: len(TEXTS)]] * 10)
    assert together.shape == (40, embedder.width)
    assert np.linalg.norm(together, axis=1) == pytest.approx(1)
    assert together == pytest.approx(alone, abs=1e-3)
    assert together[0] @ together[1] < 0.99


def test_marks_stand_around_a_text_and_are_none_in_it(tmp_path: Path) -> None:
    with closing(Embedder.load(tiny_bert(tmp_path / "tiny.gguf"), "tiny", StopSignal())) as embedder:
        begins, *said, ends = embedder.tokenize("[SEP]")
        assert embedder.tokenize("") == [begins, ends]
        assert begins != ends not in said


def test_a_text_may_fill_all_places_and_a_stop_ends_it(embedder: Embedder) -> None:
    longest = embedder.tokenize("a " * embedder.max_tokens)[: embedder.max_tokens]
    assert np.isfinite(embedder.embed([longest], StopSignal())).all()
    stop = StopSignal()
    stop.set()
    with pytest.raises(Interrupted):
        embedder.embed([longest], stop)


@pytest.mark.parametrize("make", [tiny_llama, tiny_mamba])
def test_a_model_that_makes_none_is_refused_in_a_sentence(tmp_path: Path, make: object) -> None:
    assert callable(make)
    path = make(tmp_path / "other.gguf")
    with pytest.raises(TargetUnsupported, match=r"other\.gguf makes no embeddings"):
        Embedder.load(path, "other", StopSignal())


def test_the_header_of_a_file_says_whether_it_makes_any(tmp_path: Path) -> None:
    bert = tiny_bert(tmp_path / "bert.gguf")
    assert checked_embedder(bert) == bert
    with pytest.raises(TargetUnsupported, match="makes no embeddings"):
        checked_embedder(tiny_llama(tmp_path / "llama.gguf"))
    with pytest.raises(TargetMissing):
        checked_embedder(tmp_path / "gone.gguf")


def test_a_broken_file_ends_another_process(tmp_path: Path) -> None:
    path = tiny_bert(tmp_path / "broken.gguf")
    preflight(path, StopSignal(), embeds=True)
    data = bytearray(path.read_bytes())
    place = data.find(b"position_embd.weight")
    assert place > 0
    data[place : place + 8] = b"nowhere_"
    path.write_bytes(data)
    with pytest.raises(TargetUnusable, match="damaged"):
        preflight(path, StopSignal(), embeds=True)
