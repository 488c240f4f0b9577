from __future__ import annotations

from dataclasses import replace

import pytest

from app.text.learned import ModelInUse, model_views
from app.text.model_use import use_words
from engine.values.learned import ModelUse
from tests.unit.app.learned_made import IN_USE, NOTHING, TINY, benefit, learned

USE = ModelUse("Tiny", "sha256:1", "v0", 43, 12_300, 17.0, (1.4, 0.05), 1204, (40.0, 181.0))
FAR = ModelUse("Far (far)", "server:http://far:5/v1#Far", "", 2, 300, 31.42)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (
            USE,
            "43 replies with 12,300 tokens. A typical reply came 1.40× ± 0.05 as fast as without speed-up. 1,204 "
            "tokens (10\u00a0%) were guessed from earlier text. That saved 40 seconds in the last 7 days, 3 minutes "
            "in all.",
        ),
        (
            ModelUse("Tiny", "", "v0", 1, 20, 8.0),
            "1 reply with 20 tokens. It writes 8.00 tokens a second; its speed without speed-up is not known yet. No "
            "token was guessed from earlier text yet.",
        ),
        (FAR, "2 replies with 300 tokens. It writes 31.4 tokens a second. It runs on a server, so nothing is guessed"),
        (replace(FAR, tokens_per_s=0.0), "2 replies with 300 tokens. How fast it writes is not known yet. It runs"),
    ],
)
def test_what_is_known_of_a_model_is_told_from_its_first_reply_on(use: ModelUse, words: str) -> None:
    assert use_words(use).startswith(words)


@pytest.mark.parametrize(
    ("saved_s", "words"),
    [
        ((-3.0, 0.4), "That has saved no time yet."),
        ((-3.0, -9.0), "That has saved no time yet."),
        ((-1.0, 80.0), "That saved 1 minute in all, and no time in the last 7 days."),
        (None, "1,204 tokens (10\u00a0%) were guessed from earlier text."),
    ],
)
def test_what_recall_saved_is_never_less_than_nothing(saved_s: tuple[float, float] | None, words: str) -> None:
    assert use_words(replace(USE, recall_saved_s=saved_s)).endswith(words)


def test_every_model_that_was_used_has_a_card() -> None:
    other = replace(USE, name="Other", identity="sha256:2", vocabulary="", num_replies=7)
    sister = replace(USE, name="Sister", identity="sha256:3", num_replies=5)
    summary = replace(NOTHING, models=(FAR, other, sister, USE), target_names={"v0": ("Tiny", "Sister")})
    mine, far, old = model_views(summary, TINY)
    assert (mine.name, mine.is_loaded, mine.pairs) == ("Tiny, Sister", True, ())
    assert [words.partition(" repl")[0] for words in mine.uses] == ["Sister: 5", "Tiny: 43"]
    assert (far.name, far.is_loaded, far.uses, far.sentences) == ("Far (far)", False, (use_words(FAR),), "")
    assert (old.name, old.uses) == ("Other", (use_words(other),))
    first = model_views(summary, ModelInUse("Far", identity=FAR.identity))[0]
    assert (first.name, first.is_loaded) == ("Far (far)", True)
    (alone,) = model_views(replace(NOTHING, models=(USE,), target_names={"v0": ("Tiny",)}), TINY)
    assert alone.uses == (use_words(USE),), "its name is the card's"


def test_replies_are_compared_where_what_was_learned_was_in_use() -> None:
    assert model_views(learned(), TINY)[0].compared is None
    both = replace(learned(), benefits={("v0", "a"): benefit(), IN_USE: benefit(error=None)})
    assert model_views(both, TINY)[0].compared == IN_USE
    assert model_views(replace(both, benefits={("v0", "a"): benefit()}), TINY)[0].compared == ("v0", "a")


def test_a_model_that_is_not_loaded_tells_how_far_its_first_result_is() -> None:
    begun = replace(learned(num_adapters=0), scored={IN_USE: 12})
    (view,) = model_views(begun, ModelInUse())
    assert view.sentences.startswith(
        "12 replies have been scored towards a first result of learning, which goes on once this model is loaded."
    )
    assert not model_views(begun, TINY)[0].sentences.startswith("12 replies")
