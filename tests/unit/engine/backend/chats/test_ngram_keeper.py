from __future__ import annotations

from dataclasses import replace

from engine.backend.chats.ngram_keeper import NgramKeeper
from engine.backend.storage import Repository
from engine.backend.teaching.era import Era
from engine.values.learned import NgramRecord

KEPT, GONE = (NgramRecord((token,), token, count=1, doubts=0, last_use=0) for token in (1, 2))


def test_ngrams_are_kept_until_their_count_is_zero(repository: Repository) -> None:
    keeper = NgramKeeper(repository, Era())
    keeper.save("target", "drafter", (KEPT, GONE))
    keeper.save("target", "drafter", (replace(GONE, count=0),))
    assert repository.load_ngrams("target", "drafter") == (KEPT,)


def test_ngrams_of_an_era_that_has_ended_are_not_kept(repository: Repository) -> None:
    era = Era()
    keeper = NgramKeeper(repository, era)
    with era.ending():
        keeper.save("target", "drafter", (KEPT,), era.number)  # without waiting
        era.begin_next()
    keeper.save("target", "drafter", (KEPT,), era.number - 1)
    assert repository.load_ngrams("target", "drafter") == ()
    keeper.save("target", "drafter", (KEPT,), era.number)
    assert repository.load_ngrams("target", "drafter") == (KEPT,)
