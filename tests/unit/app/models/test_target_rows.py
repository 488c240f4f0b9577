from __future__ import annotations

from dataclasses import replace

from app.models.target_rows import hub_file_row, target_row, target_rows
from app.text.hub_files import FileAdvice, Fit, advise
from engine.values.targets import HeadMethod
from tests.unit.app.library_samples import GONE, HEAD, MAMBA, Q4, QWEN, STARTER_TARGET, TARGETS


def test_a_row_tells_size_quantization_and_architecture() -> None:
    row = target_row(QWEN, is_in_use=True)
    assert (row.title, row.tag) == ("qwen2.5-7b", "In use")
    assert row.subtitle == "4.7 GB · Q4_K_M · qwen2 · 7.6B"
    assert row.spoken == "qwen2.5-7b, In use, 4.7 GB · Q4_K_M · qwen2 · 7.6B"
    assert target_row(STARTER_TARGET).title == "smol (starter)"


def test_what_cannot_be_loaded_is_dimmed_and_says_why() -> None:
    row = target_row(GONE)
    assert row.dimmed
    assert row.subtitle == "The file is gone; plug it in."


def test_what_cannot_be_drafted_for_is_marked() -> None:
    row = target_row(MAMBA)
    assert row.subtitle.endswith("no speed-up")
    assert "It cannot take back what it has read." in row.tooltip


def test_who_brings_a_drafter_says_so_and_how_it_guesses() -> None:
    row = target_row(replace(QWEN, brings=HeadMethod.DFLASH))
    assert row.subtitle == "4.7 GB · Q4_K_M · qwen2 · 7.6B · brings its own drafter (DFlash)"
    assert target_row(HEAD).dimmed
    assert target_row(HEAD).subtitle == "It is a drafter made for one model."


def test_a_file_of_the_hub_counts_its_drafter_in() -> None:
    row = hub_file_row(FileAdvice(replace(Q4, head="eagle3.gguf", head_bytes=500_000_000), Fit.FITS))
    assert row.title == "Q4_K_M · 4.5 GB · brings its own drafter"
    row = hub_file_row(FileAdvice(replace(Q4, is_head=True), Fit.FITS))
    assert row.title == "Q4_K_M · 4.0 GB · only a drafter, made for one model"
    assert [each.is_recommended for each in advise([replace(Q4, is_head=True)], 1 << 40, 1 << 40)] == [False]


def test_words_find_names_kinds_and_sizes() -> None:
    def found(words: str) -> list[str]:
        return [row.title for row in target_rows(TARGETS, "", words)]

    assert found("") == ["smol (starter)", "qwen2.5-7b", "mamba", "gone"]
    assert found("QWEN 4.7") == ["qwen2.5-7b"]
    assert found("starter") == ["smol (starter)"]
    assert found("mamba q4") == ["mamba"]
    assert found("nothing like it") == []


def test_a_file_that_is_fast_here_says_so_and_why() -> None:
    fast, slow, unknown = (hub_file_row(FileAdvice(Q4, Fit.FITS, speed=speed)) for speed in (1.0, 0.6, 0.0))
    assert [row.tag for row in (fast, slow, unknown)] == ["fast here, fits", "fits", "fits"]
    assert "Fast on this computer" in fast.tooltip
    assert "0.60 times as fast" in slow.tooltip
    assert "fast" not in unknown.tooltip
