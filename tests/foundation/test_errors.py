import pytest

from discovercall.foundation.errors import DiscovercallError, InputError, RefusedError, SpendLimitError


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "is wrong"),
        ({"where": "a.json:3"}, "a.json:3: is wrong"),
        ({"fix": "mend it"}, "is wrong; mend it"),
        ({"where": "--flag", "fix": "mend it"}, "--flag: is wrong; mend it"),
    ],
)
def test_an_error_says_where_what_and_what_to_do(arguments, text):
    assert str(DiscovercallError("is wrong", **arguments)) == text


@pytest.mark.parametrize(
    ("error", "code"), [(DiscovercallError, 2), (InputError, 2), (RefusedError, 1), (SpendLimitError, 3)]
)
def test_each_kind_has_its_exit_code(error, code):
    assert error("x").exit_code == code
