"""`slipstream bench` as a user runs it: in a process of its own, where it measures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.commands.cli import application
from engine.values.errors import MendableError

DATA = Path(__file__).parents[3] / "shared" / "data"


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def refused(*arguments: str) -> str:
    """The sentence that ends it."""
    error = CliRunner().invoke(application, ["bench", *arguments]).exception
    assert isinstance(error, MendableError)
    return str(error)


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    lines = [{"id": "a", "turns": ["Name three colours."]}, {"id": "b", "turns": ["Count to five.", "And back."]}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.starter
def test_the_starter_is_measured_and_the_report_is_whole(prompts: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    result = bench("--prompts", str(prompts), "--modes", "plain", "--max-tokens", "16", "--json", str(out))
    assert (result.returncode, result.stderr) == (0, "")
    assert "plain: own overhead" in result.stdout
    report = json.loads(out.read_text())
    assert report["simulated"] is False
    assert report["machine"]["threads"] >= 1
    assert [record["id"] for record in report["prompts"]] == ["a", "b-t1", "b-t2"]
    figures = report["modes"]["plain"]
    assert 3 < figures["tokens"] <= 48
    assert figures["drafted"] == 0
    assert figures["tokens_per_round"] == 1
    assert figures["identical"] == 3
    assert figures["ratio_to_plain"]["median"] == 1
    assert sum(figures["ms"].values()) == pytest.approx(figures["wall_s"] * 1e3, rel=0.01)
    assert figures["ms"]["target"] > figures["ms"]["other"] >= 0


def test_a_mode_that_does_not_exist_is_one_sentence(prompts: Path) -> None:
    sentence = refused("--prompts", str(prompts), "--modes", "plain,guess")
    assert sentence.startswith("There is no mode “guess”; choose from plain, auto, ")


def test_a_missing_file_of_prompts_is_one_sentence(tmp_path: Path) -> None:
    sentence = refused("--prompts", str(tmp_path / "missing.jsonl"), "--modes", "plain")
    assert "cannot be read as a file of prompts" in sentence


def test_a_report_that_cannot_be_written_is_refused_before_measuring(prompts: Path, tmp_path: Path) -> None:
    assert "cannot be written" in refused(
        "--prompts", str(prompts), "--json", str(tmp_path / "missing" / "report.json")
    )


@pytest.mark.shared_data
@pytest.mark.skipif(not DATA.exists(), reason="the shared measuring data is not here")
def test_recorded_replies_are_replayed_in_their_vocabulary(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    result = bench(
        *("--target", f"trace:{DATA / 'vocabs' / 'ggml-vocab-llama-bpe.gguf'}"),
        *("--prompts", str(DATA / "traces" / "llama-3-8b-instruct.jsonl")),
        *("--limit", "3", "--modes", "plain", "--max-tokens", "32", "--json", str(out)),
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "simulated" in result.stdout
    report = json.loads(out.read_text())
    assert report["simulated"] is True
    figures = report["modes"]["plain"]
    assert figures["tokens"] == 96
    assert figures["wall_s"] == pytest.approx(3 * 31 * 0.03)
    assert figures["by_task"]["chat"]["num_prompts"] == 3
