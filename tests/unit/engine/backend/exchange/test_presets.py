"""Files of presets and prompts: read again as they were written, and refused in a sentence where they are none."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.backend.exchange import presets
from engine.backend.exchange.presets import read_presets, write_presets
from engine.values.config import OwnSampling
from engine.values.errors import FileUnusable
from engine.values.order import MOST_CHARACTERS, MOST_KEPT, LibraryPrompt, Preset, TargetChoice

LINES = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAMES = LINES.filter(lambda text: bool(text.strip()))
SAMPLINGS = st.builds(
    OwnSampling,
    temperature=st.none() | st.floats(0.1, 5),
    seed=st.none() | st.integers(0, 2**64 - 1),
    banned_words=st.none() | NAMES,
)
PRESETS = st.builds(
    Preset,
    st.just(0),
    NAMES,
    st.none() | LINES,
    SAMPLINGS,
    st.none() | st.booleans(),
    st.none() | st.builds(TargetChoice, LINES.filter(bool), LINES),
)
_KEYS = ("name", "system_prompt", "sampling", "thinks", "model", "identity", "text", "temperature", "logit_bias")


def fields(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5)


PROMPTS = st.builds(LibraryPrompt, st.just(0), NAMES, NAMES)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(PRESETS, max_size=3), st.lists(PROMPTS, min_size=1, max_size=3))
def test_what_is_written_is_read_again(tmp_path: Path, some: list[Preset], prompts: list[LibraryPrompt]) -> None:
    path = tmp_path / "presets.json"
    write_presets(path, some, prompts, overwrite=True)
    read = read_presets(path)
    assert (read.presets, read.prompts, read.num_unreadable) == (tuple(some), tuple(prompts), 0)


def test_a_file_of_presets_holds_no_address_of_a_server(tmp_path: Path) -> None:
    path = tmp_path / "presets.json"
    target = TargetChoice("llama", "server:http://192.168.1.5:8080/v1#llama")
    write_presets(path, [Preset(1, "Far", target=target)], [], overwrite=True)
    assert "192.168" not in path.read_text("utf-8")
    assert read_presets(path).presets[0].target == TargetChoice("llama")


def content(**values: object) -> dict[str, object]:
    return {"format": "slipstream-presets", "version": 1, **values}


def refused(path: Path, written: str | bytes) -> str:
    path.write_bytes(written.encode() if isinstance(written, str) else written)
    with pytest.raises(FileUnusable) as error:
        read_presets(path)
    return str(error.value)


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("", "is damaged or is not a preset file"),
        ("{", "is damaged or is not a preset file"),
        (b"\xff\xfe\x00", "is damaged or is not a preset file"),
        ("[" * 100_000, "is damaged or is not a preset file"),
        ("1" * 10_000, "is damaged or is not a preset file"),
        ("[]", "is not a preset file; choose one that Slipstream exported"),
        ('{"format": "slipstream-conversations", "version": 1}', "is not a preset file"),
        ('{"format": "slipstream-presets", "version": 2, "presets": 7}', "a newer version of Slipstream"),
        ('{"format": "slipstream-presets", "version": true}', "is damaged"),
        ('{"format": "slipstream-presets"}', "is damaged"),
        (json.dumps(content()), "contains no presets or prompts"),
        (json.dumps(content(presets={})), "is damaged"),
        (json.dumps(content(presets=[7, {"name": " "}, {"name": "x", "thinks": 1}])), "contains no presets"),
        (
            json.dumps(content(prompts=[{"name": "x", "text": "y"}] * (MOST_KEPT + 1))),
            "contains more than 1,000 presets",
        ),
    ],
)
def test_what_is_no_file_of_presets_is_refused(tmp_path: Path, written: str | bytes, sentence: str) -> None:
    assert sentence in refused(tmp_path / "a.json", written)


SIMPLE = st.none() | st.booleans() | st.integers() | st.floats() | LINES
VALUES = st.recursive(SIMPLE, lambda inner: st.lists(inner) | fields(inner), max_leaves=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(VALUES, VALUES)
def test_whatever_is_in_a_file_it_is_read_or_refused(tmp_path: Path, some: object, others: object) -> None:
    path = tmp_path / "a.json"
    for listed in ({"presets": some, "prompts": others}, {"presets": [some, others], "prompts": [others]}):
        path.write_text(json.dumps(content(**listed)), "utf-8")
        with contextlib.suppress(FileUnusable):
            read = read_presets(path)
            names = [*(each.name for each in read.presets), *(each.name for each in read.prompts)]
            assert all(name.strip() for name in names)


def test_a_large_file_is_refused_before_it_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presets, "MOST_BYTES", 2**20)
    assert "is too large; preset files may have at most 1 MB" in refused(tmp_path / "a.json", " " * (2**20 + 1))
    with pytest.raises(FileUnusable, match="more than one file may contain"):
        write_presets(tmp_path / "b.json", (), [LibraryPrompt(0, "x", "y" * 2**20)], overwrite=False)
    assert not (tmp_path / "b.json").exists()


def test_missing_files_and_folders_are_told(tmp_path: Path) -> None:
    with pytest.raises(FileUnusable, match="is no longer there; choose another file"):
        read_presets(tmp_path / "gone.json")
    with pytest.raises(FileUnusable, match="is not a file; choose"):
        read_presets(tmp_path)


def test_entries_that_make_no_sense_are_left_out_and_counted(tmp_path: Path) -> None:
    listed = [
        {"name": "Good", "sampling": {"temperature": 99, "top_k": 3, "unheard_of": 1}, "later": "x"},
        {"name": "Long", "system_prompt": "x" * (MOST_CHARACTERS + 1)},
        "no preset",
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content(presets=listed, prompts=[{"name": "x"}])))
    read = read_presets(path)
    assert read.presets == (Preset(0, "Good", sampling=OwnSampling(top_k=3)),)
    assert (read.prompts, read.num_unreadable) == ((), 3)
