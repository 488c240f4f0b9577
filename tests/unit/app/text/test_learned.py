from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from app.text.amounts import day_words
from app.text.learned import ModelInUse, kept_words, model_views, ordinal_of, outcome_words, profile_view
from app.text.learning_progress import ProgressView
from engine.values.learned import ImportOutcome, PairBenefit, ProfileSummary, RecallSize
from tests.unit.app.learned_made import IN_USE, NOTHING, TINY, WHEN, adapters, benefit, learned


def test_a_model_is_told_in_plain_words_and_numbers() -> None:
    (view,) = model_views(learned(), TINY)
    assert view.name == "Tiny, Model v0"
    assert view.is_loaded
    assert view.sentences == (
        "After 80 replies, the drafter guesses 1.20 tokens right in a row, up from 0.98. Learning since 3 "
        "March 2026. Earlier text ready to be reused: 41 chats, about 48,000 words."
    )
    assert view.details == "1,234 word patterns · 212 replies to learn from · 24.3 MB"
    (view,) = model_views(replace(learned(), self_distilled={"v0": 35}), TINY)
    assert "212 replies to learn from · 35 practised" in view.details
    (pair,) = view.pairs
    assert pair.words == ""
    assert [(each.number, each.made, each.gain, each.is_used) for each in pair.adapters] == [
        (2, day_words(WHEN + timedelta(days=2)), "0.98 → 1.20", True),
        (1, day_words(WHEN + timedelta(days=1)), "0.98 → 1.10", False),
        (None, "", "", False),
    ]
    assert "in 24 replies that it did not learn from. It had" in pair.adapters[0].about


def test_what_a_snapshot_brings_is_told_when_enough_replies_have_shown_it() -> None:
    newest, older = adapters(2, 2)
    measured = replace(newest, num_chats=9, num_tokens=900, error=0.04)
    (view,) = model_views(replace(learned(), adapters={("v0", "d"): (measured, older)}), TINY)
    assert (
        view.pairs[0]
        .adapters[0]
        .about.endswith("The error of the difference is ±0.04. It had learned from 80 replies.")
    )
    few = replace(measured, num_chats=3)
    (view,) = model_views(replace(learned(), adapters={("v0", "d"): (few, older)}), TINY)
    assert view.sentences.startswith("After 80 replies, the drafter has improved; the next ones")
    assert view.pairs[0].adapters[0].gain == ""
    assert view.pairs[0].adapters[0].about.startswith("What it brings is measured with the next replies.")


@pytest.mark.parametrize(
    ("brought", "words"),
    [
        (
            benefit(),
            "Without what was learned, your last 50 replies would have taken 12\u00a0% ± 2\u00a0% more passes of the",
        ),
        (
            benefit(0.034, 0.004, 31),
            "Without what was learned, your last 31 replies would have taken 3.4\u00a0% ± 0.4\u00a0% more",
        ),
        (
            benefit(0.01),
            "It is too early to tell whether what was learned saves passes of the model: +1\u00a0% ± 2\u00a0% over "
            "your last 50 replies.",
        ),
        (
            replace(benefit(), recent=benefit(error=None).recent),
            "It takes replies in 6 chats to tell whether what was learned saves passes of the model.",
        ),
        (
            benefit(-0.05),
            "Without what was learned, your last 50 replies would have taken 5\u00a0% ± 2\u00a0% fewer passes of the",
        ),
    ],
)
def test_what_there_would_be_without_learning_is_told(brought: PairBenefit, words: str) -> None:
    (view,) = model_views(replace(learned(), benefits={IN_USE: brought}), TINY)
    assert view.sentences.startswith(f"The drafter has learned from 80 replies. {words}")


def test_what_learning_brought_is_told_by_kind_of_text_where_it_can_be_told() -> None:
    (view,) = model_views(replace(learned(), benefits={IN_USE: benefit()}), TINY)
    shown = view.pairs[0].benefit
    assert shown is not None
    assert shown.rows == (
        ("Last 50 replies", "2.00", "2.24", "+12\u00a0% ± 2\u00a0%"),
        ("All 183 replies", "2.00", "2.10", "+5\u00a0% ± 2\u00a0%"),
        ("Prose, 174 replies", "1.80", "1.89", "+5\u00a0% ± 2\u00a0%"),
    )
    assert shown.note.startswith("Too few chats to tell: Code. Each reply was scored before the drafter learned")
    (view,) = model_views(replace(learned(), benefits={IN_USE: benefit(-0.05, 0.02, 40)}), TINY)
    shown = view.pairs[0].benefit
    assert shown is not None
    assert shown.rows[0] == ("All 40 replies", "2.00", "2.10", "+5\u00a0% ± 2\u00a0%")
    (view,) = model_views(replace(learned(), benefits={IN_USE: benefit(error=None)}), TINY)
    assert view.pairs[0].benefit is None
    assert view.sentences.startswith("After 80 replies, the drafter guesses")


def test_the_first_adapter_of_a_model_is_its_first_whatever_its_number_in_the_store() -> None:
    summary = replace(learned(), adapters={("v0", "d"): adapters(2, 8, first=7)})
    (view,) = model_views(summary, TINY)
    assert [each.name for each in view.pairs[0].adapters] == ["Snapshot 2", "Snapshot 1", "Original drafter"]
    assert ordinal_of(summary, 7) == 1
    assert ordinal_of(summary, 99) == 99, "not known any more"


