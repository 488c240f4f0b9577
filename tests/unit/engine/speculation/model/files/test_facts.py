"""What the header of a model file comes to mean."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.speculation.model.files.facts import TargetFacts, encode, facts_of
from engine.values.errors import TargetMissing
from engine.values.sentences import Sentence
from tests.fakes.gguf import Value, gguf, write


def facts(folder: Path, changes: dict[str, Value]) -> TargetFacts:
    return facts_of(write(folder / "model.gguf", changes))


def test_details_are_what_the_header_says(tmp_path: Path) -> None:
    found = facts(tmp_path, {})
    assert found.details is not None
    assert found.problem == ""
    assert found.details.name == "Tiny"
    assert found.details.architecture == "llama"
    assert found.details.num_parameters == 128
    assert found.details.quantization == "Q8_0"
    assert found.details.trained_context == 4096
    assert (found.details.vocabulary_size, found.details.vocabulary_kind) == (3, "BPE (smollm)")
    assert found.details.has_chat_template
    assert found.details.licence == "mit"
    assert found.details.can_speculate


def test_texts_of_a_header_stand_on_one_line(tmp_path: Path) -> None:
    found = facts(tmp_path, {"general.name": " a\nb\x1b[31m\u202e " + "c" * 1000})
    assert found.details is not None
    assert found.details.name.startswith("a b [31m c")
    assert len(found.details.name) <= 200


@pytest.mark.parametrize(
    "changes",
    [
        {"general.architecture": "mamba"},
        {"general.architecture": "rwkv7"},
        {"general.architecture": "qwen3next"},
        {"general.architecture": "falcon-h1"},
        {"general.architecture": "tomorrow", "tomorrow.ssm.state_size": 16},
    ],
)
def test_models_with_a_running_state_cannot_be_drafted_for(tmp_path: Path, changes: dict[str, Value]) -> None:
    found = facts(tmp_path, changes)
    assert found.details is not None
    assert not found.details.can_speculate
    assert found.details.speculation == "No speed-up: it cannot roll back what it has read."
    assert found.problem == ""


@pytest.mark.parametrize("architecture", ["lfm2", "qwen35", "nemotron_h"])
def test_models_that_keep_copies_of_their_state_can_be_drafted_for(tmp_path: Path, architecture: str) -> None:
    found = facts(tmp_path, {"general.architecture": architecture, f"{architecture}.ssm.state_size": 16})
    assert found.details is not None
    assert found.details.can_speculate
    assert found.details.speculation.startswith("Supports speed-up, within limits")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"general.architecture": "bert"}, "cannot write any; choose a chat model"),
        ({"llama.pooling_type": 3}, "cannot write any; choose a chat model"),
        ({"general.architecture": "t5"}, "writes text on its own"),
        ({"general.type": "mmproj"}, "lets another model see pictures"),
        ({"general.architecture": "clip"}, "lets another model see pictures"),
        ({"general.type": "adapter"}, "an addition to another model"),
        ({"general.type": "imatrix"}, "statistics for quantizing models"),
        ({"general.architecture": "controlvector"}, "is an addition to another model"),
        ({"general.architecture": "sdxl"}, "makes pictures or videos in other programs"),
        ({"general.architecture": "whisper"}, "is for speech in other programs"),
        ({"general.architecture": ""}, "what kind of model it is"),
    ],
)
def test_what_cannot_chat_has_a_problem(tmp_path: Path, changes: dict[str, Value], words: str) -> None:
    found = facts(tmp_path, changes)
    assert words in found.problem
    assert found.problem.startswith("model.gguf ")
    assert found.problem.endswith(".")


def test_a_vocabulary_alone_has_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.gguf"
    path.write_bytes(gguf(tensors={}))
    assert facts_of(path).problem == "vocabulary.gguf holds a vocabulary but no weights; choose the model itself."


def test_parts_are_one_model_and_a_missing_one_is_named(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"big-{part:05}-of-00003.gguf") for part in (1, 2, 3)]
    found = facts_of(paths[0])
    assert found.details is not None
    assert found.details.num_parameters == 3 * 128
    assert found.stamp.size_bytes == sum(path.stat().st_size for path in paths)
    paths[1].unlink()
    assert facts_of(paths[0]).problem == "Part 2 of 3 of big-00001-of-00003.gguf is missing; download it again."


def test_what_is_kept_is_used_until_the_file_changes(tmp_path: Path) -> None:
    path = write(tmp_path / "model.gguf")
    kept = encode(facts_of(path)).replace("Tiny", "Kept")
    known = facts_of(path, kept).details
    assert known is not None
    assert known.name == "Kept"
    os.utime(path, ns=(1, 1))
    changed = facts_of(path, kept).details
    assert changed is not None
    assert changed.name == "Tiny"


@pytest.mark.parametrize("kept", ["{", "{}", "null", '{"format": 0}', "\ud800"])
def test_what_is_kept_and_makes_no_sense_is_read_anew(tmp_path: Path, kept: str) -> None:
    assert facts_of(write(tmp_path / "model.gguf"), kept).problem == ""


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(TargetMissing, match="is gone; put it back"):
        facts_of(tmp_path / "gone.gguf")


def test_a_damaged_file_has_an_identity_and_one_with_a_missing_part_none(tmp_path: Path) -> None:
    (tmp_path / "damaged.gguf").write_bytes(b"GGUF")
    assert facts_of(tmp_path / "damaged.gguf").identity
    assert facts_of(write(tmp_path / "big-00001-of-00002.gguf")).identity == ""


def test_kept_facts_can_still_be_said_in_another_language(tmp_path: Path) -> None:
    path = write(tmp_path / "model.gguf", {"general.architecture": "bert"})
    kept = facts_of(path, encode(facts_of(path)))
    assert isinstance(kept.problem, Sentence)
    assert kept.problem.template == "{name} finds and compares texts but cannot write any; choose a chat model."
    assert kept.details is not None
    assert isinstance(kept.details.speculation, Sentence)
