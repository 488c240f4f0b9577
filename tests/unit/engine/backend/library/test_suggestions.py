"""The suggested models: what their list says, and how fast they are expected to be."""

from __future__ import annotations

import json
from datetime import date
from importlib.resources import files

import pytest

from engine.backend.library.suggestions import expected_speed, read_suggestions
from engine.values.targets import Purpose

GB = 1_000_000_000
TEXT = (files("resources") / "suggestions.json").read_text("utf-8")


def test_the_list_tells_of_every_model_what_was_seen_and_where() -> None:
    suggestions = read_suggestions()
    assert 5 <= len(suggestions) <= 8
    assert {each.purpose for each in suggestions} == set(Purpose)
    assert len({each.file for each in suggestions}) == len(suggestions)
    assert all(each.file.quantization and each.file.num_parts == 1 for each in suggestions)
    assert all(each.seen_on <= date.today() for each in suggestions)
    sizes = [each.file.size_bytes for each in suggestions]
    assert min(sizes) < 1.5 * GB
    assert max(sizes) > 8 * GB, "there is something for small and for large machines"


@pytest.mark.parametrize(
    "change",
    [
        {"repository": "no-owner"},
        {"repository": "../x"},
        {"file": "../../model.gguf"},
        {"file": "model.bin"},
        {"size_bytes": -1},
        {"size_bytes": 10**15},
        {"read_share": 0},
        {"name": " "},
        {"purpose": "everything"},
        {"seen_in": ["file:///etc/passwd"]},
        {"seen_in": []},
        {"seen_on": "lately"},
        {"more": 1},
    ],
    ids=str,
)
def test_a_list_that_makes_no_sense_is_refused(change: dict[str, object]) -> None:
    content = json.loads(TEXT)
    content["models"][0] |= change
    with pytest.raises(ValueError, match="validation error"):
        read_suggestions(json.dumps(content))


def test_speeds_go_by_the_bytes_of_the_nearest_target_that_was_measured() -> None:
    assert expected_speed(2 * GB, ()) == 0, "nothing was measured"
    measured = [(4 * GB, 0.2)]
    assert expected_speed(4 * GB, measured) == pytest.approx(5), "the same again"
    assert expected_speed(2 * GB, measured) == pytest.approx(10, rel=0.05)
    assert expected_speed(0.11 * 2 * GB, measured) == pytest.approx(50, rel=0.15)
    assert expected_speed(2 * GB, [(GB // 10, 0.001), *measured]) == expected_speed(2 * GB, measured)


@pytest.mark.parametrize(("starter_s", "body_s"), [(0.0073, 0.055), (0.0070, 0.072)])
def test_an_estimate_from_the_starter_meets_what_a_larger_body_took(starter_s: float, body_s: float) -> None:
    """The starter and a body in the shape of Llama 3.2 3B, both on a quiet machine, with two builds of llama.cpp."""
    assert 1 / expected_speed(2_015_408_672, [(98_362_432, starter_s)]) == pytest.approx(body_s, rel=0.2)
