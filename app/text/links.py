"""Links of replies: where they truly lead, and texts that look like another address."""

from __future__ import annotations

import re
import unicodedata

from PySide6.QtCore import QUrl

_ENCODED = QUrl.ComponentFormattingOption.FullyEncoded
_LABEL = r"[^\W_](?:[\w-]*[^\W_])?"
_HOST = re.compile(rf"(?P<host>(?:{_LABEL}\.)+(?P<end>{_LABEL}))(?P<more>[/:@]?)")
_WITH_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:/+(?P<host>[^/?#\s]*)")
_MAIL = re.compile(rf"[\w.+-]+@(?:{_LABEL}\.)+{_LABEL}")
# Words with a dot that end otherwise are rather names, as of modules and files: os.path, notes.txt.
_COUNTRIES = """
ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc cd cf
cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gd ge gf gg
gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn
kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na
nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh
si sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve
vg vi vn vu wf ws ye yt za zm zw
"""
_OTHERS = """
com org net edu gov mil int arpa info biz name pro mobi tel app dev page web site online shop store tech cloud xyz
blog wiki news club top live link click zip mov bank money pay finance support help team group world life today email
google amazon apple microsoft
"""
_ENDS = frozenset((_COUNTRIES + _OTHERS).split())
_UNSEEN = frozenset({"Cf", "Zs", "Zl", "Zp"})  # categories of Unicode: formats, spaces and separators
_MARKS = frozenset({"Mn", "Me"})  # over, under and around a letter
_MOST_READ = 1_000  # characters of a text


def opened_address(address: str) -> str:
    """The address as the browser gets it, in ASCII; empty unless it is a web page or mail."""
    url = QUrl(address)
    is_page = url.scheme() in ("http", "https") and bool(url.host())
    is_mail = url.scheme() == "mailto" and bool(url.path())
    return url.toString(_ENCODED) if url.isValid() and (is_page or is_mail) else ""


def true_place(text: str, address: str) -> str:
    """The host or mail address behind a link whose text looks like another one, or is ambiguous; else empty. `address`
    comes from `opened_address`: an empty one leads nowhere."""
    url = QUrl(address)
    place = url.host(_ENCODED) or url.path(_ENCODED)
    text = _plain(text[:_MOST_READ])
    mail = _MAIL.search(text)
    if url.scheme() == "mailto" and mail is not None:
        return "" if mail[0] == place.casefold() else place
    seen = _host_in(text)
    host = place.rpartition("@")[2]
    return place if place and seen and _without_www(seen) != _without_www(host.casefold()) else ""


def _plain(text: str) -> str:
    """Drops invisible differences: full-width letters, joiners, unusual spaces, capitals."""
    seen = (sign for sign in text if sign == " " or unicodedata.category(sign) not in _UNSEEN)
    one_way = unicodedata.normalize("NFKC", "".join(seen)).replace("。", ".").casefold()
    return "".join(sign for sign in one_way if unicodedata.category(sign) not in _MARKS)


def _host_in(text: str) -> str:
    """The first thing in a text that a reader takes for a host; empty without one."""
    named = _WITH_SCHEME.search(text)
    first = next(filter(_is_host, _HOST.finditer(text)), None)
    if named is None or (first is not None and first.start() < named.start()):
        return "" if first is None else first["host"]
    host = _HOST.search(named["host"])  # a name before an @ is what catches the eye
    return named["host"].partition(":")[0] if host is None else host["host"]


def _is_host(found: re.Match[str]) -> bool:
    host, end = found["host"], found["end"]
    is_number = host.count(".") == 3 and host.replace(".", "").isdecimal()
    is_foreign = not end.isascii() or end.startswith("xn--")
    return is_number or (not end.isdecimal() and (bool(found["more"]) or is_foreign or end in _ENDS))


def _without_www(host: str) -> str:
    return host.removeprefix("www.")
