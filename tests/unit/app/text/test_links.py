from __future__ import annotations

import pytest

from app.text.links import opened_address, true_place
from app.text.markdown import ProseBlock, parse

EVIL = "https://evil.example/"


@pytest.mark.parametrize(
    ("address", "opened"),
    [
        ("https://Example.ORG/a b", "https://example.org/a%20b"),
        ("HTTP://example.org", "http://example.org"),
        ("mailto:a@example.org?subject=Hi", "mailto:a@example.org?subject=Hi"),
        ("https://b\u00fccher.example/", "https://xn--bcher-kva.example/"),
        ("https://user:word@example.org/", "https://user:word@example.org/"),
        # no host, which a browser would find further on all the same
        ("https:evil.example", ""),
        ("https:///evil.example", ""),
        ("http:\\\\evil.example", ""),
        ("//evil.example", ""),
        ("evil.example", ""),
        ("/a/b.html", ""),
        ("#part", ""),
        ("file:///etc/passwd", ""),
        ("javascript:x", ""),
        ("https://a b.example", ""),
        ("mailto:", ""),
        ("", ""),
    ],
)
def test_what_is_opened(address: str, opened: str) -> None:
    assert opened_address(address) == opened


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("click here", EVIL),
        ("Example", EVIL),
        ("example.org", "https://example.org/login"),
        ("EXAMPLE.org", "https://example.org"),
        ("www.example.org", "https://example.org"),
        ("https://example.org/a", "https://www.example.org/a"),
        ("see example.org.", "https://example.org"),
        ("example.org:8080", "https://example.org:8080"),
        ("example.org/other.org", "https://example.org/other.org"),
        ("http://localhost:80/", "http://localhost:80/"),
        ("192.168.0.1", "http://192.168.0.1/"),
        ("a.b@example.org", "mailto:a.b@example.org?subject=Hi"),
        ("example.org", "mailto:a@example.org"),
        # names with a dot that are none of a host
        ("os.path", EVIL),
        ("Node.js", EVIL),
        ("notes.txt", EVIL),
        ("version 3.11.4", EVIL),
        ("e.g. this", EVIL),
        # a link that is none
        ("example.org", "evil.example"),
    ],
)
def test_a_text_that_says_nothing_else_than_its_link(text: str, address: str) -> None:
    assert true_place(text, opened_address(address)) == ""


@pytest.mark.parametrize(
    ("text", "address", "place"),
    [
        ("paypal.com", EVIL, "evil.example"),
        ("Go to paypal.com now", EVIL, "evil.example"),
        ("PAYPAL.COM", EVIL, "evil.example"),
        ("https://paypal.com/login", EVIL, "evil.example"),
        ("https:\\\\paypal.com", EVIL, "evil.example"),
        ("paypal.shop/login", EVIL, "evil.example"),
        ("login.paypal.com", "https://login.paypal.com.evil.example", "login.paypal.com.evil.example"),
        ("paypal.com", "https://paypal.com.evil.example", "paypal.com.evil.example"),
        ("paypal.com", "https://www.evil.example", "www.evil.example"),
        ("127.0.0.1", EVIL, "evil.example"),
        ("http://localhost/", EVIL, "evil.example"),
        # a name before an @
        ("https://paypal.com@evil.example/", "https://paypal.com@evil.example/", "evil.example"),
        ("paypal.com", "https://paypal.com@evil.example/", "evil.example"),
        ("https://paypal.com\\@evil.example", "https://paypal.com%5C@evil.example", "evil.example"),
        # mail
        ("help@paypal.com", "mailto:help@evil.example", "help@evil.example"),
        ("paypal.com", "mailto:help@evil.example", "help@evil.example"),
        ("help@paypal.com", EVIL, "evil.example"),
        # other letters that look alike, and the same ones in their own address
        ("p\u0430ypal.com", EVIL, "evil.example"),
        ("p\u0430ypal.com", "https://p\u0430ypal.com", "xn--pypal-4ve.com"),
        ("p\u0430ypal.com", "https://paypal.com", "paypal.com"),
        ("paypal.com", "https://xn--pypal-4ve.com", "xn--pypal-4ve.com"),
        ("\u043f\u0440\u0438.\u0440\u0444", EVIL, "evil.example"),
        ("\uff50\uff41\uff59\uff50\uff41\uff4c.com", EVIL, "evil.example"),
        # dots that are none, spaces that are hardly seen, signs that are not
        ("paypal\u2024com", EVIL, "evil.example"),
        ("paypal\u3002com", EVIL, "evil.example"),
        ("paypal\u00a0.com", EVIL, "evil.example"),
        ("paypal\u200a.\u200acom", EVIL, "evil.example"),
        ("pay\u200bpal.com", EVIL, "evil.example"),
        ("pay\u00adpal.com", EVIL, "evil.example"),
        ("paypal\u0335.com", EVIL, "evil.example"),
        (" paypal.com ", EVIL, "evil.example"),
    ],
)
def test_a_text_that_looks_like_another_address(text: str, address: str, place: str) -> None:
    assert true_place(text, opened_address(address)) == place


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[paypal.com](https://evil.example)", "paypal.com</a> (→\u00a0evil.example)"),
        ("[**pay**`pal`.com](https://evil.example)", "</strong><code>pal</code>.com</a> (→\u00a0evil.example)"),
        ("[a](https://b.example) paypal.com", ">a</a> paypal.com"),
        ("<https://paypal.com@evil.example>", "paypal.com@evil.example</a> (→\u00a0evil.example)"),
        ("![paypal.com](https://evil.example/x.png)", "paypal.com</a> (→\u00a0evil.example)"),
        ("[\u202emoc.lapyap\u202c](https://evil.example)", ">\u202emoc.lapyap\u202c</a>"),  # marked where it is shown
        ("[paypal.com](evil.example)", "<a>paypal.com</a>"),
        ("[paypal.com](<https://evil.example/a b>)", 'title="https://evil.example/a%20b">paypal.com</a> (→'),
    ],
)
def test_such_a_link_says_where_it_leads(text: str, shown: str) -> None:
    (block,) = parse(text)
    assert isinstance(block, ProseBlock)
    assert shown in block.html
