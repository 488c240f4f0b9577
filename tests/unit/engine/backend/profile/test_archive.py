"""The zip around a profile: written whole or not at all, and refused when anything about it is strange."""

from __future__ import annotations

import os
import struct
import sys
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from engine.backend.profile import archive
from engine.backend.profile.archive import read_archive, write_archive
from engine.values.errors import FileUnusable

from .conftest import write_zip

MEMBERS = {"manifest.json": b"{}", "ngrams/1.safetensors": bytes(range(256)) * 10}
LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "me.slipstream"


@pytest.fixture
def good(path: Path) -> Path:
    write_archive(path, MEMBERS)
    return path


def refused(path: Path) -> str:
    """Why, between the path and what to do."""
    with pytest.raises(FileUnusable) as caught:
        read_archive(path)
    sentence = str(caught.value)
    assert sentence.startswith((f"The profile {path} ", f"The file {path} ", f"There is no file {path}"))
    assert sentence.endswith(".")
    assert sentence.count(". ") == 0, "one sentence"
    assert "; " in sentence
    return sentence


def patched(path: Path, offset: int, new: bytes) -> Path:
    content = bytearray(path.read_bytes())
    content[offset : offset + len(new)] = new
    path.write_bytes(content)
    return path


def in_both_headers(path: Path, local_offset: int, central_offset: int, new: bytes) -> Path:
    """Changes a field of the first member where it stands in the file and in the directory."""
    content = path.read_bytes()
    patched(path, content.index(LOCAL) + local_offset, new)
    return patched(path, content.index(CENTRAL) + central_offset, new)


def test_members_come_back_and_the_same_ones_make_the_same_file(good: Path) -> None:
    assert read_archive(good) == MEMBERS
    content = good.read_bytes()
    write_archive(good, MEMBERS, overwrite=True)
    assert good.read_bytes() == content
    with zipfile.ZipFile(good) as opened:
        assert opened.testzip() is None


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_only_this_user_may_read_it(good: Path) -> None:
    assert good.stat().st_mode & 0o777 == 0o600


def test_what_is_there_is_overwritten_only_where_that_is_wanted(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(FileUnusable, match=r"already exists; choose another name, or add --force"):
        write_archive(path, MEMBERS)
    assert path.read_text() == "mine"
    write_archive(path, MEMBERS, overwrite=True)
    assert read_archive(path) == MEMBERS


def test_where_it_cannot_be_written_one_sentence_says_so(tmp_path: Path) -> None:
    for overwrite in (False, True):
        with pytest.raises(FileUnusable, match=r"A folder stands where .* should be; name a file\.$"):
            write_archive(tmp_path, MEMBERS, overwrite)
    with pytest.raises(FileUnusable, match=r"No such file or directory\); name a file in a folder"):
        write_archive(tmp_path / "missing" / "me.slipstream", MEMBERS)


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("mine")

    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FileUnusable, match="No space left on device"):
        write_archive(path, MEMBERS, overwrite=True)
    assert path.read_text() == "mine"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_too_much_is_not_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 100)
    with pytest.raises(FileUnusable, match="does not fit into a profile"):
        write_archive(path, MEMBERS)
    assert not path.exists()


