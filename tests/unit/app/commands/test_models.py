"""`slipstream models`: the library in the terminal, with a hub on the loopback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session

from app.commands import cli
from engine import data_dir
from tests.fakes.gguf import TINY, gguf, write
from tests.fakes.hub import FakeHub, serving

NAME = "somebody/Tiny-GGUF"
Models = Callable[..., tuple[int, str]]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Models:
    """Runs a command; its exit code and all that it said."""

    def run(*arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["slipstream", "models", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out + captured.err

    return run


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.models[NAME] = {f"tiny-{kind}.gguf": gguf({**TINY, "kind": kind}) for kind in ("Q4_K_M", "Q8_0")}
        yield hub
        close_session()


def test_models_are_added_listed_and_removed(models: Models, tmp_path: Path) -> None:
    path = write(tmp_path / "x" / "tiny.gguf")
    assert models("add", tmp_path / "x") == (0, "tiny is in the library.\n")
    assert models("add", path) == (0, "All of it is in the library already.\n")
    code, output = models("list")
    assert code == 0
    assert any(line.split()[:2] == ["tiny", "0M"] and str(path) in line for line in output.splitlines())
    assert models("remove", "tiny") == (0, f"tiny is no longer in the library. Its file stays: {path}\n")
    assert models("remove", "tiny")[0] == 2
    models("add", path)
    assert models("remove", path, "--delete-file")[0] == 0
    assert not path.exists()


def test_what_goes_wrong_is_one_sentence_and_exit_code_2(models: Models, tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"PK")
    expected = "a.gguf is not in the GGUF format; choose another model file.\n"
    assert models("add", tmp_path / "a.gguf") == (2, expected)


@pytest.mark.starter
def test_the_starter_stays(models: Models) -> None:
    assert models("remove", "starter") == (2, "The starter model belongs to Slipstream and stays in the list.\n")
    assert "135M" in models("list")[1]


def test_a_missing_file_is_told_beside_the_list(models: Models, tmp_path: Path) -> None:
    path = write(tmp_path / "tiny.gguf")
    models("add", path)
    path.unlink()
    assert f"tiny: The file {path} is gone" in models("list")[1]


@pytest.mark.usefixtures("hub")
def test_a_model_is_downloaded_by_its_quantization_or_name(models: Models) -> None:
    code, output = models("download", NAME, "q8_0")
    path = data_dir() / "models" / "somebody--Tiny-GGUF" / "tiny-Q8_0.gguf"
    assert (code, output) == (0, f"{NAME} (Q8_0) is in the library: {path}\n")
    assert models("download", NAME, "tiny-Q4_K_M.gguf")[0] == 0
    assert models("list")[1].count("tiny-Q") == 4  # names and files


@pytest.mark.usefixtures("hub")
def test_without_a_file_there_is_a_list_of_them(models: Models) -> None:
    code, output = models("download", NAME)
    assert code == 2
    assert "tiny-Q4_K_M.gguf" in output
    assert output.endswith(
        f"{NAME} has 2 models; name one of the files above, or a quantization such as Q4_K_M.\n"
    ) or output.endswith("a quantization such as Q8_0.\n")
    assert models("download", NAME, "Q2_K")[0] == 2


def test_a_paused_download_is_listed(models: Models, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.backend.hub.fetching._PAUSE_S", 0.01)
    hub.models[NAME] = {"tiny.gguf": gguf({**TINY, "filler": "x" * 20_000})}
    hub.cut_after["tiny.gguf"] = [9000, 0, 0, 0]
    assert models("download", NAME)[0] == 2
    assert f"`slipstream models download {NAME} tiny.gguf` goes on." in models("list")[1]
    assert models("download", NAME)[0] == 0
    assert "goes on" not in models("list")[1]
