"""Recall: what was said before is guessed again, and how likely it stands is learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.draft import NO_DRAFT, Draft, Verdict, common_prefix_length
from engine.speculation.numerics.sampling import Distribution, RandomDice
from engine.speculation.numerics.suffix_index import SuffixIndex
from engine.speculation.proposers.interface import Context
from engine.speculation.proposers.recall import RecallProposer
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn, Role
from tests.fakes.proposers import Generous

TURNS = (ChatTurn(Role.USER, "Say it."),)
OTHER_TURNS = (ChatTurn(Role.USER, "Say something else."),)
GREEDY = SamplingSettings(temperature=0)


def asked(lookup: RecallProposer, text: Sequence[int], limit: int = 9, turns: Sequence[ChatTurn] = TURNS) -> Draft:
    """Its guess after a text, the last token of which is pending."""
    context = Context(turns, [*text[:-1]], text[-1], 0, GREEDY, RandomDice(0))
    return lookup.propose(context, limit, Generous())


def remembering(*texts: Sequence[int]) -> RecallProposer:
    """Each text was kept on its own."""
    indexes = [SuffixIndex([text]) for text in texts]
    return RecallProposer(lambda _owner: indexes)


def write(lookup: RecallProposer, tokens: Sequence[int], draft: Draft = NO_DRAFT) -> None:
    lookup.observe(Verdict(draft, max(0, len(tokens) - 1), tuple(tokens)))


def test_what_this_chat_said_before_is_guessed_again() -> None:
    draft = asked(RecallProposer(), [1, 2, 3, 4, 5, 1, 2, 3])
    assert draft.tokens == (4, 5, 1, 2, 3)
    assert draft.proposer == "recall"
    assert draft.path is None
    assert len(draft.chances) == 5


def test_what_was_kept_of_earlier_chats_is_guessed() -> None:
    lookup = remembering([7, 8, 9, 10], [20, 21, 22])
    assert asked(lookup, [0, 7, 8]).tokens == (9, 10)
    assert asked(lookup, [0, 20, 21]).tokens == (22,)


def test_what_is_kept_meanwhile_is_guessed_from_then_on() -> None:
    kept: list[SuffixIndex] = []
    lookup = RecallProposer(lambda _owner: kept)
    assert asked(lookup, [0, 7, 8]) is NO_DRAFT
    kept.append(SuffixIndex([[7, 8, 9]]))
    assert asked(lookup, [0, 7, 8]).tokens == (9,)


def test_where_nothing_ends_alike_nothing_is_guessed() -> None:
    assert asked(RecallProposer(), [1, 2, 3, 4]) is NO_DRAFT
    assert asked(remembering([1, 2, 3]), [3, 2, 1]) is NO_DRAFT
    assert asked(RecallProposer(), [1]) is NO_DRAFT


def test_no_more_tokens_than_were_asked_for() -> None:
    for limit in range(1, 6):
        draft = asked(RecallProposer(), [1, 2, 3, 4, 5, 1, 2, 3], limit)
        assert draft.tokens == (4, 5, 1, 2, 3)[:limit]
        assert len(draft.chances) == limit


@pytest.mark.parametrize("is_first", [True, False])
def test_the_longer_match_wins(is_first: bool) -> None:
    longer, shorter = [1, 2, 3, 4, 50, 51], [9, 9, 3, 4, 60, 61]
    lookup = remembering(*([longer, shorter] if is_first else [shorter, longer]))
    assert asked(lookup, [1, 2, 3, 4]).tokens == (50, 51)
    here = [9, 9, 3, 4, 60, 61]  # in this chat, but not so long
    assert asked(remembering(longer), [*here, 1, 2, 3, 4]).tokens == (50, 51)


def test_of_two_places_alike_the_one_in_this_chat_wins_and_then_the_later_one() -> None:
    assert asked(remembering([1, 2, 3, 60]), [1, 2, 3, 50, 0, 1, 2, 3]).tokens[0] == 50
    assert asked(RecallProposer(), [1, 2, 3, 60, 1, 2, 3, 50, 0, 1, 2, 3]).tokens[0] == 50


def test_many_short_matches_outvote_a_long_one() -> None:
    many = [[5, 3, 4, 60]] * 16
    assert asked(remembering([1, 3, 4, 50], *many), [1, 3, 4]).tokens[0] == 60


def test_who_disagreed_has_no_say_in_what_follows() -> None:
    lookup = remembering([1, 2, 3, 50, 51], [1, 2, 3, 50, 52, 53], [1, 2, 3, 50, 52, 54], [1, 2, 3, 60, 51])
    assert asked(lookup, [1, 2, 3], limit=2).tokens == (50, 52)


def chance_after(*texts: Sequence[int]) -> float:
    return asked(remembering(*texts), [1, 2, 3]).chances[0]


def test_agreement_and_a_longer_match_raise_the_chance() -> None:
    contested = chance_after([1, 2, 3, 50], [1, 2, 3, 60])
    single = chance_after([1, 2, 3, 50])
    agreed = chance_after([1, 2, 3, 50], [1, 2, 3, 50])
    shorter = chance_after([0, 2, 3, 50])
    assert contested < single < agreed
    assert shorter < single
    draft = asked(remembering([*range(40)]), [1, 2])
    assert [*draft.chances] == sorted(draft.chances), "each token that stands makes the match longer"
    assert draft.chances[-1] > draft.chances[0]


@pytest.mark.parametrize("own", [True, False], ids=["its own drafts", "drafts of others"])
def test_chances_follow_what_was_written(own: bool) -> None:
    lookup = remembering([1, 2, 3, 50, 51])
    first = asked(lookup, [1, 2, 3])
    for _ in range(40):
        draft = asked(lookup, [1, 2, 3])
        write(lookup, (50, 51, 7), draft if own else Draft((7, 8), proposer="drafter"))
    good = asked(lookup, [1, 2, 3])
    assert good.chances[0] > max(0.9, first.chances[0])
    for _ in range(40):
        draft = asked(lookup, [1, 2, 3])
        write(lookup, (99,), draft if own else NO_DRAFT)
    bad = asked(lookup, [1, 2, 3])
    assert bad.chances[0] < min(0.2, first.chances[0])


def test_only_what_was_reached_is_learned_from() -> None:
    """What stands behind a token that fell is another text's."""
    lookup, other = remembering([1, 2, 3, 50, 51]), remembering([1, 2, 3, 50, 51])
    for _ in range(10):
        asked(lookup, [1, 2, 3])
        write(lookup, (99, 51))
        asked(other, [1, 2, 3])
        write(other, (99,))
    assert asked(lookup, [1, 2, 3]) == asked(other, [1, 2, 3])


