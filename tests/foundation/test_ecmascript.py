import math
import re
from string import ascii_letters

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.foundation.ecmascript import (
    array_index,
    has_control_or_format,
    is_blank,
    is_finite_number,
    is_integer,
    is_number,
    is_safe,
    lower,
    number_text,
    strictly_equal,
    trim,
    utf16_length,
)

NUMBER_FORM = re.compile(
    r"-?(0|[1-9][0-9]{0,20}|(0|[1-9][0-9]*)\.[0-9]*[1-9]|[1-9](\.[0-9]*[1-9])?e[+-][1-9][0-9]*)"
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (10.0, "10"),
        (-1.5, "-1.5"),
        (100, "100"),
        (51.5, "51.5"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e20, "100000000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (999999999999999900000.0, "999999999999999900000"),
        (1e21, "1e+21"),
        (-1e21, "-1e+21"),
        (1.5e21, "1.5e+21"),
        (1e100, "1e+100"),
        (0.001, "0.001"),
        (0.000001, "0.000001"),
        (0.00000123, "0.00000123"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (-1.23e-18, "-1.23e-18"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (2**53, "9007199254740992"),
        (2**53 + 1, "9007199254740992"),
        (-(2**63), "-9223372036854776000"),
        (10**21, "1e+21"),
        (10**400, "Infinity"),
        (-(10**400), "-Infinity"),
        (math.inf, "Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_a_number_is_written_as_ecmascript_writes_it(number, text):
    assert number_text(number) == text


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_number_text_reads_back_as_the_same_double_in_one_of_ecmascripts_forms(number):
    text = number_text(number)
    assert float(text) == number
    assert NUMBER_FORM.fullmatch(text)
    digits = re.sub(r"e.*|[-.]", "", text).strip("0")
    assert len(digits) <= 17


@settings(deadline=None)
@given(st.integers(-(2**53), 2**53))
def test_a_safe_integer_keeps_its_digits(number):
    assert number_text(number) == str(number)


@pytest.mark.parametrize(
    "character",
    [
        "\t",
        "\n",
        "\v",
        "\f",
        "\r",
        " ",
        "\u00a0",
        "\u1680",
        "\u2003",
        "\u2028",
        "\u2029",
        "\u202f",
        "\u205f",
        "\u3000",
        "\ufeff",
    ],
)
def test_white_space_of_ecmascript_is_trimmed(character):
    assert trim(f"{character}a{character}b{character}") == f"a{character}b"
    assert is_blank(character * 2)


@pytest.mark.parametrize(
    "character", ["\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u200b", "\u180e", "\u2060", "\0"]
)
def test_what_only_other_languages_call_white_space_is_kept(character):
    assert trim(f" {character}a{character} ") == f"{character}a{character}"
    assert not is_blank(character)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ABC", "abc"),
        ("ÄÖÜ ẞ", "äöü ß"),
        ("ΟΔΟΣ", "οδος"),
        ("ΣΟΦΙΑ", "σοφια"),
        ("Σ", "σ"),
        ("ΑΣ. Σ", "ας. σ"),
        ("İ", "i\u0307"),
        ("ß", "ß"),
        ("K", "k"),  # KELVIN SIGN
        ("\U00010d50", "\U00010d70"),  # the first and the last Garay letter, new in Unicode 16
        ("\U00010d65", "\U00010d85"),
        ("\U00010d4f", "\U00010d4f"),
        ("\u1c89", "\u1c8a"),
        ("\ua7cb", "\u0264"),
        ("\ua7dc", "\u019b"),
        ("\ua7da", "\ua7db"),
        ("\U00016ea0", "\U00016ebb"),  # Beria Erfe, new in Unicode 17
        ("\U00016eb8", "\U00016ed3"),
        ("\U00016eb9", "\U00016eb9"),
    ],
)
def test_lower_case_follows_unicode_17(text, expected):
    assert lower(text) == expected


@pytest.mark.parametrize(
    "character",
    [
        "\0",
        "\x1f",
        "\x7f",
        "\x85",
        "\u00ad",
        "\u200d",
        "\u200e",
        "\u202e",
        "\ufeff",
        "\U00013430",
        "\U00013439",
        "\U0001343f",
        "\U000e0001",
    ],
)
def test_control_and_format_characters_make_a_string_unsafe(character):
    assert has_control_or_format(f"a{character}b")
    assert not is_safe(f"a{character}b")


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        ("a", True),
        ("naïve 東京 😀", True),
        ("a\u00a0b", True),
        ("\U00013440", True),  # the neighbour of the last format character is a mark
        ("", False),
        (" ", False),
        ("\u3000\u00a0", False),
        ("a" * 256, True),
        ("a" * 257, False),
        ("😀" * 128, True),
        ("😀" * 128 + "a", False),
        (None, False),
        (7, False),
    ],
)
def test_a_safe_string(value, safe):
    assert is_safe(value) is safe


def test_the_limit_of_a_safe_string_can_be_another():
    assert is_safe("a" * 300, limit=512)
    assert not is_safe("abc", limit=2)


def test_length_counts_utf16_units():
    assert utf16_length("a東😀") == 4


@pytest.mark.parametrize(
    ("value", "number", "finite", "integer"),
    [
        (1, True, True, True),
        (10.0, True, True, True),
        (-0.0, True, True, True),
        (1.5, True, True, False),
        (True, False, False, False),
        (math.inf, True, False, False),
        (math.nan, True, False, False),
        (10**400, True, False, False),
        (2**53 + 1, True, True, True),
        ("1", False, False, False),
        (None, False, False, False),
    ],
)
def test_kinds_of_numbers(value, number, finite, integer):
    assert (is_number(value), is_finite_number(value), is_integer(value)) == (number, finite, integer)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (0.0, -0.0, True),
        (1, True, False),
        (0, False, False),
        (True, True, True),
        ("1", 1, False),
        ("a", "a", True),
        (None, None, True),
        (None, False, False),
    ],
)
def test_strict_equality_of_primitives(left, right, equal):
    assert strictly_equal(left, right) is equal


@pytest.mark.parametrize(
    ("key", "index"),
    [
        ("0", 0),
        ("7", 7),
        ("4294967294", 2**32 - 2),
        ("4294967295", None),
        ("99999999999", None),
        ("01", None),
        ("00", None),
        ("-1", None),
        ("1.0", None),
        ("", None),
        ("٣", None),
        ("²", None),
    ],
)
def test_array_index_keys(key, index):
    assert array_index(key) == index


@settings(deadline=None)
@given(st.text(ascii_letters + "\u00df\u0130ΣΟ \ufeff\x85"))
def test_trimming_and_lower_case_are_stable(text):
    assert trim(trim(text)) == trim(text)
    assert lower(lower(text)) == lower(text)
