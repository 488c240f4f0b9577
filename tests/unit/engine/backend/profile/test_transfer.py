"""A profile carries what was learned to another store, all of it or nothing."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from engine.backend.profile import contents, members
from engine.backend.profile.archive import read_archive
from engine.backend.profile.transfer import export_profile, import_profile, read_profile, summarize_profile
from engine.backend.storage import Repository
from engine.values.errors import FileUnusable
from engine.values.learned import ImportOutcome, Learned, NgramRecord, RecallSize
from engine.values.targets import TargetSource

from .conftest import DRAFTER, TARGET, TOKENIZER, TYPED, WEIGHTS, Members, write_zip

ALL = 10**9
Change = Callable[[Members], object]


def state(repository: Repository) -> list[Any]:
    """Everything that a profile can change, in a form that can be compared."""
    learned = repository.load_learned(ALL)
    return [
        {pair: set(ngrams) for pair, ngrams in learned.ngrams.items()},
        learned.adapters,
        {vocabulary: [text.tolist() for text in texts] for vocabulary, texts in learned.recall.items()},
    ]


def carried(learned: Learned) -> list[Any]:
    return [
        {pair: set(ngrams) for pair, ngrams in learned.ngrams.items()},
        {pair: tuple(adapters) for pair, adapters in learned.adapters.items()},
        {vocabulary: [text.tolist() for text in texts] for vocabulary, texts in learned.recall.items()},
        learned.statistics,
    ]


def refused(path: Path, repository: Repository) -> str:
    """Why; the store is as it was, whether the profile was to be joined with it or to replace it."""
    before = state(repository)
    sentences = set()
    for replace in (False, True):
        with pytest.raises(FileUnusable) as caught:
            import_profile(repository, path, replace)
        sentences.add(str(caught.value))
    assert state(repository) == before
    (sentence,) = sentences
    assert sentence.startswith(f"The profile {path} ")
    assert sentence.endswith(".")
    assert sentence.isprintable()
    return sentence


def test_what_is_exported_is_imported_elsewhere(taught: Repository, other: Repository, profile: Path) -> None:
    assert import_profile(other, profile) == ImportOutcome(3, 2, 1, 2)
    assert set(other.load_ngrams(TARGET, TOKENIZER)) == set(taught.load_ngrams(TARGET, TOKENIZER))
    assert other.load_ngrams("x", TOKENIZER) == (NgramRecord((9, 9, 9), 4, 2**40, 0, 7),)
    adapter = other.published_adapter(TARGET, DRAFTER)
    assert adapter is not None
    assert adapter.weights == WEIGHTS[0]
    (newer, older), theirs = (each.list_adapters(TARGET, DRAFTER) for each in (taught, other))
    assert [(each.after, each.created_at, each.is_published) for each in theirs] == [
        (newer.after, newer.created_at, False),
        (older.after, older.created_at, True),
    ]
    assert [text.tokens.tolist() for text in other.load_recall(TARGET, ALL)] == [TYPED, [7]]
    assert other.list_conversations() == ()


def test_importing_again_changes_nothing_here_or_there(taught: Repository, other: Repository, profile: Path) -> None:
    import_profile(other, profile)
    for store in (other, taught):
        before = state(store)
        assert import_profile(store, profile) == ImportOutcome(0, 0, 0, 0)
        assert state(store) == before


def test_replacing_leaves_what_the_profile_holds(other: Repository, profile: Path) -> None:
    other.save_ngrams("old", TOKENIZER, [NgramRecord((1,), 1, 1, 0, 0)])
    other.save_adapter(TARGET, DRAFTER, 2.0, 3.0, 30, 200, WEIGHTS[1] + b"")
    import_profile(other, profile, replace=True)
    assert other.load_ngrams("old", TOKENIZER) == ()
    adapter = other.published_adapter(TARGET, DRAFTER)
    assert adapter is not None
    assert adapter.weights == WEIGHTS[0]
    assert len(other.list_adapters(TARGET, DRAFTER)) == 2


def test_what_was_typed_travels_only_where_it_is_asked_for(taught: Repository, tmp_path: Path) -> None:
    path = tmp_path / "me.slipstream"
    typed = np.array(TYPED, "<i4").tobytes()
    export_profile(taught, path)
    assert read_profile(path).learned.recall == {}
    assert typed not in path.read_bytes()
    export_profile(taught, path, with_recall=True, overwrite=True)
    content = path.read_bytes()
    assert typed in content
    for never in (b"secret", b"Be kind", np.array([51, 52], "<i4").tobytes()):
        assert never not in content


def test_a_store_that_learned_nothing_makes_a_profile_of_nothing(other: Repository, tmp_path: Path) -> None:
    path = tmp_path / "me.slipstream"
    export_profile(other, path, with_recall=True)
    assert sorted(read_archive(path)) == ["manifest.json", "statistics.json"]
    assert import_profile(other, path) == ImportOutcome(0, 0, 0, 0)


def test_a_look_into_a_profile_tells_what_it_holds(taught: Repository, profile: Path) -> None:
    found = summarize_profile(profile)
    assert found.program.startswith("0.")
    learned = found.learned
    assert learned.ngrams == {(TARGET, TOKENIZER): 2, ("x", TOKENIZER): 1}
    adapters = taught.list_adapters(TARGET, DRAFTER)
    assert learned.adapters == {(TARGET, DRAFTER): tuple(dataclasses.replace(each, ordinal=0) for each in adapters)}
    assert learned.recall == {TARGET: RecallSize(2, 4)}
    assert learned.lessons == {}
    (target,) = learned.statistics
    assert (target.name, target.num_replies, target.num_tokens) == ("tiny\ufffd[2J", 1, 41)
    assert target.speedup == 2.0


def test_a_profile_names_the_models_of_what_is_in_it_and_no_others(taught: Repository, tmp_path: Path) -> None:
    taught.remember_target(TargetSource(Path("/b.gguf"), "elsewhere", 1, "file:b"), "another vocabulary")
    path = tmp_path / "names.slipstream"
    export_profile(taught, path)
    assert summarize_profile(path).learned.target_names == {TARGET: ("tiny\ufffd[2J",)}, "without control codes"
    members = Members(path)
    members.manifest["names"].append({"vocabulary": "of nothing in it", "names": ["x"]})
    assert [*summarize_profile(members.write(path)).learned.target_names] == [TARGET]
    del members.manifest["names"]
    assert summarize_profile(members.write(path)).learned.target_names == {}, "as older programs wrote it"


def test_the_manifest_names_every_member_with_its_size_and_hash(profile: Path) -> None:
    members = Members(profile)
    told = members.manifest["members"]
    assert [member["name"] for member in told] == list(members.contents)
    members.list_anew()
    assert members.manifest["members"] == told
    assert members.manifest["format"] == 1
    with zipfile.ZipFile(profile) as opened:
        assert opened.namelist()[0] == "manifest.json"


def test_an_adapter_in_the_store_that_is_no_safetensors_stays_behind(taught: Repository, tmp_path: Path) -> None:
    taught.save_adapter(TARGET, DRAFTER, 2.0, 2.5, 30, 200, b"no safetensors")
    path = tmp_path / "me.slipstream"
    export_profile(taught, path)
    (found,) = read_profile(path).learned.adapters.values()
    assert [adapter.weights for adapter in found] == WEIGHTS


def test_what_is_written_anew_by_hand_is_taken(other: Repository, profile: Path) -> None:
    """So that the refusals below are not due to the way in which these tests write."""
    members = Members(profile)
    members.list_anew()
    assert import_profile(other, members.write(profile)).num_adapters == 2


def set_in(*keys: str | int, to: Any) -> Change:
    def change(members: Members) -> None:
        place = members.manifest
        for key in keys[:-1]:
            place = place[key]  # type: ignore[index]
        place[keys[-1]] = to  # type: ignore[index]

    return change


def drop(*keys: str | int) -> Change:
    def change(members: Members) -> None:
        place = members.manifest
        for key in keys[:-1]:
            place = place[key]  # type: ignore[index]
        del place[keys[-1]]  # type: ignore[arg-type]

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_in("format", to=0),
        set_in("format", to="1"),
        set_in("format", to=True),
        drop("format"),
        drop("members"),
        drop("created_at"),
        set_in("more", to=1),
        set_in("program", to="1\x1b[2J"),
        set_in("program", to=""),
        set_in("program", to="x" * 10_000),
        set_in("created_at", to="yesterday"),
        set_in("created_at", to="2026-01-02T03:04:05"),
        set_in("created_at", to="0001-01-01T00:00:00+14:00"),
        set_in("created_at", to=1e300),
        set_in("members", to={}),
        set_in("members", 0, "size", to=-1),
        set_in("members", 0, "size", to=10**400),
        set_in("members", 0, "sha256", to="0"),
        set_in("ngrams", 0, "target", to=""),
        set_in("ngrams", 0, "target", to="\ud800"),
        set_in("ngrams", 0, "target", to="x" * 1000),
        set_in("ngrams", 0, "drafter", to=None),
        set_in("adapters", 0, "number", to=1.5),
        set_in("adapters", 0, "number", to=2**70),
        set_in("adapters", 0, "before", to=float("nan")),
        set_in("adapters", 0, "after", to=float("inf")),
        set_in("adapters", 0, "after", to=-1.0),
        set_in("adapters", 0, "num_learned", to=-1),
        set_in("adapters", 0, "is_published", to="no"),
        set_in("adapters", 0, "created_at", to="9999-12-31T23:59:59-14:00"),
        set_in("adapters", to=None),
        set_in("recall", 0, "vocabulary", to=7),
    ],
)
def test_a_manifest_that_we_do_not_write_is_refused(other: Repository, profile: Path, change: Change) -> None:
    members = Members(profile)
    change(members)
    assert "its manifest is not in Slipstream's form" in refused(members.write(profile), other)


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff\xfe",
        b"[" * 1_000_000,
        b'{"format":' * 200_000,
        b'{"format": ' + b"9" * 100_000 + b"}",
        b'{"format": 1, "members": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"format": 1e999}',
        b'{"format": 1' + b" " * 2**23 + b"}",
    ],
)
def test_a_manifest_that_is_no_json_of_ours_is_refused(other: Repository, tmp_path: Path, manifest: bytes) -> None:
    path = write_zip(tmp_path / "me.slipstream", {"manifest.json": manifest, "statistics.json": b'{"targets":[]}'})
    assert "manifest" in refused(path, other) or manifest.startswith(b'{"format": 9')


def test_without_a_manifest_it_is_no_profile(other: Repository, tmp_path: Path) -> None:
    assert "it has no manifest" in refused(write_zip(tmp_path / "me.slipstream", {"other.json": b"{}"}), other)
    assert "it has no manifest" in refused(write_zip(tmp_path / "me.slipstream", {}), other)


@pytest.mark.parametrize("number", [2, 10**30])
def test_a_newer_version_is_told_apart_from_damage(other: Repository, tmp_path: Path, number: int) -> None:
    manifest = json.dumps({"format": number, "all else": "is different"}).encode()
    sentence = refused(write_zip(tmp_path / "me.slipstream", {"manifest.json": manifest}), other)
    assert "was written by a newer version of Slipstream; install that version" in sentence


def rename(members: Members) -> None:
    members.contents["other.json"] = members.contents.pop("statistics.json")


def add(members: Members) -> None:
    members.contents["extra.json"] = b"{}"


def add_and_list(members: Members) -> None:
    add(members)
    members.list_anew()


def remove(members: Members) -> None:
    del members.contents[members.member_of("ngrams")]


def remove_and_list(members: Members) -> None:
    remove(members)
    members.list_anew()


def use_twice(members: Members) -> None:
    members.manifest["ngrams"][1]["member"] = members.member_of("ngrams")


def list_twice(members: Members) -> None:
    members.manifest["members"].append(members.manifest["members"][0])


def list_itself(members: Members) -> None:
    members.manifest["members"].append({"name": "manifest.json", "size": 0, "sha256": "0" * 64})


@pytest.mark.parametrize(
    "change", [rename, add, add_and_list, remove, remove_and_list, use_twice, list_twice, list_itself]
)
def test_members_and_manifest_must_tell_the_same(other: Repository, profile: Path, change: Change) -> None:
    members = Members(profile)
    change(members)
    assert "its manifest lists other members than it has" in refused(members.write(profile), other)


@pytest.mark.parametrize("kind", ["ngrams", "adapters", "recall"])
@pytest.mark.parametrize("damage", [lambda content: content[:-1] + b"?", lambda content: content + b"?"])
def test_a_member_that_is_not_as_it_was_is_refused(
    other: Repository, profile: Path, kind: str, damage: Callable[[bytes], bytes]
) -> None:
    members = Members(profile)
    name = members.member_of(kind)
    members.contents[name] = damage(members.contents[name])
    assert "a member was changed after it was written" in refused(members.write(profile), other)


@pytest.mark.parametrize("field", ["size", "sha256"])
def test_a_wrong_size_or_hash_is_refused(other: Repository, profile: Path, field: str) -> None:
    members = Members(profile)
    member = members.manifest["members"][0]
    member[field] = member["size"] + 1 if field == "size" else "0" * 64
    assert "a member was changed after it was written" in refused(members.write(profile), other)


@pytest.mark.parametrize(
    "change",
    [
        set_in("ngrams", 1, "target", to=TARGET),
        set_in("adapters", 0, "number", to=2),
        set_in("adapters", 1, "is_published", to=True),
    ],
)
def test_what_is_told_of_twice_is_refused(other: Repository, profile: Path, change: Change) -> None:
    members = Members(profile)
    change(members)
    assert "its manifest lists something twice" in refused(members.write(profile), other)


@pytest.mark.parametrize("kind", ["ngrams", "adapters", "recall"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"cos\nsystem\n(S'true'\ntR.",
        bytes([255] * 8) + b"{}",
        save({}),
        save({"x": np.zeros(0, np.float32)}),
        save({"x": np.array([1.0, np.nan], np.float32)}),
        save({"tokens": np.array([-1], np.int32), "lengths": np.array([1], np.uint32)}),
    ],
)
def test_numbers_that_are_none_of_ours_are_refused(other: Repository, profile: Path, kind: str, content: bytes) -> None:
    members = Members(profile)
    members.contents[members.member_of(kind)] = content
    members.list_anew()
    assert "numbers in it are not in Slipstream's form" in refused(members.write(profile), other)


@pytest.mark.parametrize(
    ("limit", "most", "is_written"),
    [("MOST_NGRAMS", 1, False), ("MOST_TEXTS", 1, True), ("MOST_TOKENS", 3, True), ("LONGEST_STRING", 1, True)],
)
def test_more_numbers_than_memory_is_meant_for_are_not_read(
    taught: Repository,
    other: Repository,
    profile: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    most: int,
    is_written: bool,
) -> None:
    for module in (contents, members):
        monkeypatch.setattr(module, limit, most, raising=False)
    assert "numbers in it are not in Slipstream's form" in refused(profile, other)
    if is_written:  # the latest texts, and strings that are short
        export_profile(taught, profile, with_recall=limit == "MOST_TEXTS", overwrite=True)
        import_profile(other, profile)
    else:
        with pytest.raises(FileUnusable, match="does not fit into a profile; export it without recall"):
            export_profile(taught, profile, overwrite=True)


def test_a_profile_that_changes_after_it_was_read_is_not_imported(other: Repository, profile: Path) -> None:
    members = Members(profile)
    members.contents[members.member_of("adapters")] = save({"down": np.zeros(100_000, np.float32)})
    members.list_anew()
    read = read_profile(members.write(profile))
    with profile.open("r+b") as file:
        file.seek(profile.stat().st_size // 2)
        file.write(b"\1")
    before = state(other)
    with pytest.raises(FileUnusable, match="is damaged"):
        other.add_learned(read.learned)
    assert state(other) == before


@pytest.mark.parametrize(
    "statistics",
    [
        b"",
        b"[]",
        b'{"targets": [{}]}',
        b'{"targets": [], "more": 1}',
        b'{"targets": ' + b"[" * 100_000,
        b'{"targets": [{"name": "\\u001b[2J", "num_replies": 1, "num_tokens": 1, "seconds": 1.0, '
        b'"tokens_per_round": 1.0, "speedup": null}]}',
        b'{"targets": [{"name": "tiny", "num_replies": 1, "num_tokens": 1, "seconds": NaN, '
        b'"tokens_per_round": 1.0, "speedup": null}]}',
    ],
)
def test_statistics_that_are_none_of_ours_are_refused(other: Repository, profile: Path, statistics: bytes) -> None:
    members = Members(profile)
    members.contents["statistics.json"] = statistics
    members.list_anew()
    assert "its statistics are not in Slipstream's form" in refused(members.write(profile), other)


@settings(
    max_examples=300 if os.environ.get("CI") else 60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # what is imported is what was there, or nothing is
)
@given(data=st.data())
def test_a_damaged_profile_is_refused_or_carries_the_same(
    profile: Path, other: Repository, data: st.DataObject
) -> None:
    good = profile.read_bytes()
    path = profile.with_name("damaged.slipstream")
    content = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(content)))
        kind = data.draw(st.sampled_from(["flip", "overwrite", "cut", "insert", "copy"]))
        if kind == "flip" and begin < len(content):
            content[begin] ^= 1 << data.draw(st.integers(0, 7))
        elif kind == "overwrite":
            new = data.draw(st.binary(min_size=1, max_size=8))
            content[begin : begin + len(new)] = new
        elif kind == "cut":
            del content[begin : begin + data.draw(st.integers(1, 200))]
        elif kind == "insert":
            content[begin:begin] = data.draw(st.binary(min_size=1, max_size=8))
        else:
            source = data.draw(st.integers(0, len(content)))
            piece = content[source : source + 40]
            content[begin : begin + len(piece)] = piece
    path.write_bytes(content)
    try:
        found = read_profile(path)
    except FileUnusable:
        refused(path, other)
    else:
        assert carried(found.learned) == carried(read_profile(profile).learned)
