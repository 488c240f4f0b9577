"""The check for updates against a site on loopback: what it is told, and what it makes of the answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.backend.hub.releases import newer_release
from engine.values.errors import FetchFailed
from engine.values.stop_signal import StopSignal
from engine.values.targets import Release
from tests.fakes.site import Site, serving


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


def ask(url: str, current: str = "0.1.0", timeout_s: float = 5) -> Release | None:
    return newer_release(url, current, StopSignal(), timeout_s)


def test_a_newer_version_is_told_with_its_page(site: Site) -> None:
    page = f"{site.url}/releases/v0.2.0"
    site.answer = lambda handler: handler.tell({"tag_name": "v0.2.0", "html_url": page, "draft": False})
    assert ask(f"{site.url}/latest") == Release("0.2.0", page)


def test_nothing_about_the_user_is_sent(site: Site) -> None:
    site.answer = lambda handler: (
        handler.lead("/other") if handler.path == "/latest" else handler.tell({"tag_name": "0.2"})
    )
    ask(f"{site.url}/latest")
    assert len(site.asked) == 2
    for headers in site.asked:
        assert headers.pop("host").startswith("127.0.0.1:")
        assert headers == {
            "user-agent": "slipstream/0.1.0",
            "accept": "application/json",
            "accept-encoding": "identity",
            "connection": "keep-alive",
        }


@pytest.mark.parametrize(
    ("told", "current"),
    [
        ({"tag_name": "v0.1.0"}, "0.1.0"),
        ({"tag_name": "0.1"}, "0.1.0"),
        ({"tag_name": "v0.0.9"}, "0.1.0"),
        ({"tag_name": "v0.9"}, "0.10"),
        ({"tag_name": "v0.2.0rc1"}, "0.1.0"),
        ({"tag_name": "v0.2.0", "prerelease": True}, "0.1.0"),
        ({"tag_name": "v0.2.0", "draft": True}, "0.1.0"),
    ],
)
def test_the_same_older_ones_and_previews_are_no_news(site: Site, told: object, current: str) -> None:
    site.answer = lambda handler: handler.tell(told)
    assert ask(site.url, current) is None


@pytest.mark.parametrize(
    "told",
    [
        b"<html>log in to the network of this inn</html>",
        b"\xff\xfe",
        b"[" * 50_000,
        b"null",
        [1],
        {},
        {"tag_name": 2},
        {"tag_name": "newest"},
        {"tag_name": "1." * 100 + "0"},
    ],
)
def test_garbage_is_a_sentence(site: Site, told: object) -> None:
    site.answer = lambda handler: handler.tell(told)
    with pytest.raises(FetchFailed, match=r"did not name the newest version"):
        ask(site.url)


@pytest.mark.parametrize(
    "page",
    ["https://evil.example/x", "http://127.0.0.1:1/x", "javascript:alert(1)", "file:///etc/passwd", 7, "http://[x"],
)
def test_a_page_elsewhere_is_not_believed(site: Site, page: object) -> None:
    site.answer = lambda handler: handler.tell({"tag_name": "v0.2.0", "html_url": page})
    if page == "http://[x":
        with pytest.raises(FetchFailed, match=r"did not name the newest version"):
            ask(site.url)
    else:
        assert ask(site.url) == Release("0.2.0", f"{site.url}/")


def test_a_redirect_to_another_site_is_not_followed(site: Site) -> None:
    with serving() as other:
        site.answer = lambda handler: handler.lead(f"{other.url}/latest")
        with pytest.raises(FetchFailed, match=r"did not name"):
            ask(site.url)
    assert other.asked == []


def test_a_circle_of_redirects_ends(site: Site) -> None:
    site.answer = lambda handler: handler.lead("/again")
    with pytest.raises(FetchFailed, match=r"did not name"):
        ask(site.url)
    assert len(site.asked) == 4


def test_a_huge_answer_is_cut_off(site: Site) -> None:
    site.answer = lambda handler: handler.flood()
    with pytest.raises(FetchFailed, match=r"did not name"):
        ask(site.url)


def test_a_silent_site_is_not_waited_for(site: Site) -> None:
    site.answer = lambda handler: handler.say_nothing()
    with pytest.raises(FetchFailed, match="could not be asked"):
        ask(site.url, timeout_s=0.2)


def test_an_error_of_the_site_is_told(site: Site) -> None:
    site.answer = lambda handler: handler.tell({}, status=503)
    with pytest.raises(FetchFailed, match=r"answered with an error \(503\)"):
        ask(site.url)


def test_offline_is_a_sentence() -> None:
    with pytest.raises(FetchFailed, match="check that this computer is online"):
        ask("http://127.0.0.1:9/latest")


@pytest.mark.parametrize("url", ["", "ftp://x/y", "http://example.org/latest", "https://me:pass@example.org/", "/x"])
def test_an_address_that_is_not_private_is_never_asked(url: str) -> None:
    with pytest.raises(FetchFailed, match="update address of this build"):
        ask(url)


def test_the_api_of_a_site_may_name_its_pages() -> None:
    from engine.backend.hub.releases import _page

    asked = "https://api.github.com/repos/x/y/releases/latest"
    assert _page("https://github.com/x/y/releases/tag/v1", asked) == "https://github.com/x/y/releases/tag/v1"
    assert _page("http://github.com/x/y", asked) == "https://github.com/"
