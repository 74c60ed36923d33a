from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.statistics.regression import check_release

releases = st.integers(1, 4).flatmap(
    lambda tasks: st.lists(
        st.lists(st.integers(0, 3), min_size=tasks, max_size=tasks), min_size=4, max_size=6
    )
)


@settings(deadline=None)
@given(releases)
def test_p_value_is_the_share_of_reassignments_within_tasks(drawn):
    *history, release = drawn
    reassigned = list(product(*zip(*drawn, strict=True)))
    expected = sum(sum(counts) <= sum(release) for counts in reassigned) / len(reassigned)
    assert check_release(history, release).p_value == expected


@settings(deadline=None)
@given(releases)
def test_the_order_of_the_history_does_not_matter(drawn):
    *history, release = drawn
    assert check_release(history[::-1], release) == check_release(history, release)


def test_an_unchanged_release_is_no_notice():
    check = check_release([[3] * 18] * 5, [3] * 18)
    assert (check.p_value, check.notice, check.lower_tasks, check.dark_tasks) == (1.0, False, (), ())


def test_one_task_gone_dark_is_listed_without_a_notice():
    check = check_release([[3] * 18] * 5, [3] * 17 + [0])
    assert check.p_value == pytest.approx(1 / 6)
    assert not check.notice
    assert check.lower_tasks == check.dark_tasks == (17,)


def test_two_tasks_gone_dark_are_a_notice_that_names_them():
    check = check_release([[3] * 18] * 5, [3, 0, *[3] * 15, 0])
    assert check.p_value == pytest.approx(1 / 36)
    assert check.notice
    assert check.lower_tasks == check.dark_tasks == (1, 17)


def test_a_task_that_was_dark_before_has_not_gone_dark():
    check = check_release([[3, 0], [3, 3], [3, 3]], [3, 0])
    assert check.lower_tasks == (1,)
    assert check.dark_tasks == ()


def test_one_success_in_every_earlier_release_is_enough_to_go_dark():
    check = check_release([[1, 1], [1, 2], [3, 1]], [0, 1])
    assert check.lower_tasks == (0, 1)
    assert check.dark_tasks == (0,)


def test_gains_are_no_notice():
    check = check_release([[0] * 18] * 3, [3] * 18)
    assert check.p_value == 1.0
    assert check.lower_tasks == ()


@pytest.mark.parametrize("earlier", [0, 2, 6])
def test_too_short_or_too_long_a_history_is_refused(earlier):
    with pytest.raises(ValueError, match=f"^the history must have 3 to 5 releases, not {earlier}$"):
        check_release([[3]] * earlier, [3])


def test_releases_of_other_shapes_are_refused():
    with pytest.raises(
        ValueError, match=r"^every release in the history must have the 2 tasks of the new one$"
    ):
        check_release([[3, 3], [3, 3], [3]], [3, 3])
    with pytest.raises(ValueError, match=r"^a release needs at least one task$"):
        check_release([[], [], []], [])
