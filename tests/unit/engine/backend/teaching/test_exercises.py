"""The shipped prompts are many, unlike and whole, in every kind and language."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from itertools import islice

from engine.backend.teaching.exercises import shipped_exercises, shipped_prompts
from engine.values.conversations import ChatTurn, Role

KINDS = {
    *("explanation", "letter", "mail", "summary", "table", "code"),
    *("maths", "plan", "translation", "ideas", "rewriting"),
}


def test_there_are_some_thousands_in_every_kind_and_language_and_no_two_alike() -> None:
    prompts = shipped_prompts()
    assert len({prompt.text.casefold() for prompt in prompts}) == len(prompts) == 4620, "as the guide says"
    counted = Counter((prompt.language, prompt.kind) for prompt in prompts)
    assert set(counted) == {(language, kind) for language in ("de", "en", "es", "fr", "ja", "zh") for kind in KINDS}
    assert min(counted.values()) >= 60
    bare = {re.sub(r"\d+", "#", prompt.text) for prompt in prompts if prompt.kind != "maths"}
    assert len(bare) > 0.9 * sum(prompt.kind != "maths" for prompt in prompts), "they differ in more than a number"


def test_every_part_is_filled_in() -> None:
    for prompt in shipped_prompts():
        assert not re.search(r"[{}]|  ", prompt.text), prompt
        assert 15 <= len(prompt.text.encode()) <= 1000, prompt


def test_any_stretch_mixes_kinds_and_languages() -> None:
    some = shipped_prompts()[:100]
    assert {prompt.kind for prompt in some} == KINDS
    assert len({prompt.language for prompt in some}) == 6


def test_they_come_in_the_same_order_in_every_process() -> None:
    program = (
        "import hashlib; from engine.backend.teaching.exercises import shipped_prompts\n"
        "print(hashlib.sha256(repr(shipped_prompts()).encode()).hexdigest())"
    )
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, check=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout


def test_they_begin_again_after_the_last_one() -> None:
    number = len(shipped_prompts())
    last, first, second = islice(shipped_exercises(number - 1), 3)
    assert [each.number for each in (last, first, second)] == [number - 1, number, number + 1]
    assert first.turns == (ChatTurn(Role.USER, shipped_prompts()[0].text),)
    assert (second.message_id, second.conversation_id) == (None, None)
