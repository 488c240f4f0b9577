"""`slipstream distill` on the real starter, for seconds only: a drafter comes out that loads and can be used."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors import safe_open
from typer.testing import CliRunner

from app.commands.cli import application
from engine.lab.distillation.cut import GgufSource
from engine.speculation.drafter.checkpoint import load_drafter
from engine.speculation.model.interface import Target
from engine.values.errors import MendableError

pytestmark = pytest.mark.starter

_PATIENCE_S = 120.0


@pytest.fixture(autouse=True)
def _opened_already(starter_weights: GgufSource, monkeypatch: pytest.MonkeyPatch) -> None:
    """The starter's file, which every command in this process would open for seconds. Replies are short."""
    monkeypatch.setattr("engine.lab.distillation.target_side.GgufSource", lambda _path: starter_weights)
    monkeypatch.setattr("engine.lab.distillation.target_side._JUDGED_TOKENS", 16)
    monkeypatch.setattr("engine.lab.distillation.invent._MAX_REPLY_TOKENS", 24)


@pytest.fixture
def corpus(fresh_starter: Target, tmp_path: Path) -> Path:
    path = tmp_path / "conversations.jsonl"
    lines = []
    for number in range(4):
        prompt = f"<|im_start|>user\nCount to {number + 3}.<|im_end|>\n<|im_start|>assistant\n"
        before = fresh_starter.tokenize(prompt)
        reply = fresh_starter.tokenize(" ".join(map(str, range(1, number + 4))) + "<|im_end|>")
        lines.append(json.dumps({"ids": [*before, *reply], "a": len(before)}))
    path.write_text("\n".join(lines))
    return path


def given(corpus: Path) -> list[str]:
    return ["--corpus", str(corpus), "--held-back", str(corpus), "--layers", "0", "--vocabulary", "500"]


def distill(out: Path, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(application, ["distill", "--out", str(out), *arguments])
    if isinstance(result.exception, MendableError):  # what `main` turns into a sentence and this exit code
        return 2, str(result.exception)
    return result.exit_code, result.output


def test_a_drafter_is_made_that_can_be_used_and_trained_on(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "drafter"
    code, output = distill(folder, *given(corpus), "--outputs", "400", "--minutes", "0.05", "--judge-every", "0.02")
    assert code == 0, output
    assert output.count("tokens per round") >= 2  # on the way, and at the end
    assert sorted(file.name for file in folder.iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    drafter = load_drafter(folder, "cpu", 1)
    assert len(drafter.tokenizer.pieces) == 500
    tokens = drafter.tokenizer.encode("Wörter 123 🙂".encode())
    assert tokens is not None
    assert b"".join(drafter.tokenizer.pieces[token] for token in tokens).decode() == "Wörter 123 🙂"
    assert drafter.model.read(tokens).shape == (400,)
    card = (folder / "README.md").read_text()
    assert "layer 0" in card
    assert "known (100% of the tokens" in card
    assert all(line[0] == line[-1] == "|" for line in card.splitlines() if "|" in line)  # rows of tables are whole
    code, output = distill(folder, *given(corpus))
    assert (code, "exists already" in output) == (2, True)

    second = tmp_path / "second"
    code, output = distill(second, "--corpus", str(corpus), "--start", str(folder), "--no-labels", "--minutes", "0.02")
    assert code == 0, output
    assert load_drafter(second, "cpu", 1).model.shape == drafter.model.shape
    assert "the drafter of the folder `drafter`, trained on" in (second / "README.md").read_text()


def test_the_target_writes_its_own_corpus(tmp_path: Path) -> None:
    arguments = [
        "--conversations",
        "3",
        "--layers",
        "0",
        "--vocabulary",
        "500",
        "--outputs",
        "400",
        "--minutes",
        "0.02",
    ]
    code, output = distill(tmp_path / "drafter", *arguments)
    assert code == 0, output
    lines = (tmp_path / "drafter.work" / "corpus" / "00000.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["n"] for line in lines) == [0, 1, 2]
    card = (tmp_path / "drafter" / "README.md").read_text()
    assert "3 that it invented" in card
    assert "(0% of the tokens" not in card  # the labels that came with it are used


def test_killed_it_goes_on_where_it_was(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "drafter"
    arguments = ["--out", str(folder), *given(corpus), "--judge-every", "0.01"]
    command = [sys.executable, "-m", "app.commands.cli", "distill", *arguments, "--minutes", "30"]
    checkpoint = tmp_path / "drafter.work" / "checkpoint.safetensors"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ) as process:
        deadline = time.monotonic() + _PATIENCE_S
        try:
            while not checkpoint.exists():
                assert process.poll() is None, process.stderr.read() if process.stderr else ""
                assert time.monotonic() < deadline
                time.sleep(0.05)
        finally:
            process.send_signal(signal.SIGKILL)
    assert not folder.exists()
    with safe_open(checkpoint, "pt") as file:
        state = json.loads(file.metadata()["state"])
    assert state["step"] > 0
    code, output = distill(folder, *given(corpus), "--minutes", "0.01")  # which were over when it was killed
    assert code == 0, output
    assert f"{state['step']:,} steps in 0 minutes" in (folder / "README.md").read_text()
    code, output = distill(tmp_path / "x", *given(corpus), "--work", str(checkpoint.parent), "--seed", "1")
    assert (code, "begun with other settings" in output) == (2, True)
    corpus.write_text(corpus.read_text().splitlines()[0])
    code, output = distill(tmp_path / "x", *given(corpus), "--work", str(checkpoint.parent))
    assert (code, "other settings or texts" in output) == (2, True)


def test_what_cannot_be_made_is_told_in_a_sentence(corpus: Path, tmp_path: Path) -> None:
    brief = ["--corpus", str(corpus), "--no-labels", "--minutes", "0.02"]
    code, output = distill(tmp_path / "a", *brief, "--layers", "0,99")
    assert (code, "layers 0 to 29" in output) == (2, True)
    code, output = distill(tmp_path / "b", "--corpus", str(tmp_path / "nothing"), "--layers", "0")
    assert (code, "cannot be read" in output) == (2, True)
    code, output = distill(tmp_path / "c", *brief, "--start", str(tmp_path / "nowhere"))
    assert (code, "nowhere" in output) == (2, True)
    code, output = distill(tmp_path / "d", *brief, "--trace", "no equals sign")
    assert code == 2
    code, output = distill(tmp_path / "d", *brief, "--trace", f"{corpus}={tmp_path / 'nothing.jsonl'}")
    assert (code, "cannot be read as a file of prompts" in output) == (2, True)
    assert not any((tmp_path / name).exists() for name in "abcd")
