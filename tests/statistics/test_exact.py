from collections import Counter
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.statistics.exact import count_ways


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-5, 5), min_size=1, max_size=4), max_size=5))
def test_it_counts_every_combination(choices):
    assert count_ways(choices) == Counter(sum(drawn) for drawn in product(*choices))


def test_no_summand_has_one_way_to_nothing():
    assert count_ways([]) == {0: 1}