def test_the_drafter_as_it_came_is_in_use_where_no_adapter_is() -> None:
    (view,) = model_views(learned(used=None), TINY)
    assert view.sentences.startswith("The original drafter is in use. ")
    assert [each.is_used for each in view.pairs[0].adapters] == [False, False, True]


def test_what_is_only_begun_is_told_too() -> None:
    begun = replace(learned(num_adapters=0), since={}, ngrams={}, num_bytes={})
    (view,) = model_views(begun, ModelInUse())
    assert view.sentences == "Earlier text ready to be reused: 41 chats, about 48,000 words."
    assert view.pairs == ()
    assert view.name == "Model v0"


def test_a_model_that_was_just_loaded_is_named_before_anything_is_learned_and_shows_its_progress() -> None:
    progress = ProgressView("1 of about 36 replies until a first result.", share=1 / 36)
    mine, other = model_views(learned(), ModelInUse("New", "v7"), progress)
    assert (mine.name, mine.is_loaded, mine.progress) == ("New", True, progress)
    assert mine.sentences == "Earlier text is reused from the first chat on."
    assert (other.name, other.is_loaded, other.progress) == ("Model v0", False, None)


def test_what_stays_reused_after_forgetting_is_told_with_the_way_to_erase_it() -> None:
    assert kept_words(learned(), TINY) == (
        "Still reused to guess ahead: the text of 41 chats, about 48,000 words. To erase it too, delete the chats or "
        "forget everything."
    )
    assert kept_words(NOTHING, TINY) == ""
    of_a_profile = replace(learned(), recall={"v0": RecallSize(3, 4000)})
    assert kept_words(of_a_profile, TINY) == "", "forgetting erases that"


def test_the_loaded_model_comes_first_and_strangers_last() -> None:
    four = learned(4)
    names = {vocabulary: name for vocabulary, name in four.target_names.items() if vocabulary != "v1"}
    views = model_views(replace(four, target_names=names), ModelInUse("Tiny", "v3", ("v3", "d")))
    assert [view.vocabulary for view in views] == ["v3", "v0", "v2", "v1"]
    assert views[-1].name == "A model that was not used here"
    assert [view.is_loaded for view in views] == [True, False, False, False]


def test_adapters_of_several_drafters_are_told_apart() -> None:
    several = learned()
    several = replace(several, adapters={("v0", "a"): adapters(1, 9, 9)} | dict(several.adapters))
    (view,) = model_views(several, TINY)
    assert [(pair.pair[1], pair.words) for pair in view.pairs] == [
        ("d", "The drafter in use"),
        ("a", "Another drafter"),
    ]
    assert "1.20" in view.sentences


def test_nothing_makes_no_cards() -> None:
    assert model_views(NOTHING, ModelInUse()) == ()


def test_a_profile_is_told_with_what_does_not_fit_here() -> None:
    inside = learned(2)
    inside = replace(inside, adapters=dict(inside.adapters) | {("v1", "other"): adapters(1, None, 7)})
    view = profile_view(ProfileSummary(WHEN, "0.1.0", inside), learned(), TINY)
    assert view.headline == "Created on 3 March 2026 with Slipstream 0.1.0."
    assert view.contents[0] == (
        "Tiny, Model v0 (loaded now): 2 snapshots (0.98 → 1.20 right guesses in a row, from 80 replies), 1,234 word "
        "patterns and 300 texts to reuse, of 64,000 tokens."
    )
    assert view.contents[1].startswith("Model v1 (not used here yet): 3 snapshots")
    assert view.contents[2].startswith("Speed of Tiny")
    assert [sentence.split(",")[0] for sentence in view.misfits] == [
        "What was learned for a model not used here yet takes effect once a model with its vocabulary is loaded.",
        "1 snapshot belongs to another drafter and can only be used with that one.",
    ]
    assert "2 snapshots, 1,234 word patterns and texts from an earlier profile" in view.replaced
    assert "Your chats stay" in view.replaced


def test_a_profile_that_fits_has_no_misfits_and_an_empty_one_says_so() -> None:
    fits = profile_view(ProfileSummary(WHEN, "0.1.0", learned()), NOTHING, TINY)
    assert fits.misfits == ()
    (before,) = profile_view(ProfileSummary(WHEN, "0.1.0", learned()), learned(), ModelInUse()).contents[:-1]
    assert before.startswith("Model v0 (used here): 2 snapshots")
    empty = profile_view(ProfileSummary(WHEN, "0.1.0", NOTHING), NOTHING, ModelInUse())
    assert empty.contents == ("Nothing had been learned when it was created.",)


def test_counts_are_short() -> None:
    texts = replace(learned(), recall={"v0": RecallSize(1, 2)})
    assert model_views(texts, ModelInUse())[0].sentences.endswith("Earlier text ready to be reused: about 2 words.")


def test_an_outcome_is_a_sentence() -> None:
    assert outcome_words(ImportOutcome(0, 0, 0, 0)) == "All of it is already here."
    assert (
        outcome_words(ImportOutcome(0, 0, 1, 0))
        == "New: 0 word patterns, 0 snapshots (1 now in use), 0 texts to reuse."
    )
    assert outcome_words(ImportOutcome(1_000, 2, 0, 1)) == "New: 1,000 word patterns, 2 snapshots, 1 text to reuse."
