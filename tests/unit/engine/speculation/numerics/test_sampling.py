"""The distribution against a slow plain version of itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.likeliest import LogitRow
from engine.speculation.numerics.sampling import Distribution, RandomDice, make_distribution
from engine.values.config import SamplingSettings
from engine.values.errors import TargetUnusable

OFF = SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)


def slow_distribution(logits: LogitRow, settings: SamplingSettings, history: list[int]) -> dict[int, float]:
    """Every step over the whole vocabulary, one token at a time, in the order of llama.cpp's samplers."""
    values = {token: float(value) for token, value in enumerate(logits)}
    for token in set(history[-settings.penalty_window :] if settings.penalty_window else []):
        count = history[-settings.penalty_window :].count(token)
        value = values[token]
        value = value * settings.repetition_penalty if value <= 0 else value / settings.repetition_penalty
        values[token] = value - count * settings.frequency_penalty - settings.presence_penalty
    ranked = sorted(values, key=lambda token: -values[token])
    if settings.temperature == 0:
        return {ranked[0]: 1.0}
    if settings.top_n_sigma > 0:
        bound = values[ranked[0]] - settings.top_n_sigma * float(np.std(np.array([*values.values()])))
        ranked = [token for token in ranked if values[token] >= bound]
    if settings.top_k > 0:
        ranked = ranked[: settings.top_k]
    if settings.top_p < 1:
        cumulated = softmax([values[token] for token in ranked])
        total, kept = 0.0, []
        for token, chance in zip(ranked, cumulated, strict=True):
            kept.append(token)
            total += chance
            if total >= settings.top_p:
                break
        ranked = kept
    if settings.min_p > 0:
        ranked = [token for token in ranked if values[token] >= values[ranked[0]] + np.log(settings.min_p)]
    chances = slowly_heated(ranked, values, settings)
    obvious = [
        token
        for token, chance in zip(ranked, softmax([values[token] for token in ranked]), strict=True)
        if chance >= settings.xtc_threshold
    ]
    if settings.xtc_probability == 0 or len(obvious) < 2:
        return chances
    # What comes out of llama.cpp's sampler where its coin falls on one side, and where it falls on the other.
    without = slowly_heated([token for token in ranked if token not in obvious[:-1]], values, settings)
    q = settings.xtc_probability
    return {token: (1 - q) * chance + q * without.get(token, 0.0) for token, chance in chances.items()}


def slowly_heated(ranked: list[int], values: dict[int, float], settings: SamplingSettings) -> dict[int, float]:
    temperature = settings.temperature
    if settings.temperature_range and len(ranked) > 1:
        plain = softmax([values[token] for token in ranked])
        entropy = -sum(chance * np.log(chance) for chance in plain if chance > 0)
        low = max(0.0, temperature - settings.temperature_range)
        high = temperature + settings.temperature_range
        temperature = low + (high - low) * (entropy / np.log(len(ranked))) ** settings.temperature_exponent
    return dict(zip(ranked, softmax([values[token] / temperature for token in ranked]), strict=True))


def softmax(values: list[float]) -> list[float]:
    weights = np.exp(np.array(values) - max(values))
    return list(weights / weights.sum())


def as_dict(distribution: Distribution) -> dict[int, float]:
    return dict(zip(distribution.ids.tolist(), distribution.probabilities.tolist(), strict=True))


