"""The letters in the bytes of a text, whose encoding is often not said, or said wrongly.

Bytes that are no UTF-8 are read in the first of some older encodings in which all letters belong to the alphabet of one
language: Western ones first, as their texts are legible in most others, too, with wrong letters.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import chain

_MARKED = (  # what a file may begin with; the longer ones first
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")  # not found in text
_LOOKED_AT = 200_000  # bytes, from which the encoding is found
_PER_ERROR = 20  # letters of UTF-8, for each byte that is none: a file may be cut, or joined of two

# The letters beyond a to z, in lower case.
_WESTERN = {
    "German": "äöüß",
    "French": "àâæçéèêëîïôœùûüÿ",
    "Spanish": "áéíñóúüªº",
    "Portuguese": "áàâãçéêíóôõúüªº",
    "Italian": "àèéìíîòóùú",
    "Nordic": "åäæöøéàüáíðóúýþ",
    "Dutch": "áàäéèêëíïóòöúùüç",
    "Catalan": "àçéèíïóòúüºª",
}
_CENTRAL = {
    "Hungarian": "áéíóöőúüű",
    "Polish": "ąćęłńóśźż",
    "Czech": "áčďéěíňóřšťúůýž",
    "Slovak": "áäčďéíĺľňóôŕšťúýž",
    "Croatian": "čćđšž",
    "Romanian": "ăâîşţ",
}
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяёєіїґўјљњћџђѓќѕ"
_GREEK = "αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ"
_TURKISH, _BALTIC = "çğıöşüâîûi\u0307", "ąčęėįšųūžāēģīķļņõäöü"
_ALPHABETS = (
    *(("cp1252", letters) for letters in _WESTERN.values()),
    *((encoding, letters) for encoding in ("cp1250", "iso8859-2") for letters in _CENTRAL.values()),
    ("cp1254", _TURKISH),
    ("cp1257", _BALTIC),
    ("cp1251", _CYRILLIC),
    ("koi8-r", _CYRILLIC),
    ("cp1253", _GREEK),
)
_ONE_SCRIPT = frozenset({"cp1251", "koi8-r", "cp1253"})  # whose words have no Latin letters
_ASIAN = ("gb18030", "big5", "shift_jis", "euc_jp", "euc_kr")
_NO_LETTERS = "¹³¼¾£¥¤¢¯±¿¶"  # signs that no word has within it
_GAP = re.compile(r"[ \t\r\n,;]")
_DRAWN = re.compile("[\u2190-\u2bff]")  # frames, blocks and arrows
_WORD = re.compile(rf"[\w{_NO_LETTERS}]+")
_SAID = {  # names that stand for more than they say
    **dict.fromkeys(("iso-8859-1", "latin-1", "latin1", "ascii", "us-ascii"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk", "gb_2312-80", "x-gbk"), "gb18030"),
    **{"iso-8859-9": "cp1254", "shift_jis": "cp932", "shift-jis": "cp932", "x-sjis": "cp932", "euc-kr": "cp949"},
    **{"ks_c_5601-1987": "cp949", "big5": "big5hkscs"},
}


def decoded(raw: bytes, said: str = "") -> str | None:
    """The text; None for what is not text. `said`: the encoding that it names itself, which may be wrong."""
    for mark, encoding in _MARKED:
        if raw.startswith(mark):
            return _as(raw, encoding)
    if _CONTROLS.search(raw):
        return _unmarked(raw)
    if (text := _as(raw, "utf-8")) is not None:
        return text
    text = raw.decode("utf-8", "replace")
    num_bad, num_letters = text.count("\ufffd"), sum(map(text.count, set(text) - set(map(chr, range(128)))))
    if num_letters - num_bad > _PER_ERROR * num_bad:
        return text
    asked = (_SAID.get(said.lower(), said),) if said else ()
    return next(filter(None, (_as(raw, encoding) for encoding in chain(asked, _likely(raw), ("cp1252", "latin-1")))))


def _likely(raw: bytes) -> Iterator[str]:
    beginning = raw[:_LOOKED_AT]
    for encoding, letters in _ALPHABETS:
        text = _as(beginning, encoding)
        if text is not None and _is_written_with(text, letters, encoding in _ONE_SCRIPT):
            yield encoding
    from charset_normalizer import from_bytes

    if (best := from_bytes(beginning, cp_isolation=[*_ASIAN]).best()) is not None:
        yield best.encoding


def _is_written_with(text: str, letters: str, is_one_script: bool) -> bool:
    if {each for each in set(text.lower()) if each.isalpha() and not each.isascii()} - set(letters):
        return False
    for word in _WORD.findall(text):
        if word.isascii():
            continue
        inside = word[:-1] if word[-1] in "¹³" else word  # cubic metres
        if not is_one_script and any(each in _NO_LETTERS for each in inside) and any(map(str.isalpha, inside)):
            return False
        if is_one_script and not _is_cased(word):
            return False
    return not (is_one_script and _DRAWN.search(text))


def _is_cased(word: str) -> bool:
    """True for a word without Latin letters, whose capitals stand where words have them."""
    is_latin = any(each.isascii() and each.isalpha() for each in word)
    return not is_latin and (word[1:].islower() or word.isupper() or len(word) == 1)


def _unmarked(raw: bytes) -> str | None:
    """UTF-16 without a mark; None for what is none. In the wrong order of bytes, ends of lines and spaces are no
    characters that any text has."""
    if len(raw) % 2 or b"\0" not in raw[:_LOOKED_AT]:
        return None
    for encoding in ("utf-16-le", "utf-16-be"):
        text = _as(raw, encoding)
        if (
            text is not None
            and _GAP.search(text)
            and all(each.isprintable() or each in "\t\r\n\f\u3000\xa0\xad" for each in set(text))
        ):
            return text
    return None


def _as(raw: bytes, encoding: str) -> str | None:
    try:
        return raw.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
