"""Models from a hub on the loopback, with huggingface_hub as it is; what every fetch shares is in
`drafter/test_hub.py`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import close_session

from engine.backend.hub import fetching
from engine.backend.hub.download import download_target
from engine.backend.hub.fetcher import ModelFetcher
from engine.backend.hub.hub_service import HubService
from engine.backend.hub.search import list_files, search_models
from engine.backend.library.library_service import LibraryService
from engine.backend.library.saved_downloads import SavedDownloads
from engine.backend.library.suggestions import read_suggestions
from engine.backend.storage import Repository
from engine.values.config import TargetSettings
from engine.values.errors import Cancelled, FetchFailed
from engine.values.stop_signal import StopSignal
from engine.values.targets import Downloading, HeadMethod, HubFile
from tests.fakes.gguf import TINY, gguf
from tests.fakes.hub import CERTIFICATE, FakeHub, serving
from tests.fakes.tiny_heads import tiny_head
from tests.fakes.tiny_models import tiny_qwen3

NAME = "somebody/Tiny-GGUF"
ONE, BIG = "tiny-Q4_K_M.gguf", "Q8_0/tiny-Q8_0-00001-of-00002.gguf"
PARTS = (BIG, BIG.replace("00001-of", "00002-of"))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setattr(fetching, "_PAUSE_S", 0.01)
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        filled = {**TINY, "filler": "x" * 20_000}
        hub.models[NAME] = {
            "README.md": b"words",
            "mmproj-F16.gguf": b"GGUF",
            ONE: gguf(filled),
            **{part: gguf(filled | {"part": place}) for place, part in enumerate(PARTS)},
        }
        yield hub
        close_session()


@pytest.fixture
def kept(tmp_path: Path) -> SavedDownloads:
    return SavedDownloads(tmp_path / "models")


def file_named(name: str) -> HubFile:
    return next(file for file in list_files(NAME) if file.name == name)


def fetch(file: HubFile, kept: SavedDownloads, stop: StopSignal | None = None) -> tuple[Path, list[Downloading]]:
    told: list[Downloading] = []
    return download_target(file, kept, stop or StopSignal(), told.append), told


def stop_after(hub: FakeHub, name: str, num_bytes: int) -> StopSignal:
    stop = StopSignal()
    hub.cut_after[name] = [num_bytes]
    hub.on_cut = stop.set
    return stop


def test_models_are_found_most_downloaded_first(hub: FakeHub) -> None:
    hub.models |= {"other/Small-GGUF": {"a.gguf": b""}, "other/text": {"a.txt": b""}}
    hub.downloads = {"other/Small-GGUF": 7}
    assert [model.repository for model in search_models("")] == ["other/Small-GGUF", NAME]
    (found,) = search_models(" TINY  gguf ")
    assert (found.repository, found.num_likes) == (NAME, 1)
    assert found.updated_at is not None
    assert not any(asked.authorization for asked in hub.asked)
    assert all("filter=gguf" in asked.path for asked in hub.asked)


@pytest.mark.parametrize("told", [b"<html>Log in.</html>", b'{"a": 1}', b'["a"]'])
def test_a_page_that_is_no_hub_is_a_sentence(hub: FakeHub, told: bytes) -> None:
    hub.body = told
    with pytest.raises(FetchFailed, match="does not answer like a model hub"):
        search_models("tiny")


def test_what_a_hub_tells_and_makes_no_sense_is_left_out(hub: FakeHub) -> None:
    entries = [{"id": "../x"}, {"id": 7}, {}, {"id": "a/b", "downloads": "many", "likes": -1, "lastModified": "soon"}]
    hub.body = json.dumps(entries).encode()
    (model,) = search_models("")
    assert (model.repository, model.num_downloads, model.num_likes, model.updated_at) == ("a/b", 0, 0, None)


def test_without_a_network_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as gone:
        monkeypatch.setenv("HF_ENDPOINT", gone.url)
    for look in (lambda: search_models("tiny"), lambda: list_files(NAME)):
        with pytest.raises(FetchFailed, match=r"check that this computer is online and try again\.$"):  # no more
            look()


@pytest.mark.usefixtures("hub")
def test_files_are_listed_smallest_first_and_parts_once() -> None:
    one, big = list_files(NAME)
    assert (one.name, one.quantization, one.num_parts) == (ONE, "Q4_K_M", 1)
    assert (big.name, big.quantization, big.num_parts) == (BIG, "Q8_0", 2)
    assert big.size_bytes > 2 * 20_000


SIGHT = "mmproj-F16.gguf"


def see(file: HubFile, kept: SavedDownloads, stop: StopSignal | None = None) -> tuple[Path, list[int], list[str]]:
    told, problems = list[Downloading](), list[str]()
    path = download_target(file, kept, stop or StopSignal(), told.append, problems.append)
    return path, [event.num_bytes for event in told], problems


@pytest.mark.parametrize("name", [ONE, BIG])
def test_what_lets_a_model_see_is_counted_in_and_comes_along(name: str, hub: FakeHub, kept: SavedDownloads) -> None:
    hub.models[NAME] |= {SIGHT: b"GGUF" + bytes(30_000), "mmproj-F32.gguf": bytes(9), "mmproj-Q4_0.gguf": bytes(8)}
    file = file_named(name)
    assert (file.projector, file.download_bytes - file.size_bytes) == (SIGHT, 30_004)
    path, sizes, problems = see(replace(file, projector="", projector_bytes=0), kept)  # as a list knows it
    repository = kept.path_of(file_named(ONE)).parent
    assert (repository / SIGHT).read_bytes() == hub.models[NAME][SIGHT]
    assert path.exists()
    assert sizes == sorted(sizes)
    assert sizes[-1] == file.download_bytes
    assert problems == []
    fetch(file, kept)
    assert len(hub.ranges(SIGHT)) == 1


HEAD = "eagle3-tiny-Q4_0.gguf"


@pytest.mark.parametrize(
    ("others", "wanted"),
    [
        ((), HEAD),
        (("eagle3-tiny-BF16.gguf", "eagle3-other-Q4_K_M.gguf"), HEAD),
        (("eagle3-tiny-Q2_K.gguf", "dspark-any.gguf", "tiny-dflash.gguf"), "dspark-any.gguf"),
        (("mtp-tiny-Q4_0.gguf", "dspark-tiny-Q4_0.gguf"), "mtp-tiny-Q4_0.gguf"),
        (("elsewhere/mtp-tiny-Q4_0.gguf",), HEAD),
        (("mtp-gemma-4-Q4_0.gguf",), HEAD),  # which are not used
    ],
)
def test_the_drafter_made_for_a_model_is_counted_in_and_comes_along(
    others: tuple[str, ...], wanted: str, hub: FakeHub, kept: SavedDownloads
) -> None:
    hub.models[NAME] |= {SIGHT: bytes(900), **{name: b"GGUF" + bytes(20_000) for name in (HEAD, *others)}}
    assert [file.name for file in list_files(NAME)] == [ONE, BIG], "none is offered as a model"
    file = file_named(ONE)
    assert (file.head, file.download_bytes - file.size_bytes) == (wanted, 20_904)
    path, sizes, problems = see(file, kept)
    assert path.with_name(wanted).read_bytes() == hub.models[NAME][wanted]
    assert {each.name for each in path.parent.iterdir()} == {ONE, SIGHT, wanted}
    assert sizes == sorted(sizes)
    assert (sizes[-1], problems) == (file.download_bytes, [])


def test_a_model_that_drafts_for_itself_is_a_model(hub: FakeHub) -> None:
    hub.models[NAME] = {"Tiny-MTP-Q4_0.gguf": gguf(TINY), "tiny-mtp-head-Q8_0.gguf": gguf(TINY)}
    assert [file.is_head for file in list_files(NAME)] == [False, False]


def test_a_repository_of_drafters_alone_offers_them_as_such(hub: FakeHub, kept: SavedDownloads) -> None:
    hub.models[NAME] = {HEAD: b"GGUF" + bytes(900), "README.md": b"words"}
    (file,) = list_files(NAME)
    assert (file.is_head, file.head) == (True, "")
    assert see(file, kept)[0].name == HEAD


def test_what_came_along_is_paired_in_the_library_and_what_came_alone_says_what_it_is(
    hub: FakeHub, kept: SavedDownloads, tmp_path: Path
) -> None:
    head = tiny_head(tmp_path / HEAD, HeadMethod.EAGLE3).read_bytes()
    hub.models[NAME] = {"tiny-Q8_0.gguf": tiny_qwen3(tmp_path / "tiny.gguf").read_bytes(), HEAD: head}
    hub.models["other/heads"] = {"dflash-tiny.gguf": tiny_head(tmp_path / "b", HeadMethod.DFLASH).read_bytes()}
    with closing(Repository.open(tmp_path / "store")) as repository:
        library = LibraryService(repository, kept, lambda: None, lambda _event: None)
        fetcher = ModelFetcher(kept, lambda: library)
        downloaded = fetcher.fetch(list_files(NAME)[0])
        assert downloaded.problem == ""
        listed = {target.path: target for target in library.list()}
        assert listed[downloaded.path].brings is HeadMethod.EAGLE3
        assert library.estimate(downloaded.path, TargetSettings()).drafter > len(head)
        alone = fetcher.fetch(list_files("other/heads")[0])
        assert alone.problem.startswith("dflash-tiny.gguf is a drafter (DFlash) made for one model")
        listed = {target.path: target for target in library.list()}
        assert listed[alone.path].head is HeadMethod.DFLASH
        assert listed[downloaded.path].brings is HeadMethod.DFLASH, "from the library, where it is the better kind"


def test_a_drafter_that_is_stopped_goes_on_or_is_discarded_with_its_model(hub: FakeHub, kept: SavedDownloads) -> None:
    hub.models[NAME][HEAD] = b"GGUF" + bytes(30_000)
    with pytest.raises(Cancelled):
        see(file_named(ONE), kept, stop_after(hub, HEAD, 10_000))
    ((waiting, _),) = kept.list()
    path, _, _ = see(waiting, kept)
    assert path.with_name(HEAD).stat().st_size == 30_004
    assert (len(hub.ranges(ONE)), hub.ranges(HEAD)) == (1, ["", "bytes=10000-"])
    hub.models[NAME][HEAD] = b"GGUF" + bytes(40_000)
    with pytest.raises(Cancelled):
        see(waiting, kept, stop_after(hub, HEAD, 10_000))
    kept.discard(waiting)
    assert not list(path.parent.glob("*.part"))


@pytest.mark.parametrize(("name", "lack"), [(SIGHT, "the file it needs to see pictures"), (HEAD, "the drafter made")])
def test_a_model_that_cannot_get_it_is_there_all_the_same(
    name: str, lack: str, hub: FakeHub, kept: SavedDownloads
) -> None:
    hub.models[NAME] |= {SIGHT: b"GGUF" + bytes(30_000), HEAD: b"GGUF" + bytes(30_000)}
    hub.cut_after[name] = [0] * 5
    path, _, (problem,) = see(file_named(ONE), kept)
    assert path.exists()
    assert kept.list() == ()
    assert problem.startswith(f"{ONE} is downloaded, but {lack}")


def test_a_download_that_is_stopped_at_it_goes_on_there(hub: FakeHub, kept: SavedDownloads) -> None:
    hub.models[NAME][SIGHT] = b"GGUF" + bytes(30_000)
    with pytest.raises(Cancelled):
        see(file_named(ONE), kept, stop_after(hub, SIGHT, 10_000))
    ((waiting, _),) = kept.list()
    assert waiting.projector == SIGHT
    path, sizes, _ = see(waiting, kept)
    assert (path.parent / SIGHT).stat().st_size == 30_004
    assert sizes[-1] == waiting.download_bytes
    assert len(hub.ranges(ONE)) == 1
    assert hub.ranges(SIGHT)[-1] != ""
    hub.models[NAME][SIGHT] = b"GGUF" + bytes(40_000)
    with pytest.raises(Cancelled):
        see(waiting, kept, stop_after(hub, SIGHT, 10_000))
    kept.discard(waiting)
    assert not list(path.parent.glob("*.part"))


def test_a_repository_without_models_says_so(hub: FakeHub) -> None:
    hub.models[NAME] = {"mmproj-F16.gguf": b"GGUF", PARTS[1]: b"GGUF"}
    with pytest.raises(FetchFailed, match="has no model in GGUF format"):
        list_files(NAME)
    with pytest.raises(FetchFailed, match="is not a name on the hub"):
        list_files("../x")


def test_all_parts_arrive_and_progress_adds_up(hub: FakeHub, kept: SavedDownloads, tmp_path: Path) -> None:
    file = file_named(BIG)
    path, told = fetch(file, kept)
    assert path == tmp_path / "models" / "somebody--Tiny-GGUF" / BIG
    for part in PARTS:
        assert (path.parent / Path(part).name).read_bytes() == hub.models[NAME][part]
    sizes = [event.num_bytes for event in told]
    assert sizes == sorted(sizes)
    assert sizes[-1] == file.size_bytes
    assert kept.list() == ()
    assert [each.suffix for each in path.parent.iterdir()] == [".gguf", ".gguf"]


def test_a_paused_download_goes_on_in_its_second_part(hub: FakeHub, kept: SavedDownloads) -> None:
    file = file_named(BIG)
    with pytest.raises(Cancelled, match="download was stopped"):
        fetch(file, kept, stop_after(hub, PARTS[1], 5000))
    first = len(hub.models[NAME][BIG])
    assert kept.list() == ((file, first + 5000),)
    path, _ = fetch(file, kept)
    assert hub.ranges(PARTS[1]) == ["", "bytes=5000-"]
    assert (path.parent / Path(PARTS[1]).name).read_bytes() == hub.models[NAME][PARTS[1]]


def test_a_server_that_begins_anew_cuts_nothing_off(hub: FakeHub, kept: SavedDownloads) -> None:
    file, whole = file_named(ONE), hub.models[NAME][ONE]
    with pytest.raises(Cancelled, match="download was stopped"):
        fetch(file, kept, stop_after(hub, ONE, 5000))
    hub.ignores_ranges = True
    with pytest.raises(Cancelled, match="download was stopped"):
        fetch(file, kept, stop_after(hub, ONE, 100))
    assert kept.list() == ((file, 5000),)
    listing, hub.body = hub.body, json.dumps(hub.listing(NAME)).encode()
    hub.models[NAME][ONE] = b"<html>Log in.</html>"  # of a café's network
    with pytest.raises(FetchFailed, match="which is kept"):
        fetch(file, kept)
    assert kept.list() == ((file, 5000),)
    hub.models[NAME][ONE], hub.body = whole, listing
    path, told = fetch(file, kept)
    assert path.read_bytes() == whole
    assert min(event.num_bytes for event in told) == 5000


@pytest.mark.parametrize("begin", [10, 6000])
def test_another_part_than_was_asked_for_is_put_where_it_belongs(
    hub: FakeHub, kept: SavedDownloads, begin: int
) -> None:
    file = file_named(ONE)
    with pytest.raises(Cancelled, match="download was stopped"):
        fetch(file, kept, stop_after(hub, ONE, 5000))
    hub.false_begin = begin
    if begin < 5000:
        assert fetch(file, kept)[0].read_bytes() == hub.models[NAME][ONE]
    else:
        with pytest.raises(FetchFailed, match="What has arrived is kept"):
            fetch(file, kept)
        assert kept.list() == ((file, 5000),)


def test_what_is_fetched_with_https_is_not_passed_on_without(
    hub: FakeHub, kept: SavedDownloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with serving(is_guarded=True) as guarded:
        monkeypatch.setenv("HF_ENDPOINT", guarded.url)
        close_session()
        guarded.models = hub.models
        file = file_named(ONE)
        guarded.contents_at = hub.url
        with pytest.raises(FetchFailed, match="an address without https"):
            fetch(file, kept)
        assert hub.asked == []
        guarded.contents_at = guarded.url.replace("https:", "HTTPS:")
        assert fetch(file, kept)[0].read_bytes() == hub.models[NAME][ONE]


def test_what_is_discarded_is_gone_and_what_is_whole_stays(hub: FakeHub, kept: SavedDownloads, tmp_path: Path) -> None:
    whole, _ = fetch(file_named(ONE), kept)
    big = file_named(BIG)
    with pytest.raises(Cancelled, match="download was stopped"):
        fetch(big, kept, stop_after(hub, PARTS[1], 5000))
    kept.discard(big)
    kept.discard(file_named(ONE))  # nothing waits
    assert kept.list() == ()
    assert [path for path in (tmp_path / "models").rglob("*") if path.is_file() and path.suffix != ".lock"] == [whole]
    assert not (whole.parent / "Q8_0").exists()


def test_a_new_version_begins_anew(hub: FakeHub, kept: SavedDownloads) -> None:
    with pytest.raises(Cancelled, match="download was stopped"):
        fetch(file_named(ONE), kept, stop_after(hub, ONE, 5000))
    hub.models[NAME][ONE] = gguf({**TINY, "filler": "y" * 20_000})
    path, _ = fetch(file_named(ONE), kept)
    assert hub.ranges(ONE) == ["", ""]
    assert path.read_bytes() == hub.models[NAME][ONE]
    assert len(list(path.parent.iterdir())) == 1


def test_damaged_bytes_are_thrown_away(hub: FakeHub, kept: SavedDownloads) -> None:
    file = file_named(ONE)
    hub.body = json.dumps(hub.listing(NAME)).encode()
    hub.models[NAME][ONE] = hub.models[NAME][ONE][:-1] + b"x"
    with pytest.raises(FetchFailed, match="arrived damaged and was deleted"):
        fetch(file, kept)
    assert kept.list() == ((file, 0),)
    assert not kept.path_of(file).exists()


def test_room_is_looked_for_before_the_download(
    hub: FakeHub, kept: SavedDownloads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: free)
    with pytest.raises(FetchFailed, match="the disk is full; free some space"):
        fetch(file_named(ONE), kept)
    assert hub.ranges(ONE) == []


@pytest.mark.parametrize(
    ("refusal", "words"),
    [((404, "RepoNotFound"), "There is no model"), ((403, "GatedRepo"), "is gated: request access")],
)
def test_what_the_hub_refuses_is_a_sentence_and_leaves_nothing(
    hub: FakeHub, kept: SavedDownloads, tmp_path: Path, refusal: tuple[int, str], words: str
) -> None:
    file = file_named(ONE)
    hub.refused[NAME] = refusal
    with pytest.raises(FetchFailed, match=words):
        fetch(file, kept)
    assert kept.list() == ()
    assert [path.suffix for path in (tmp_path / "models").iterdir()] == [".lock"]


def test_a_file_that_was_withdrawn_is_named(hub: FakeHub, kept: SavedDownloads) -> None:
    file = file_named(ONE)
    del hub.models[NAME][ONE]
    with pytest.raises(FetchFailed, match="no longer has the file tiny-Q4_K_M"):
        fetch(file, kept)


@pytest.mark.usefixtures("hub")
def test_two_at_a_time_do_not_spoil_each_other(kept: SavedDownloads) -> None:
    file = file_named(ONE)
    with kept.locked(file), pytest.raises(FetchFailed, match="is being downloaded; pause that first"):
        fetch(file, kept)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../etc/x.gguf", "etc/x.gguf"),
        ("/x.gguf", "x.gguf"),
        ("a:b\\c?.gguf", "a_b_c_.gguf"),
        ("con.gguf", "_con.gguf"),
        ("ä" * 300 + "-Q4_0.gguf", None),
        ("x\n.gguf", "x_.gguf"),
    ],
)
def test_names_lead_nowhere_else(kept: SavedDownloads, tmp_path: Path, name: str, expected: str | None) -> None:
    path = kept.path_of(HubFile(NAME, name, 1, ""))
    inside = path.relative_to(tmp_path / "models" / "somebody--Tiny-GGUF")
    assert ".." not in inside.parts
    assert len(path.name.encode()) <= 180
    assert path.name.endswith(".gguf")
    if expected is not None:
        assert inside == Path(expected)


@pytest.mark.parametrize("name", ["", "x", "..", "../..", "x.bin", "a/b/c/d/e/x.gguf"])
def test_what_is_no_model_file_is_refused(kept: SavedDownloads, name: str) -> None:
    with pytest.raises(FetchFailed, match="is not a model file"):
        kept.path_of(HubFile(NAME, name, 1, ""))


@pytest.mark.parametrize("note", ["{", "{}", '{"repository": "../x", "name": "a.gguf", "size_bytes": 1}'])
def test_notes_that_make_no_sense_are_left_out(kept: SavedDownloads, tmp_path: Path, note: str) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a.gguf.download.json").write_text(note)
    assert kept.list() == ()


def test_long_names_in_long_folders_can_be_downloaded(hub: FakeHub, kept: SavedDownloads) -> None:
    name = f"{'f' * 90}/{'g' * 150}.gguf"
    hub.models[NAME][name] = gguf(TINY)
    path, _ = fetch(file_named(name), kept)
    assert path.read_bytes() == gguf(TINY)


def test_suggestions_are_checked_and_what_is_gone_or_another_is_told(hub: FakeHub) -> None:
    def check() -> dict[HubFile, HubFile | None]:
        service = HubService(lambda: pytest.fail("asked"))
        return dict(service.check_suggestions())

    same, changed, renamed, gone, gated, *others = [each.file for each in read_suggestions()]
    for file in (same, changed, *others):
        hub.models[file.repository] = {file.name: b"GGUF"}
        hub.false_sizes[file.name] = file.size_bytes
    hub.false_sizes[changed.name] += 1
    hub.models[renamed.repository] = {"other.gguf": b"GGUF"}
    hub.refused[gated.repository] = 403, "GatedRepo"
    found = check()
    assert found == {
        **{file: file for file in (same, *others)},
        changed: replace(changed, size_bytes=changed.size_bytes + 1),
        renamed: None,
        gone: None,
        gated: None,
    }
    hub.refused[same.repository] = 500, ""
    with pytest.raises(FetchFailed, match="answered with an error"):
        check()
