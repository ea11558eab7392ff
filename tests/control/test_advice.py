import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew
from tests.streams import loads, replicas, streams
from unskew.control import Advice, CostModel, advise_on_sample
from unskew.control.advice import PLAIN, WORTH_IT, _judged, _Trial
from unskew.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from unskew.hashing.keys import hash_keys
from unskew.hashing.mix import mix
from unskew.metrics import peak

ROWS = 300_000
KEYS = 100_000


def by_name(advice):
    return {each.grouping: each for each in advice}


def recommended(advice):
    return next(each for each in advice if each.recommended)


def zipf(skew, rows=ROWS, keys=KEYS, seed=1):
    shares = np.arange(1, keys + 1) ** -float(skew)
    ranks = np.random.default_rng(seed).choice(keys, rows, p=shares / shares.sum())
    return mix(ranks.astype(np.uint64))


def half_hot(rows=20_000, keys=5_000):
    """Half of the rows have one key, the others are even."""
    others = np.random.default_rng(2).integers(1, keys, rows, np.uint64)
    return mix(np.where(np.arange(rows) % 2, others, np.uint64(0)))


def trial(name, time, replication=1.0):
    return _Trial(name, name != PLAIN, time, replication, time)


class TestLaws:
    @settings(max_examples=40)
    @given(
        stream=streams(max_tuples=200),
        n=st.integers(2, 30),
        unseen=st.integers(0, 10**9),
        merge=st.floats(0, 100),
        seed=st.integers(0, 2**63 - 1),
    )
    def test_the_advice_is_whole(self, stream, n, unseen, merge, seed):
        rows = len(stream.hashes) + unseen
        options = {"rows": rows, "costs": CostModel(merge), "seed": seed}

        advice = advise_on_sample(stream.hashes, n, stream.weights, **options)

        assert sorted(each.grouping for each in advice) == sorted(unskew.groupings())
        assert [each.recommended for each in advice] == [True] + [False] * (len(advice) - 1)
        times = [each.estimated_time for each in advice[1:]]
        if stream.weights is None or stream.weights.sum():
            assert times == sorted(times)
        for each in advice:
            assert each.reason.endswith(".")
            if each.imbalance is None:
                continue
            assert 1 - 1e-9 <= each.imbalance <= n * (1 + 1e-9)
            assert 1 <= each.replication <= n
            # A partial a row at most, and none where keys stay whole.
            merging = merge * each.splits_keys
            assert each.imbalance <= each.estimated_time <= each.imbalance + merging + 1e-9
        assert advice == advise_on_sample(stream.hashes, n, stream.weights, **options)

    @settings(max_examples=40)
    @given(stream=streams(), n=st.integers(2, 30))
    def test_of_the_whole_nothing_is_estimated(self, stream, n):
        advice = by_name(advise_on_sample(stream.hashes, n, stream.weights, sources=1))

        if stream.weights is not None and not stream.weights.sum():
            return
        for name in unskew.groupings():
            workers = unskew.grouping(name, n).build().route(stream.hashes, stream.weights)
            on = replicas(stream.hashes, workers)
            found = advice[name]
            assert found.imbalance == pytest.approx(peak(loads(workers, n, stream.weights)))
            assert found.replication == pytest.approx(on.mean())
            partials = on.sum() / len(workers) if found.splits_keys else 0
            assert found.estimated_time == pytest.approx(found.imbalance + partials)

    @settings(max_examples=20)
    @given(stream=streams(weighted=True), scale=st.sampled_from([1e-300, 1e-3, 1e195]))
    def test_only_the_ratio_of_weights_counts(self, stream, scale):
        if not stream.weights.sum():
            return
        weights = stream.weights / stream.weights.max()
        options = {"n_workers": 5, "rows": 10**6}

        plain = by_name(advise_on_sample(stream.hashes, weights=weights, **options))
        scaled = by_name(advise_on_sample(stream.hashes, weights=weights * scale, **options))

        # Of groupings that compare loads a tie may go the other way by rounding.
        assert scaled[PLAIN].imbalance == pytest.approx(plain[PLAIN].imbalance)
        assert all(math.isfinite(each.estimated_time) for each in scaled.values())


