"""The list of suggested models is checked and renewed against a hub on the loopback."""

from __future__ import annotations

import json
import runpy
from datetime import UTC, datetime
from pathlib import Path

import pytest
from huggingface_hub import close_session

from engine.backend.library.suggestions import read_suggestions
from tests.fakes.hub import serving

ROOT = Path(__file__).parents[3]


def test_what_the_hub_says_is_told_and_written_into_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(ROOT / "packaging" / "suggestions.py"))["main"]
    copy = tmp_path / "suggestions.json"
    text = (ROOT / "resources" / "suggestions.json").read_text("utf-8")
    copy.write_text(text, "utf-8")
    _gone, changed, *others = [each.file for each in read_suggestions(text)]
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        for file in (changed, *others):
            hub.models[file.repository] = {file.name: b"GGUF"}
            hub.false_sizes[file.name] = file.size_bytes
        hub.false_sizes[changed.name] += 5
        assert main([], copy) == 1
        told = capsys.readouterr().out.splitlines()
        assert [line.rsplit(": ", 1)[1] for line in told[:2]] == ["gone", f"{changed.size_bytes + 5:,} bytes by now"]
        assert not any("by now" in line for line in told[2:])
        assert copy.read_text("utf-8") == text
        main(["--renew"], copy)
        close_session()
    before, (first, second, *rest) = json.loads(text)["models"], json.loads(copy.read_text("utf-8"))["models"]
    assert first == before[0], "to be replaced by hand"
    assert second["size_bytes"] == changed.size_bytes + 5
    assert second["seen_in"] == [f"{hub.url}/{changed.repository}/blob/main/{changed.name}"]
    assert {each["seen_on"] for each in rest} == {datetime.now(UTC).date().isoformat()}
    assert [each["size_bytes"] for each in rest] == [each["size_bytes"] for each in before[2:]]
