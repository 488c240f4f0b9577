"""`slipstream distill` on the real starter, for seconds only: a drafter comes out that loads and can be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import application
from engine.drafter.checkpoint import load_drafter
from engine.errors import MendableError
from engine.target.interface import Target

pytestmark = pytest.mark.starter


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


def distill(corpus: Path, out: Path, *more: str) -> tuple[int, str]:
    arguments = ["distill", "--corpus", str(corpus), "--held-back", str(corpus), "--out", str(out), *more]
    result = CliRunner().invoke(application, arguments)
    if isinstance(result.exception, MendableError):  # what `main` turns into a sentence and this exit code
        return 2, str(result.exception)
    return result.exit_code, result.output


def test_a_drafter_is_made_that_can_be_used(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "drafter"
    code, output = distill(corpus, folder, "--layers", "0", "--vocabulary", "400", "--minutes", "0.02")
    assert code == 0, output
    assert sorted(file.name for file in folder.iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    drafter = load_drafter(folder, "cpu", 1)
    assert len(drafter.tokenizer.pieces) == 400
    tokens = drafter.tokenizer.encode("Wörter 123 🙂".encode())
    assert tokens is not None
    assert b"".join(drafter.tokenizer.pieces[token] for token in tokens).decode() == "Wörter 123 🙂"
    assert drafter.model.read(tokens).shape == (400,)
    assert "layers 0;" in (folder / "README.md").read_text()
    code, output = distill(corpus, folder)
    assert (code, "exists already" in output) == (2, True)


def test_what_cannot_be_made_is_told_in_a_sentence(corpus: Path, tmp_path: Path) -> None:
    code, output = distill(corpus, tmp_path / "a", "--layers", "0,99", "--minutes", "0.02")
    assert (code, "layers 0 to 29" in output) == (2, True)
    code, output = distill(tmp_path / "nothing", tmp_path / "b", "--layers", "0", "--minutes", "0.02")
    assert (code, "cannot be read" in output) == (2, True)
    assert not (tmp_path / "a").exists()