class TestRecommendation:
    @pytest.mark.parametrize("n", [2, 16, 64])
    def test_even_keys_are_not_split(self, n):
        # As many rows a key, and enough keys that hashing them is even.
        best = recommended(advise_on_sample(mix(np.arange(400_000, dtype=np.uint64) // 4), n))

        assert (best.grouping, best.splits_keys) == (PLAIN, False)
        assert best.reason.startswith("Nothing to do: with plain hashing")

    @pytest.mark.parametrize("n", [4, 16, 64])
    def test_a_hot_key_is_split(self, n):
        advice = advise_on_sample(half_hot(), n, costs=CostModel(0.1))

        best, plain = recommended(advice), by_name(advice)[PLAIN]
        assert best.splits_keys
        assert best.imbalance < 1.1
        # Half of the rows, and a share of the others, are on one worker.
        assert plain.imbalance == pytest.approx(n / 2 + 0.5, rel=0.1)
        assert f"not {plain.imbalance:.2f} times as with plain hashing" in best.reason

    def test_one_key_is_split(self):
        advice = by_name(advise_on_sample(hash_keys(["only"] * 1_000), 8))

        assert advice[PLAIN].imbalance == 8
        assert recommended(advice.values()).splits_keys
        # Spread over all, it leaves one partial a worker.
        spread = advice["shuffle"]
        assert spread.imbalance == pytest.approx(1, rel=0.05)
        assert spread.estimated_time == pytest.approx(spread.imbalance + 8 / 1_000)

    def test_distinct_keys_are_not_split(self):
        # Each row is a key: whatever is split has as many partials as rows.
        advice = by_name(advise_on_sample(mix(np.arange(100_000, dtype=np.uint64)), 8))

        assert recommended(advice.values()).grouping == PLAIN
        split = [each for each in advice.values() if each.splits_keys]
        assert all(each.estimated_time == pytest.approx(each.imbalance + 1) for each in split)

    def test_splits_are_refused_where_merging_costs_more_than_it_gains(self):
        hashes = zipf(1.0, rows=20_000)

        cheap = recommended(advise_on_sample(hashes, 8, costs=CostModel(0)))
        dear = recommended(advise_on_sample(hashes, 8, costs=CostModel(100)))

        assert cheap.splits_keys
        assert dear.grouping == PLAIN
        assert dear.reason.startswith("Nothing gains a tenth over plain hashing")

    def test_weights_decide_what_is_hot(self):
        hashes = mix(np.arange(50_000, dtype=np.uint64) % 5_000)
        weights = np.where(np.arange(50_000) % 5_000, 1.0, 5_000.0)

        by_rows = recommended(advise_on_sample(hashes, 8, costs=CostModel(0)))
        by_weight = recommended(advise_on_sample(hashes, 8, weights, costs=CostModel(0)))

        assert by_rows.grouping == PLAIN
        assert by_weight.splits_keys

    def test_the_quickest_is_taken_up_to_what_is_not_worth_it(self):
        for skew in (0.5, 1.0, 1.4):
            for n in (4, 16, 64):
                advice = advise_on_sample(zipf(skew, rows=50_000), n)
                best = recommended(advice)
                quickest = min(each.estimated_time for each in advice)
                if best.grouping == PLAIN:
                    is_even = best.estimated_time <= 1 + WORTH_IT
                    assert is_even or quickest > best.estimated_time * (1 - WORTH_IT)
                else:
                    assert best.estimated_time <= quickest * 1.05
                    assert best.estimated_time < by_name(advice)[PLAIN].estimated_time

    @pytest.mark.parametrize(
        ("plain", "others", "chosen"),
        [
            (1.09, {"a": 1.0}, PLAIN),
            (1.11, {"a": 1.0}, PLAIN),
            (1.12, {"a": 1.0}, "a"),
            (2.0, {"a": 1.81}, PLAIN),
            (2.0, {"a": 1.79}, "a"),
            (2.0, {"a": 2.5}, PLAIN),
        ],
    )
    def test_a_tenth_must_be_gained(self, plain, others, chosen):
        trials = [trial(PLAIN, plain), *(trial(name, time) for name, time in others.items())]

        assert recommended(_judged(trials)).grouping == chosen

    def test_of_those_that_are_as_quick_the_one_with_the_fewest_replicas_is_taken(self):
        best, *others = _judged(
            [
                trial(PLAIN, 3.0),
                trial("many replicas", 1.0, 5),
                trial("best", 1.04, 2),
                trial("the same", 1.04, 2),
                trial("too slow", 1.06, 1.5),
            ]
        )

        assert best.grouping == "best"
        assert {each.grouping: each.reason for each in others} == {
            "many replicas": "As quick as best, but a key is on 5.00 workers, not 2.00.",
            "the same": "No better than best.",
            "too slow": (
                "It takes 1.02 times as long as best: the busiest worker gets 1.06 times its share."
            ),
            PLAIN: (
                "It takes 2.88 times as long as best: the busiest worker gets 3.00 times its share."
            ),
        }

    @pytest.mark.parametrize("weights", [None, np.zeros(0)])
    def test_without_rows_there_is_nothing_to_do(self, weights):
        best, *others = advise_on_sample(np.empty(0, np.uint64), 8, weights)

        assert best == Advice(
            PLAIN, False, None, None, None, True, "Nothing to do: there is no work to spread."
        )
        expected = replace(best, recommended=False, reason="There is no work to spread.")
        assert all(
            each == replace(expected, grouping=each.grouping, splits_keys=each.splits_keys)
            for each in others
        )

    def test_without_weight_there_is_nothing_to_do(self):
        best = advise_on_sample(zipf(1.0, rows=100), 8, np.zeros(100))[0]

        assert (best.grouping, best.estimated_time) == (PLAIN, None)


@pytest.fixture(
    scope="module",
    params=[(1.0, 16), (1.0, 64), (1.4, 16), (1.4, 64)],
    ids=lambda param: f"Zipf {param[0]}, n = {param[1]}",
)
def both(request):
    """What routing all rows gives, and what a sample of a tenth says of it."""
    skew, n = request.param
    hashes = zipf(skew)
    sampled = np.random.default_rng(7).random(ROWS) < 0.1
    return (
        by_name(advise_on_sample(hashes, n)),
        by_name(advise_on_sample(hashes[sampled], n, rows=ROWS)),
    )


class TestExtrapolation:
    def test_imbalance_is_within_a_tenth(self, both):
        truth, estimate = both
        for name, each in truth.items():
            assert estimate[name].imbalance == pytest.approx(each.imbalance, rel=0.1), name

    def test_time_is_within_a_tenth(self, both):
        truth, estimate = both
        for name, each in truth.items():
            assert estimate[name].estimated_time == pytest.approx(each.estimated_time, rel=0.1)

    def test_partials_are_rather_too_many_than_too_few(self, both):
        truth, estimate = both
        for name, each in truth.items():
            if each.splits_keys:
                real = each.estimated_time - each.imbalance
                estimated = estimate[name].estimated_time - estimate[name].imbalance
                assert 0.95 * real <= estimated <= real + 0.1, name

    def test_what_is_recommended_is_as_quick_as_the_best(self, both):
        truth, estimate = both
        chosen = truth[recommended(estimate.values()).grouping]
        assert chosen.estimated_time <= 1.1 * min(each.estimated_time for each in truth.values())

    def test_a_key_has_no_more_partials_than_there_are_workers(self):
        # Each row of the sample is on a worker of its own, which cannot go on in the whole.
        n, rows = 1_000, 10**6
        advice = by_name(advise_on_sample(hash_keys(["only"] * 400), n, rows=rows))

        spread = advice["shuffle"]
        assert spread.replication > 300
        assert spread.estimated_time - spread.imbalance <= n / rows + 1e-9

    @pytest.mark.parametrize("n", [16, 64, 200])
    def test_chance_is_not_taken_for_skew(self, n):
        # A thousandth of even rows: hashed, the busiest worker of the sample is busier by chance.
        rng = np.random.default_rng(3)
        sample = mix(rng.integers(0, 10**7, 10_000, np.uint64))
        seen = peak(loads(unskew.grouping(PLAIN, n).build().route(sample), n))

        plain = by_name(advise_on_sample(sample, n, rows=10**7))[PLAIN]

        assert seen > 1.05, "else there is no chance to take off"
        assert plain.imbalance - 1 < 0.5 * (seen - 1)


class TestBadInput:
    @pytest.mark.parametrize("merge", [-1, -1e-9, math.nan, math.inf, "1", None, True, 1j])
    def test_a_cost_that_is_none_is_refused(self, merge):
        with pytest.raises(InvalidParameterError, match=r"`merge` is .*; expected a number from 0"):
            CostModel(merge)

    @pytest.mark.parametrize("merge", [0, 2.5, np.int64(3), np.float32(0.5)])
    def test_a_cost_may_be_any_number(self, merge):
        assert CostModel(merge).merge == float(merge)

    @pytest.mark.parametrize("costs", [1.0, CostModel, {"merge": 1}])
    def test_costs_that_are_no_model_are_refused(self, costs):
        with pytest.raises(InvalidTypeError, match=r"`costs` is a .*; pass a CostModel"):
            advise_on_sample(zipf(1, 10), 4, costs=costs)

    def test_a_whole_smaller_than_its_sample_is_refused(self):
        with pytest.raises(InvalidInputError, match="`rows` is 9, fewer than sampled"):
            advise_on_sample(zipf(1, 10), 4, rows=9)

    @pytest.mark.parametrize(
        ("name", "value"), [("n_workers", 1), ("n_workers", 2.5), ("sources", 0), ("rows", -1)]
    )
    def test_settings_that_make_no_sense_are_refused(self, name, value):
        with pytest.raises(InvalidParameterError, match=f"`{name}` is {value}"):
            advise_on_sample(**{"hashes": zipf(1, 10), "n_workers": 4, name: value})