settings_strategy = st.builds(
    SamplingSettings,
    temperature=st.sampled_from([0.0, 0.3, 0.8, 1.0, 2.0]),
    top_k=st.sampled_from([0, 1, 5, 40, 300, 5000]),
    top_p=st.sampled_from([0.1, 0.5, 0.95, 1.0]),
    min_p=st.sampled_from([0.0, 0.05, 0.3]),
    repetition_penalty=st.sampled_from([1.0, 1.3]),
    presence_penalty=st.sampled_from([0.0, 0.5]),
    frequency_penalty=st.sampled_from([0.0, 0.25]),
    penalty_window=st.sampled_from([0, 4, 64]),
    top_n_sigma=st.sampled_from([0.0, 0.0, 0.7, 1.5]),
    xtc_probability=st.sampled_from([0.0, 0.0, 0.4, 1.0]),
    xtc_threshold=st.sampled_from([0.02, 0.1]),
    temperature_range=st.sampled_from([0.0, 0.2]),
    temperature_exponent=st.sampled_from([1.0, 1.7]),
)


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([1, 3, 63, 64, 65, 1000, 4100]),
    scale=st.sampled_from([0.1, 3.0, 12.0]),
    settings=settings_strategy,
    data=st.data(),
)
def test_distribution_equals_the_slow_plain_one(
    seed: int, size: int, scale: float, settings: SamplingSettings, data: st.DataObject
) -> None:
    # A permutation keeps logits apart, so that no rounding decides who is in.
    random = np.random.default_rng(seed)
    logits = (scale * (random.permutation(size) / size * 8 - 4) + 1e-3).astype(np.float32)
    history = data.draw(st.lists(st.integers(0, size - 1), max_size=12))
    before = logits.copy()

    distribution = make_distribution(logits, settings, history)

    expected = slow_distribution(logits, settings, history)
    found = as_dict(distribution)
    if settings.xtc_probability and expected.keys() != found.keys():
        return  # as below, and which are obvious may differ with it
    if settings.temperature > 0 and settings.top_p < 1 and expected.keys() != found.keys():
        # The cumulated probability may round to either side of top-p: then one token more or less is right, the
        # unlikeliest.
        larger, smaller = sorted((expected, found), key=len, reverse=True)
        assert len(larger) == len(smaller) + 1
        (odd,) = larger.keys() - smaller.keys()
        assert larger[odd] == min(larger.values())
        total = sum(chance for token, chance in larger.items() if token != odd)
        expected, found = {token: larger[token] / total for token in smaller}, smaller
    assert found.keys() == expected.keys()
    for token, chance in expected.items():
        assert found[token] == pytest.approx(chance, abs=2e-6)
    assert distribution.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    if settings.top_k > 0 or settings.top_p < 1 or settings.min_p > 0 or settings.top_n_sigma > 0:
        assert np.all(np.diff(distribution.probabilities) <= 0)
    else:
        assert np.all(np.diff(distribution.ids) > 0)
    assert np.array_equal(logits, before), "the target's own row must stay as it is"


def test_temperature_zero_is_a_point_on_the_largest_logit() -> None:
    distribution = make_distribution(np.array([1, 5, 3], np.float32), replace(OFF, temperature=0.0), [])
    assert as_dict(distribution) == {1: 1.0}


def test_penalties_apply_to_greedy_too() -> None:
    settings = replace(OFF, temperature=0.0, presence_penalty=4.0)
    assert as_dict(make_distribution(np.array([1, 5, 3], np.float32), settings, [1])) == {2: 1.0}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_row_that_is_no_numbers_is_refused_instead_of_sampled(bad: float) -> None:
    for size in (10, 10_000):
        logits = np.ones(size, np.float32)
        logits[7] = bad
        for settings in (
            OFF,
            replace(OFF, temperature=0.0),
            replace(OFF, top_k=5),
            replace(OFF, top_p=0.5),
            replace(OFF, min_p=0.1),
        ):
            with pytest.raises(TargetUnusable):
                make_distribution(logits, settings, [])


def test_masked_tokens_are_never_drawn() -> None:
    logits = np.full(200, -np.inf, np.float32)
    logits[[3, 9]] = 1.0
    distribution = make_distribution(logits, replace(OFF, top_k=40), [])
    dice = RandomDice(0)
    assert {distribution.draw(dice) for _ in range(50)} == {3, 9}


def test_draws_follow_the_distribution() -> None:
    distribution = make_distribution(np.log(np.array([0.5, 0.3, 0.15, 0.05])).astype(np.float32), OFF, [])
    dice = RandomDice(1)
    num_draws = 40_000
    counts = np.bincount([distribution.draw(dice) for _ in range(num_draws)], minlength=4)
    expected = np.array([0.5, 0.3, 0.15, 0.05]) * num_draws
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert chi_square < 16.27  # 0.1 % of a chi-square with 3 degrees of freedom


def test_throws_are_those_of_numpy_one_after_the_other() -> None:
    dice, random = RandomDice(7), np.random.default_rng(7)
    for _ in range(200):
        throw = random.random()
        assert dice.happens(np.nextafter(throw, 1)) if throw < 0.5 else not dice.happens(throw)


def test_same_seed_same_draws() -> None:
    distribution = make_distribution(np.zeros(500, np.float32), OFF, [])
    first, second = (RandomDice(7) for _ in range(2))
    assert [distribution.draw(first) for _ in range(20)] == [distribution.draw(second) for _ in range(20)]
