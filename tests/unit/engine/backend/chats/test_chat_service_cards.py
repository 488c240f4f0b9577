"""What the service does where targets lie on graphics cards, which rarely have room for two."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.values.config import TargetSettings
from engine.values.errors import CardsTooSmall, NotPossible
from engine.values.events import TargetReady
from engine.values.orders import Send
from engine.values.targets import LoadOrder
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.backend.chats.test_chat_service import GREEDY, Desk, finished

TOO_SMALL = CardsTooSmall("other.gguf needs more memory of A card; choose fewer GPU layers for it.")


def on_card(num_gpu_layers: int = 3) -> FakeTarget:
    target = FakeTarget(says("Hello."))
    target.description = replace(target.description, num_gpu_layers=num_gpu_layers, num_layers=3, gpu="A card")
    return target


def ready(desk: Desk) -> TargetReady:
    (event,) = desk.told(TargetReady)
    assert isinstance(event, TargetReady)
    return event


def test_the_one_in_use_leaves_its_card_before_another_is_loaded(desk: Desk) -> None:
    first = on_card()
    desk.load(LoadOrder(desk.add("first", first)))
    assert (ready(desk).target.num_gpu_layers, ready(desk).target.gpu) == (3, "A card")
    seen: list[bool] = []
    desk.on_load = lambda: seen.append(first.closed)
    desk.load(LoadOrder(desk.add("second", on_card(0))))
    assert seen == [True]
    desk.load(LoadOrder(desk.add("third", FakeTarget(says("Hi.")))))
    assert seen == [True, True]


def test_what_left_for_one_that_failed_comes_back_when_it_is_asked(desk: Desk) -> None:
    path = desk.add("first", on_card())
    desk.load(LoadOrder(path, TargetSettings(threads=3)))
    with pytest.raises(CardsTooSmall):
        desk.load(LoadOrder(desk.add("other", TOO_SMALL)))
    desk.targets[path] = on_card()
    desk.do(Send("Hi", None, GREEDY))
    assert finished(desk).message.text == "Hello."
    assert ready(desk).target.name == "fake"
    assert desk.settings[-1].threads == 3
    desk.do(Send("Hi", None, GREEDY))
    assert desk.told(TargetReady) == [], "it is there again"


def test_where_nothing_was_loaded_nothing_comes_back(desk: Desk) -> None:
    with pytest.raises(CardsTooSmall):
        desk.load(LoadOrder(desk.add("other", TOO_SMALL)))
    with pytest.raises(NotPossible, match="No model is loaded yet"):
        desk.do(Send("Hi", None, GREEDY))


@pytest.mark.parametrize(
    ("num_gpu_layers", "wanted", "notice"),
    [
        (3, None, ""),
        (2, None, "Only 2 of its 3 layers fit on A card; the rest runs on the processor"),
        (0, None, "None of its layers fits on A card"),
        (2, 2, ""),
    ],
)
def test_what_does_not_fit_is_told_unless_it_is_so_wanted(
    desk: Desk, num_gpu_layers: int, wanted: int | None, notice: str
) -> None:
    desk.load(LoadOrder(desk.add("fake", on_card(num_gpu_layers)), TargetSettings(gpu_layers=wanted)))
    told = ready(desk).target.notice
    assert told.startswith(notice) if notice else "layers" not in told
