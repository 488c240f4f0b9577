"""What was read is found again, fits what it is found for, is bounded, and leaves with its chat."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.speculation.model.files import prompt_cache as readings_module
from engine.speculation.model.files.prompt_cache import (
    PART_TOKENS,
    CacheKey,
    PartUnusable,
    PromptCache,
    digest_of,
    read_part,
    read_tokens,
    write_part,
)
from engine.speculation.model.interface import SavedPart
from engine.values.config import PromptCacheSettings

KEY = CacheKey.of("file:1", "build 1")
TEXT = list(range(1000, 1000 + 3 * PART_TOKENS - 100))

GIGABYTE = PromptCacheSettings(1)


class Room(NamedTuple):
    free: int


@pytest.fixture
def kept(tmp_path: Path) -> PromptCache:
    return PromptCache(tmp_path, GIGABYTE)


def bytes_of(tokens: list[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.array(tokens, np.int64).view(np.uint8)


def keep(kept: PromptCache, chat: int, tokens: list[int], key: CacheKey = KEY, in_parts: bool = True) -> bool:
    """False where there is no room for all of them."""
    owner = kept.chat(chat)
    while (lacking := kept.lacking(key, tokens, in_parts)) is not None:
        own = tokens[lacking.start : lacking.end]
        if not kept.write(key, owner, lacking, own, SavedPart(bytes_of(own), lacking.start, lacking.end)):
            return False
    return True


def found(kept: PromptCache, tokens: list[int], key: CacheKey = KEY, can_cut: bool = True) -> int:
    """How many of these tokens are held, by parts whose bytes are those that were saved."""
    end = 0
    for step in kept.find(key, tokens, can_cut):
        saved = kept.read(step)
        if saved is None:
            break
        assert saved.start <= end
        assert saved.data.view(np.int64).tolist()[: step.end - saved.start] == tokens[saved.start : step.end]
        end = step.end
    return end


def files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "readings").rglob("*") if path.is_file())


def test_a_chat_is_found_again_by_a_later_start_and_grows(kept: PromptCache, tmp_path: Path) -> None:
    assert found(kept, TEXT) == 0
    assert keep(kept, 7, TEXT)
    assert kept.latest(KEY, 7) == TEXT
    later = PromptCache(tmp_path, GIGABYTE)
    assert later.measure() == kept.measure() == sum(path.stat().st_size for path in files(tmp_path))
    assert later.latest(KEY, 7) == TEXT
    assert later.latest(KEY, 8) == []
    assert found(later, [*TEXT, 5]) == len(TEXT)
    num_files = len(files(tmp_path))
    assert keep(later, 7, [*TEXT, 5, 6, 7])  # the last part takes the place of the shorter one
    assert len(files(tmp_path)) == num_files
    assert later.latest(KEY, 7) == [*TEXT, 5, 6, 7]


def test_a_common_beginning_is_shared_and_cut_where_that_can_be(kept: PromptCache, tmp_path: Path) -> None:
    keep(kept, 7, TEXT)
    num_files = len(files(tmp_path))
    other = [*TEXT[: PART_TOKENS + 50], *range(300)]
    assert found(kept, other) == PART_TOKENS + 50
    assert found(kept, other, can_cut=False) == PART_TOKENS
    assert found(kept, other, KEY.of("file:2", "build 1")) == 0
    keep(kept, 8, other)
    assert len(files(tmp_path)) == num_files + 2  # of the second part on
    assert kept.latest(KEY, 8) == other
    assert kept.latest(KEY, 7) == TEXT


def test_a_target_that_is_saved_as_a_whole_is_found_where_the_prompt_goes_on_from_it(kept: PromptCache) -> None:
    keep(kept, 7, TEXT, in_parts=False)
    keep(kept, 7, [*TEXT, 1], in_parts=False)
    assert found(kept, [*TEXT, 1, 2], can_cut=False) == len(TEXT) + 1
    assert found(kept, [*TEXT, 2], can_cut=False) == 0


def test_what_another_build_has_read_leaves(kept: PromptCache, tmp_path: Path) -> None:
    keep(kept, 7, TEXT)
    other_model = CacheKey.of("file:2", "build 1")
    keep(kept, 7, TEXT, other_model)
    kept.drop_other_layouts(CacheKey.of("file:1", "build 2"))
    assert found(kept, TEXT) == 0
    assert found(kept, TEXT, other_model) == len(TEXT)
    assert len(files(tmp_path)) == 3


def test_it_leaves_with_its_chat(kept: PromptCache, tmp_path: Path) -> None:
    for chat in (7, 8, 9):
        keep(kept, chat, [chat, *TEXT])
    kept.forget(7)
    assert found(kept, [7, *TEXT]) == 0
    assert {path.parent.name for path in files(tmp_path)} == {"8", "9"}
    (tmp_path / "readings" / "8" / ".x.part").touch()  # that was being written when the program was killed
    PromptCache(tmp_path, GIGABYTE).forget_others({9})
    assert {path.parent.name for path in files(tmp_path)} == {"9"}
    kept.forget_all()
    assert files(tmp_path) == []
    assert kept.measure() == 0


def test_what_is_being_written_of_a_chat_that_is_forgotten_is_not_kept(kept: PromptCache, tmp_path: Path) -> None:
    owner = kept.chat(7)
    lacking = kept.lacking(KEY, TEXT, in_parts=True)
    assert lacking is not None
    kept.forget(7)
    assert kept.chat(7) is not owner
    assert not kept.write(KEY, owner, lacking, TEXT[:PART_TOKENS], SavedPart(bytes_of(TEXT), 0, PART_TOKENS))
    assert files(tmp_path) == []


def test_the_chats_that_were_used_longest_ago_leave_for_new_ones(kept: PromptCache, tmp_path: Path) -> None:
    for age, chat in enumerate((7, 8, 9)):
        keep(kept, chat, [chat, *TEXT])
        for path in files(tmp_path):
            if path.parent.name == str(chat):
                os.utime(path, (1000 + age, 1000 + age))
    kept = PromptCache(tmp_path, GIGABYTE)
    assert found(kept, [7, *TEXT]) > 0  # it is used again
    kept.budget_bytes = kept.measure()
    assert keep(kept, 10, [10, *TEXT])
    assert {path.parent.name for path in files(tmp_path)} == {"7", "9", "10"}
    assert kept.measure() <= kept.budget_bytes
    kept.budget_bytes = kept.measure() // 6
    assert not keep(kept, 11, [11, *TEXT])  # which alone is too large
    assert kept.measure() <= kept.budget_bytes
    assert kept.use(PromptCacheSettings(0)) == 0
    assert files(tmp_path) == []


@pytest.mark.parametrize("what", ["full", "unwritable", "failing"])
def test_a_full_disk_keeps_nothing_and_says_so_in_the_log(
    what: str, kept: PromptCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if what == "full":
        monkeypatch.setattr(shutil, "disk_usage", lambda _path: Room(1000))
    elif what == "unwritable":
        (tmp_path / "readings").touch()
    else:

        def fail(*_arguments: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(readings_module, "write_part", fail)
    assert not keep(kept, 7, TEXT)
    assert found(kept, TEXT) == 0
    assert what == "full" or "is not kept" in caplog.text
    assert kept.measure() == 0


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_never_believed(data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "one.read"
    tokens = list(range(40))
    write_part(path, KEY, KEY.root, tokens, SavedPart(bytes_of(tokens), 0, 40))
    whole = path.read_bytes()
    assert read_part(path, KEY, KEY.root).data.tobytes() == bytes_of(tokens).tobytes()
    if data.draw(st.booleans()):
        damaged = bytearray(whole)
        damaged[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    else:
        damaged = bytearray(whole[: data.draw(st.integers(0, len(whole) - 1))]) + data.draw(st.binary(max_size=9))
    path.write_bytes(damaged)
    if damaged == whole:
        return
    with pytest.raises(PartUnusable):
        read_part(path, KEY, KEY.root)
    try:
        read = read_tokens(path, KEY, KEY.root)
    except PartUnusable:
        return
    assert read.tolist() == tokens or digest_of(KEY.root, read) != digest_of(KEY.root, tokens)


@pytest.mark.parametrize("place", [0, 60, 100, 2000, -1])
def test_a_damaged_part_is_removed_and_read_again(place: int, kept: PromptCache, tmp_path: Path) -> None:
    keep(kept, 7, TEXT)
    second = next(step.part for step in kept.find(KEY, TEXT, can_cut=True) if step.end == 2 * PART_TOKENS)
    content = bytearray(second.path.read_bytes())
    content[place] ^= 255
    second.path.write_bytes(content)
    later = PromptCache(tmp_path, GIGABYTE)
    assert found(later, TEXT) == PART_TOKENS
    assert not second.path.exists()
    assert keep(later, 7, TEXT)
    assert found(later, TEXT) == len(TEXT)


def test_names_that_follow_each_other_in_a_circle_end(kept: PromptCache, tmp_path: Path) -> None:
    folder = tmp_path / "readings" / "7"
    folder.mkdir(parents=True)
    one, other = (digest_of(KEY.root, [number]).hex() for number in (1, 2))
    for follows, digest in ((one, other), (other, one), (one, one)):
        (folder / f"{KEY.model.hex()}-{KEY.layout.hex()}-{follows}-{digest}.read").touch()
    (folder / "notes.txt").touch()
    assert kept.latest(KEY, 7) == []
    assert found(kept, TEXT) == 0