def test_a_round_without_a_guess_teaches_nothing() -> None:
    lookup, other = remembering([1, 2, 3, 50]), remembering([1, 2, 3, 50])
    for each in (lookup, other):
        asked(each, [1, 2, 3])
        write(each, (50,))
    for _ in range(9):
        assert asked(lookup, [7, 8, 9]) is NO_DRAFT
        write(lookup, (99,))
    assert asked(lookup, [1, 2, 3]) == asked(other, [1, 2, 3])


def test_a_new_chat_forgets_the_text_of_the_old_one() -> None:
    lookup = RecallProposer()
    assert asked(lookup, [1, 2, 3, 4, 1, 2]).tokens[:2] == (3, 4)
    assert asked(lookup, [9, 8, 7, 6, 5, 2, 1, 2], turns=OTHER_TURNS) is NO_DRAFT  # longer, and alike at one place
    assert asked(lookup, [1, 2, 3, 4, 1, 2]).tokens[:2] == (3, 4)


def test_a_text_that_was_taken_back_or_written_otherwise_is_followed() -> None:
    lookup = RecallProposer()
    asked(lookup, [1, 2, 3, 4, 1, 2, 3])
    assert asked(lookup, [1, 2, 3, 4, 1, 2]).tokens == (3, 4, 1, 2)  # shorter
    assert asked(lookup, [1, 2, 3, 4, 5, 4]) is NO_DRAFT  # other tokens
    assert asked(lookup, [1, 2, 3, 4, 5, 4, 5]).tokens == (4, 5)  # and on
    assert asked(lookup, [1, 2, 3, 4, 5, 4, 6, 7, 2, 3]).tokens == (4, 5, 4, 6, 7, 2, 3)  # longer, but other tokens


