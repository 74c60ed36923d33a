import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from discovercall.statistics.wilson import wilson


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999))
def test_is_what_scipy_computes(counts, confidence):
    hits, total = counts
    theirs = binomtest(hits, total).proportion_ci(confidence, method="wilson")
    assert wilson(hits, total, confidence) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    low, high = wilson(hits, total, confidence)
    assert low <= hits / total <= high


def test_eight_of_eight_is_little():
    assert wilson(8, 8) == pytest.approx((0.6756, 1.0), abs=1e-4)


@pytest.mark.parametrize("total", [10, 13, 40])
def test_none_and_all_are_their_own_limit_whatever_the_rounding(total):
    assert wilson(0, total)[0] == 0.0
    assert wilson(total, total)[1] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0), "the interval needs at least one case"),
        ((-1, 3), "hits must be between 0 and the number of cases"),
        ((4, 3), "hits must be between 0 and the number of cases"),
        ((1, 3, 0.0), "confidence must be between 0 and 1, not 0.0"),
        ((1, 3, 1.0), "confidence must be between 0 and 1, not 1.0"),
    ],
)
def test_refuses_what_is_no_proportion(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        wilson(*arguments)
