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


@pytest.mark.parametrize("arguments", [(0, 0), (-1, 3), (4, 3), (1, 3, 0.0), (1, 3, 1.0)])
def test_refuses_what_is_no_proportion(arguments):
    with pytest.raises(ValueError, match=r"must be|needs"):
        wilson(*arguments)