moves = st.lists(st.tuples(st.sampled_from(["on", "back", "new chat"]), st.lists(st.integers(0, 2), max_size=9)))


@given(moves, st.integers(1, 15))
def test_what_is_guessed_was_said_before_and_where_no_copy_goes_on_depends_on_the_text_alone(
    changes: list[tuple[str, list[int]]], limit: int
) -> None:
    """However the text came about, round by round, taken back or written anew."""
    lookup = RecallProposer()
    text = [0]
    turns = list(TURNS)
    for change, tokens in changes:
        if change == "back":
            text = text[: max(1, len(text) // 2)]
        elif change == "new chat":
            turns, text = list(TURNS), [0]
        else:
            text = [*text, *tokens]
        draft = asked(lookup, text, limit, turns)
        if change != "on":
            assert draft.tokens == asked(RecallProposer(), text, limit).tokens
        assert len(draft.chances) == len(draft.tokens) <= limit
        assert all(0 < chance < 1 for chance in draft.chances)
        said = [*draft.tokens]
        assert any(text[place : place + len(said)] == said for place in range(len(text)))


def test_the_end_of_a_reply_changes_nothing() -> None:
    lookup = RecallProposer()
    before = asked(lookup, [1, 2, 3, 4, 1, 2])
    lookup.end_reply()
    assert asked(lookup, [1, 2, 3, 4, 1, 2]) == before


def test_it_goes_on_where_another_guess_ends_and_forgets_that_guess() -> None:
    lookup = RecallProposer()
    text = [1, 2, 3, 4, 5, 6, 9]
    context = Context(TURNS, text[:-1], text[-1], 0, GREEDY, RandomDice(0))
    assert lookup.propose(context, 9, Generous()) is NO_DRAFT
    assert lookup.follow(replace(context, ahead=(8, 2, 3)), 2).tokens == (4, 5)
    assert lookup.follow(replace(context, ahead=(8, 8)), 2) is NO_DRAFT
    assert asked(lookup, [*text, 8, 2]) is NO_DRAFT  # what was only guessed was never said


def test_what_followed_a_guess_is_learned_from_where_the_guess_was_right() -> None:
    def chance_after(written: Sequence[int]) -> float:
        lookup = RecallProposer()
        context = Context(TURNS, [1, 2, 3, 4, 5, 6], 9, 0, GREEDY, RandomDice(0))
        for _ in range(20):
            lookup.propose(context, 9, Generous())
            lookup.follow(replace(context, ahead=(2, 3)), 1)
            lookup.observe(Verdict(Draft((2, 3, 4)), len(written) - 1, tuple(written)))
        return lookup.follow(replace(context, ahead=(2, 3)), 1).chances[0]

    unknown = chance_after([7])
    assert chance_after([2, 3, 4, 0]) > unknown > chance_after([2, 3, 0])


LINE_BEGINS = (1, 2, 3)


def program(first_word: int, num_lines: int) -> list[int]:
    """Lines of words that occur nowhere else; all begin alike."""
    lines = ((*LINE_BEGINS, *range(word, word + 4)) for word in range(first_word, first_word + 4 * num_lines, 4))
    return [token for line in lines for token in line]


def copied(lookup: RecallProposer, before: Sequence[int], passage: Sequence[int], limit: int) -> tuple[int, int]:
    """Writes the passage after the text; how many of its tokens were drafted and accepted, and the rounds it took."""
    text, num_accepted, num_rounds = [*before, passage[0]], 0, 0
    start = len(before)
    while len(text) - start < len(passage):
        draft = asked(lookup, text, limit)
        right = common_prefix_length(draft.tokens, passage[len(text) - start :])
        written = passage[len(text) - start :][: right + 1]
        lookup.observe(Verdict(draft, right, tuple(written)))
        text += written
        num_accepted += right
        num_rounds += 1
    return num_accepted, num_rounds


PASSAGE = program(1000, 40)


@pytest.mark.parametrize("limit", [1, 5, 15, 63])
@pytest.mark.parametrize("is_here", [True, False], ids=["in this chat", "in an earlier chat"])
def test_a_passage_among_lines_that_begin_alike_is_copied_without_losing_its_place(is_here: bool, limit: int) -> None:
    kept = [*program(5000, 300), *PASSAGE, *program(10_000, 300)]
    lookup, before = (RecallProposer(), kept) if is_here else (remembering(kept), program(15_000, 9))
    num_accepted, num_rounds = copied(lookup, [*before, 0], PASSAGE, limit)
    num_lost = len(LINE_BEGINS)  # before its first word, nothing tells this passage from the others
    assert num_rounds <= num_lost + -(-(len(PASSAGE) - num_lost) // (limit + 1))
    assert num_accepted >= len(PASSAGE) - 1 - num_rounds


@pytest.mark.parametrize("is_here", [True, False], ids=["in this chat", "in an earlier chat"])
def test_of_more_places_alike_than_are_compared_the_one_that_was_just_right_goes_on(is_here: bool) -> None:
    same = [*range(100, 140)]
    kept = [token for number in range(40) for token in (500 + number, 600 + number, *same, 700 + number, 800 + number)]
    lookup, before = (RecallProposer(), kept) if is_here else (remembering(kept), [])
    text = [*before, 503, 603, *same[:2]]
    for token in [*same[2:], 703]:
        draft = asked(lookup, text, limit=40)
        assert draft.tokens[0] == token
        write(lookup, [token])
        text.append(token)
    assert asked(lookup, text).tokens[0] == 803
    assert asked(lookup, [*before, *same]).tokens[0] == 739, "the latest, when none was quoted"


def test_a_text_that_is_forgotten_is_not_quoted_further() -> None:
    kept = [SuffixIndex([range(40)])]
    lookup = RecallProposer(lambda _owner: kept)
    assert asked(lookup, [99, 0, 1, 2]).tokens[:2] == (3, 4)
    kept.clear()
    assert asked(lookup, [99, 0, 1, 2, 3]) is NO_DRAFT


def test_what_follows_a_guess_is_quoted_from_the_place_that_was_just_right() -> None:
    same = [*range(100, 140)]
    kept = [token for number in range(40) for token in (500 + number, 600 + number, *same, 700 + number)]
    lookup = RecallProposer()
    text = [*kept, 503, 603]
    asked(lookup, text)
    context = Context(TURNS, [*text, *same[:3]], same[3], 0, GREEDY, RandomDice(0))
    assert lookup.propose(context, 9, Generous()).tokens[0] == same[4]
    assert lookup.follow(replace(context, ahead=tuple(same[4:])), 9).tokens[0] == 703
    assert lookup.follow(replace(context, ahead=(7, *same)), 9).tokens[0] == 739


def test_a_long_copy_is_surer_than_a_long_match() -> None:
    passage = [*range(100, 300)]
    lookup = RecallProposer()
    (match,) = asked(lookup, [*passage, 0, *passage[:40]], limit=1).chances
    for length in range(41, 80):
        (copying,) = asked(lookup, [*passage, 0, *passage[:length]], limit=1).chances
    assert match < copying
    (again,) = asked(lookup, [*passage, 0, *passage[:40]], limit=1).chances
    assert again == match, "taken back, so that nothing was copied"


def test_long_drafts_are_quoted_whole() -> None:
    draft = asked(RecallProposer(), [*range(100), 0, 1, 2], limit=63)
    assert draft.tokens == (*range(3, 66),)
    assert [*draft.chances] == sorted(draft.chances)
    assert len(draft.chances) == 63


COPIED = [*range(100, 160)]


def broken(lookup: RecallProposer, before: Sequence[int], new: Sequence[int] = (999,), length: int = 10) -> Draft:
    """Its guess where, in a round of its own, `new` followed a copy of so many tokens."""
    text = [*before, 0, *COPIED[:length]]
    asked(lookup, text)
    return asked(lookup, [*text, *new])


@pytest.mark.parametrize("is_here", [True, False], ids=["in this chat", "in an earlier chat"])
@pytest.mark.parametrize("new", [[999], [110, 111, 999], [999, 111], [110, 999, 112]])
def test_behind_a_replaced_token_a_copy_goes_on(new: list[int], is_here: bool) -> None:
    lookup, before = (RecallProposer(), COPIED) if is_here else (remembering(COPIED), [])
    draft = broken(lookup, before, new)
    assert draft.tokens == (*COPIED[10 + len(new) :][:9],)
    first = new[::-1].index(999)  # tokens that were right since
    assert [*draft.chances] == sorted(draft.chances), "the more of them are right, the likelier it goes on"
    assert draft.chances[0] == pytest.approx((0.13, 0.45, 0.64)[first], abs=0.1)


def test_a_copy_that_went_on_may_break_again_soon() -> None:
    lookup = remembering(COPIED)
    text = [0, *COPIED[:10]]
    asked(lookup, text)
    for place in (10, 13, 16, 19):
        text.append(999 + place)
        assert asked(lookup, text).tokens[0] == COPIED[place + 1]
        for token in COPIED[place + 1 : place + 3]:
            text.append(token)
            assert asked(lookup, text).tokens[0] == token + 1


def test_where_a_copy_did_not_go_on_it_is_not_tried_again() -> None:
    for right in ([], COPIED[11:12]):
        lookup = remembering(COPIED)
        text = [0, *COPIED[:10], 999, *right]
        broken(lookup, [])
        asked(lookup, text)
        for token in (998, 997):
            text.append(token)
            assert asked(lookup, text) is NO_DRAFT


@pytest.mark.parametrize(("new", "length"), [([999], 3), ([999, 998], 10), ([999], 60)])
def test_what_is_not_near_a_long_copy_is_not_taken_for_a_part_of_it(new: list[int], length: int) -> None:
    assert not broken(remembering(COPIED), [], new, length).tokens


@pytest.mark.parametrize(
    ("new", "following"),
    [
        ([112], 113),  # two tokens were left out
        ([999, 112], 113),  # two became one
        ([999, 998, 110], 111),  # two were put in
        ([999, 998, 997, 112], 113),
        ([999, 998, 997, 996, 995, 994, 993, 112, 113], 114),
    ],
)
@pytest.mark.parametrize("is_here", [True, False], ids=["in this chat", "in an earlier chat"])
def test_a_copy_goes_on_where_tokens_were_put_in_or_left_out(new: list[int], following: int, is_here: bool) -> None:
    lookup, before = (RecallProposer(), COPIED) if is_here else (remembering(COPIED), [])
    assert broken(lookup, before, new).tokens[:2] == (following, following + 1)


def test_a_copy_that_was_resumed_often_is_resumed_sooner() -> None:
    """Every sixth token is another one, as where a name is replaced."""
    lookup, text = remembering(COPIED), [0, *COPIED[:6]]
    chances: list[float] = []
    asked(lookup, text)
    for place in range(6, 48, 6):
        text += [900 + place]
        chances += asked(lookup, text).chances[:1]
        for token in COPIED[place + 1 : place + 6]:
            write(lookup, [token])
            text += [token]
            asked(lookup, text)
    assert len(chances) == 7
    assert chances[0] < 0.2
    assert chances[3] > 0.5


def slipping(chance: float) -> Draft:
    """Its guess behind a token that was drawn though the copied one had that chance."""
    lookup, text = remembering(COPIED), [0, *COPIED[:10]]
    asked(lookup, text)
    lookup.observe(Verdict(NO_DRAFT, 0, (999,), (Distribution(np.array([110, 999]), np.array([chance, 1 - chance])),)))
    return asked(lookup, [*text, 999])


def test_behind_a_slip_a_copy_is_likelier_to_go_on_than_behind_a_change() -> None:
    assert slipping(0.9).tokens == slipping(0.0).tokens == (*COPIED[11:20],)
    assert slipping(0.9).chances[0] > slipping(0.0).chances[0] + 0.2


def test_a_guess_counts_by_the_chance_that_the_target_gave_it() -> None:
    """Not by the draw, which says less."""
    luckily, unluckily = RecallProposer(), RecallProposer()
    for lookup, written in ((luckily, 4), (unluckily, 9)):
        for _ in range(30):
            asked(lookup, [1, 2, 3, 4, 5, 1, 2, 3])
            likely = Distribution(np.array([4, 9]), np.array([0.6, 0.4]))
            lookup.observe(Verdict(NO_DRAFT, 0, (written,), (likely,)))
    first, second = (asked(lookup, [1, 2, 3, 4, 5, 1, 2, 3]).chances[0] for lookup in (luckily, unluckily))
    assert first == second == pytest.approx(0.6, abs=0.1)


def test_what_stands_in_the_prompt_is_likelier_to_be_said_again_than_what_the_reply_said() -> None:
    def chance(reply_start: int) -> float:
        context = Context(TURNS, [1, 2, 3, 4, 5, 1, 2], 3, reply_start, GREEDY, RandomDice(0))
        return RecallProposer().propose(context, 9, Generous()).chances[0]

    assert chance(5) > chance(0) + 0.1


def test_the_more_votes_the_likelier_a_contested_guess() -> None:
    def chance(num_others: int) -> float:
        return chance_after(*[[1, 2, 3, 50]] * 4, *[[1, 2, 3, 60]] * num_others)

    assert chance(1) > chance(3)


def test_a_place_that_is_found_goes_before_one_behind_a_break() -> None:
    assert broken(remembering(COPIED, [109, 999, 5, 6]), []).tokens == (5, 6)


def test_a_text_that_is_forgotten_is_not_resumed() -> None:
    kept = [SuffixIndex([COPIED])]
    lookup = RecallProposer(lambda _owner: kept)
    asked(lookup, [0, *COPIED[:10]])
    kept.clear()
    assert asked(lookup, [0, *COPIED[:10], 999]) is NO_DRAFT


@pytest.mark.parametrize("is_right", [True, False])
def test_how_likely_copies_go_on_behind_a_break_is_learned_from_every_round(is_right: bool) -> None:
    lookup = remembering(COPIED)
    (copying,) = asked(lookup, [0, *COPIED[:5]], limit=1).chances
    first = broken(lookup, [])
    for _ in range(40):
        broken(lookup, [])
        write(lookup, [*COPIED[11:13]] if is_right else [998])
    draft = broken(lookup, [])
    if is_right:
        assert draft.chances[0] > 0.8
        assert draft.chances[1] > max(0.8, first.chances[1])
    else:
        assert draft.chances[0] < 0.04
        assert draft.chances[1] == first.chances[1], "nobody knows what would have followed"
    assert asked(lookup, [0, *COPIED[:5]], limit=1).chances == (copying,), "breaks tell nothing of other text"


SPLIT = ([7, 8, 1, 2, 3], [0, 7, 8, 1, 2, 4], [9, 7, 8, 5, 6], [7, 8, 5, 0])


def branches_of(lookup: RecallProposer, max_branches: int) -> Draft:
    context = Context(TURNS, [9, 9, 7], 8, 0, GREEDY, RandomDice(0), max_branches=max_branches)
    return lookup.propose(context, 9, Generous())


def test_where_votes_split_what_others_said_stands_beside_it() -> None:
    chain = branches_of(remembering(*SPLIT), 1)
    assert not chain.parents
    for max_branches in (2, 3, 8):
        tree = branches_of(remembering(*SPLIT), max_branches)
        assert tree.tokens[: tree.num_trunk] == chain.tokens
        assert tree.chances[: tree.num_trunk] == chain.chances
        assert tree.num_leaves == min(max_branches, 3)
        leaves = {tree.line(place) for place in range(len(tree.tokens)) if not tree.children(place)}
        assert leaves <= {(1, 2, 3), (1, 2, 4), (5, 6), (5, 0)}


def test_chances_of_branches_follow_what_was_written() -> None:
    def chance(*written: int) -> float:
        lookup = remembering(*SPLIT)
        for _ in range(30):
            tree = branches_of(lookup, 8)
            write(lookup, written, tree)
        tree = branches_of(lookup, 8)
        return next(tree.chances[place] for place in tree.children(-1) if place > 0)

    trunk = branches_of(remembering(*SPLIT), 8).tokens[0]
    other = 5 if trunk == 1 else 1
    assert chance(99) < 0.1 < chance(other)