def test_a_file_that_is_none_is_told_in_words(tmp_path: Path) -> None:
    assert "name a profile that was exported" in refused(tmp_path / "missing")
    assert "is not a file" in refused(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX pipes")
def test_a_pipe_does_not_keep_us_waiting(path: Path) -> None:
    os.mkfifo(path)
    assert "is not a file" in refused(path)


@pytest.mark.parametrize("content", [b"", b"PK", b"text " * 50, bytes(1000), b"PK\x03\x04" + bytes(500)])
def test_what_is_no_zip_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert "it is not a zip file" in refused(path)


def test_every_cut_is_noticed(good: Path) -> None:
    content = good.read_bytes()
    for length in range(0, len(content), 7):
        good.write_bytes(content[:length])
        refused(good)


@pytest.mark.parametrize("where", ["before", "after"])
def test_what_is_added_is_noticed(good: Path, where: str) -> None:
    content = good.read_bytes()
    good.write_bytes(b"more" + content if where == "before" else content + b"more")
    refused(good)


def test_a_file_that_is_too_large_is_not_read(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    monkeypatch.setattr(archive, "_MOST_DIRECTORY_BYTES", 500)
    assert "it is larger than" in refused(good)


@pytest.mark.parametrize(
    "name",
    [
        "../manifest.json",
        "/etc/passwd",
        "ngrams/../../1.safetensors",
        "ngrams\\1.safetensors",
        "C:/1.json",
        "ngrams/1.pickle",
        "ngrams/",
        "a/b/1.json",
        "MANIFEST.JSON",
        "manifest.json\x00.txt",
        "manifest.json\n",
        "märchen.json",
        ".json",
        "x" * 300 + ".exe",
    ],
)
def test_a_name_that_we_do_not_give_is_refused_and_nothing_is_unpacked(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "me.slipstream"
    info = zipfile.ZipInfo("?")
    info.filename = info.orig_filename = name
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("manifest.json", b"{}")
        opened.writestr(info, b"evil")
    assert "a member has a name that Slipstream never uses" in refused(path)
    assert [file.name for file in tmp_path.rglob("*")] == ["folder", "me.slipstream"]


def test_two_members_of_one_name_are_refused(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("manifest.json", b"{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            opened.writestr("manifest.json", b"[]")
    assert "two members have the same name" in refused(path)


def test_a_bomb_is_not_unpacked(path: Path) -> None:
    write_zip(path, {"manifest.json": bytes(200_000_000)}, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 300_000
    tracemalloc.start()
    try:
        assert "a member is compressed" in refused(path)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressed_members_are_refused(path: Path, kind: int) -> None:
    assert "a member is compressed" in refused(write_zip(path, MEMBERS, kind))


@pytest.mark.parametrize("flag", [0x1, 0x40, 0x2000])
def test_encrypted_members_are_refused(good: Path, flag: int) -> None:
    assert "a member is encrypted" in refused(in_both_headers(good, 6, 8, struct.pack("<H", flag)))


@pytest.mark.parametrize("size", [0, 1, 3, 2**20, 2**32 - 2])
def test_wrong_sizes_are_refused(good: Path, size: int) -> None:
    refused(in_both_headers(good, 18, 20, struct.pack("<LL", size, size)))


@pytest.mark.parametrize("size", [1, 2**31])
def test_a_size_that_is_not_that_of_what_is_stored_is_refused(good: Path, size: int) -> None:
    assert "a member is compressed" in refused(in_both_headers(good, 22, 24, struct.pack("<L", size)))


def test_members_that_lie_on_each_other_are_refused(path: Path) -> None:
    """Many members of one content: a small file that is large in memory."""
    write_zip(path, {f"ngrams/{place}.safetensors": bytes(1000 if place == 0 else 0) for place in range(100)})
    content = bytearray(path.read_bytes())
    position = content.index(CENTRAL)
    first = bytes(content[position + 16 : position + 28])  # its hash and sizes
    while (position := content.find(CENTRAL, position)) >= 0:
        content[position + 16 : position + 28] = first
        content[position + 42 : position + 46] = bytes(4)
        position += 1
    path.write_bytes(content)
    assert "larger than the file" in refused(path)


def test_too_many_members_are_refused(path: Path) -> None:
    write_zip(path, {f"ngrams/{place}.safetensors": b"" for place in range(archive.MOST_MEMBERS + 2)})
    assert "it has too many members" in refused(path)


def test_a_directory_that_says_that_it_is_huge_is_not_read(good: Path) -> None:
    end = good.stat().st_size - 22
    assert "too many members" in refused(patched(good, end + 12, struct.pack("<L", 2**31)))


def test_a_second_end_for_large_archives_is_refused(path: Path) -> None:
    """zipfile would believe that record, and not the one that was checked."""
    write_archive(path, MEMBERS)
    content = path.read_bytes()
    end, begin = content[-22:], content.index(CENTRAL)
    extra = b"PK\x06\x07" + bytes(16)
    size = struct.pack("<L", len(content) - 22 - begin + len(extra))
    path.write_bytes(content[:-22] + extra + end[:12] + size + end[16:])
    assert "it does not end the way Slipstream writes profiles" in refused(path)
