"""What is said of presets, which one a chat has, and the examples."""

from __future__ import annotations

from app.text.preset_examples import example_presets, example_prompts
from app.text.presets import ChatValues, preset_of, preset_words
from app.widgets.prompt.prompt_filling import pieces
from engine import OwnSampling
from engine.values.order import Preset, TargetChoice

COOL = OwnSampling(temperature=0.2)
Q, Z = TargetChoice("Q", "file:q"), TargetChoice("Z", "file:z")
CHAT = ChatValues("Be brief.", COOL, True, Q)


def chosen(*presets: Preset, chat: ChatValues = CHAT) -> str | None:
    found = preset_of(presets, chat)
    return None if found is None else found.name


def test_a_chat_has_the_one_that_says_most_of_those_that_fit() -> None:
    said = Preset(1, "said", "Be brief.", COOL)
    whole = Preset(2, "whole", "Be brief.", COOL, True, Q)
    assert chosen(said, whole) == "whole"
    assert chosen(whole, said, chat=ChatValues("Be brief.", COOL, False, Z)) == "said"
    assert chosen(whole, said, chat=ChatValues("Be long.", COOL, True, Q)) is None
    assert chosen(Preset(3, "cool", None, COOL), chat=ChatValues("Be long.", COOL)) == "cool"
    assert chosen(Preset(4, "empty"), chat=ChatValues("", OwnSampling())) is None, "it would fit every chat"
    assert chosen(whole, chat=ChatValues("Be brief.", COOL, None, Q)) == "whole", "a model that cannot be told"
    assert chosen(Preset(5, "named", None, COOL, None, TargetChoice("Q"))) == "named", "known by its name alone"


def test_a_line_tells_what_it_holds() -> None:
    whole = Preset(1, "x", "Be\n  brief." + " word" * 30, OwnSampling(temperature=0.2, grammar="{}"), False, Q)
    assert preset_words(whole) == (
        "Be brief. word word word word word word word word word word… · Temperature 0.2 · Reply format · "
        "Answers without thinking · Q"
    )
    assert preset_words(Preset(1, "x")) == "Changes nothing yet"


def test_the_examples_can_be_used_as_they_are() -> None:
    assert len({each.name for each in example_presets()}) == len(example_presets()) >= 4
    assert all(each.system_prompt and each.sampling.chosen for each in example_presets())
    assert len({each.name for each in example_prompts()}) == len(example_prompts()) >= 5
    assert all(any(piece.name for piece in pieces(each.text)) for each in example_prompts())
