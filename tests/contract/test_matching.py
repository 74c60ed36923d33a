import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.contract.matching import (
    constraint_accuracy,
    normalize,
    required_parameter_accuracy,
    supplied,
)
from discovercall.contract.tasks import load_task_set
from tests.support.records import constraint

TASKS = Path(__file__).resolve().parents[2] / "tasks"


def satisfied(value, actual, **more):
    """Whether one constraint on the parameter `city` is met by its value."""
    return constraint_accuracy([constraint(value=value, **more)], {"city": actual}) == 1


@pytest.mark.parametrize(
    ("value", "actual", "met"),
    [
        ("London", "London", True),
        ("London", "  LONDON\t", True),
        ("London", "\ufefflondon\u3000\u2028", True),
        ("London", "\x85london", False),
        ("London", "London, UK", False),
        ("London", "Lond", False),
        ("STRASSE", "straße", False),
        ("ΟΔΟΣ", "οδος", True),
        ("İstanbul", "i\u0307stanbul", True),
        (39, 39, True),
        (39, 39.0, True),
        (39, "39", True),
        ("39", 39, True),
        ("39.0", 39.0, False),
        (51.5, "51.5", True),
        (51.5, "51.50", False),
        (1e21, "1e+21", True),
        (1e-7, "1e-7", True),
        (1e-7, "1e-07", False),
        (-0.0, "0", True),
        ("9007199254740993", 9007199254740993, False),
        ("9007199254740992", 9007199254740993, True),
        (True, True, True),
        (True, "TRUE", True),
        (True, 1, False),
        (False, 0, False),
        (False, False, True),
        (0, 0, True),
        ('["a",1]', ["a", 1], True),
        ('["a"]', ["A"], False),
        ('{"1":true,"b":null}', {"b": None, "1": True}, True),
        ("a", ["a"], False),
    ],
)
def test_equals_compares_normalised_text(value, actual, met):
    assert satisfied(value, actual) is met


@pytest.mark.parametrize(
    ("value", "actual", "met"),
    [
        ("London", "Greater LONDON area", True),
        ("London", "Lond on", False),
        ("paris", "comparison", True),
        (320193, "0000320193", True),
        ("320193", 1320193, True),
        ("london", ["london", "x"], True),
        ("london", ["London", "x"], False),
        ("b", {"a": "b"}, True),
        ("Comparison", "paris", False),
    ],
)
def test_contains_searches_normalised_text(value, actual, met):
    assert satisfied(value, actual, match="contains") is met


@pytest.mark.parametrize(
    ("value", "actual", "met"),
    [
        ("artificial intelligence", "artificial%20intelligence", True),
        ("artificial intelligence", "artificial+intelligence", True),
        ("artificial intelligence", "artificial%2520intelligence", True),
        ("artificial intelligence", "artificial%252520intelligence", False),
        ("artificial%20intelligence", "artificial intelligence", True),
        ("a+b", "a b", True),
        ("a b", "a%2Bb", False),  # plus signs turn into spaces once, before the decoding
        ("münchen", "M%C3%BCnchen", True),
        ("münchen", "m%c3%bcnchen", True),
        ("artificial", "%41rtificial", False),  # decoded after lower-casing
        ("london", "london%20", False),  # and not trimmed again
        ("a%zz%20b", "a%zz%20b", True),
        ("a%zz b", "a%zz%20b", False),  # one malformed escape: the round changes nothing
        ("a b%", "a%20b%25", True),  # the first round holds, the second meets a malformed escape
        ("%ff", "%FF", True),
        ("%ff x", "%ff%20x", False),  # nor does a round with invalid UTF-8
        ("%c0%80", "%C0%80", True),
        ("%ed%a0%80", "%ED%A0%80", True),
        ("50%", "50%", True),
    ],
)
def test_url_decoding(value, actual, met):
    assert satisfied(value, actual, normalizers=["url_decode"]) is met


@pytest.mark.parametrize("actual", ["a%20b", "a+b"])
def test_without_the_normalizer_nothing_is_decoded(actual):
    assert not satisfied("a b", actual)
    assert not satisfied("a b", actual, normalizers=[])


def test_listed_values_and_parts_of_composites_are_decoded_too():
    listed = {"aliases": ["id"], "value": "x", "alias_values": {"id": ["a%20b"]}}
    assert constraint_accuracy([{**listed, "normalizers": ["url_decode"]}], {"id": "a b"}) == 1
    assert constraint_accuracy([listed], {"id": "a b"}) == 0
    parts = [
        {"aliases": ["from"], "value": "US%20D", "composite_aliases": ["pair"]},
        {"aliases": ["to"], "value": "e+r", "composite_aliases": ["pair"]},
    ]
    decoding = [{**part, "normalizers": ["url_decode"]} for part in parts]
    assert constraint_accuracy(decoding, {"pair": "us d/e r"}) == 1
    assert constraint_accuracy(parts, {"pair": "us d/e r"}) == 0


@pytest.mark.parametrize("missing", ["", None])
@pytest.mark.parametrize("match", ["equals", "contains"])
def test_a_missing_value_meets_nothing_not_even_an_empty_one(missing, match):
    assert not satisfied("", missing, match=match)
    assert satisfied("", " ", match=match)


def test_lists_are_not_decoded():
    assert not satisfied('["a b"]', ["a%20b"], normalizers=["url_decode"])
    assert normalize(["A%20B"], True) == '["A%20B"]'


@pytest.mark.parametrize(
    ("match", "parameters", "met"),
    [
        ("equals", {"id": "1"}, True),
        ("equals", {"id": 1}, True),
        ("equals", {"id": " 1 "}, True),
        ("equals", {"id": "BTC"}, True),
        ("equals", {"id": "bitcoin"}, True),  # the value counts for every alias
        ("equals", {"id": "11"}, False),
        ("equals", {"symbol": "1"}, False),  # listed for the other alias only
        ("contains", {"id": "11"}, False),  # `match` does not govern listed values
        ("contains", {"id": "the bitcoin"}, True),
        ("contains", {"symbol": "1", "id": 1}, True),
    ],
)
def test_alias_values(match, parameters, met):
    bitcoin = {
        "id": "coin",
        "aliases": ["id", "symbol"],
        "value": "Bitcoin",
        "match": match,
        "alias_values": {"id": ["1", "btc"]},
    }
    assert constraint_accuracy([bitcoin], parameters) == met


PAIR = [
    {"id": "base", "aliases": ["from"], "value": "USD", "composite_aliases": ["pair", "symbol"]},
    {"id": "quote", "aliases": ["to"], "value": "EUR", "composite_aliases": ["pair"]},
]


@pytest.mark.parametrize(
    ("parameters", "score"),
    [
        ({"pair": "USDEUR"}, 1),
        ({"pair": "usd/eur"}, 1),
        ({"pair": " USD-EUR "}, 1),
        ({"pair": "USD_EUR"}, 1),
        ({"pair": "USD:EUR"}, 1),
        ({"pair": "USD EUR"}, 1),
        ({"pair": "USD.EUR"}, 0),
        ({"pair": "USD/ EUR"}, 0),
        ({"pair": "EUR/USD"}, 0),
        ({"pair": "USD/EUR/GBP"}, 0),
        ({"pair": "USD"}, 0),
        ({"symbol": "USD"}, 0.5),  # only the base lists this alias, so it stands alone
        ({"symbol": "USD/EUR"}, 0),
        ({"from": "USD", "to": "EUR"}, 1),
        ({"from": "USD"}, 0.5),
        ({"from": "GBP", "pair": "USD/EUR"}, 1),  # any alias may match
        ({"pair": None, "from": ""}, 0),
    ],
)
def test_composite_aliases(parameters, score):
    assert constraint_accuracy(PAIR, parameters) == score


def test_composites_are_joined_in_task_order_by_one_separator():
    three = [constraint(f"c{i}", v, composite_aliases=["all"]) for i, v in enumerate(("a", 2, True))]
    assert constraint_accuracy(three, {"all": "A-2-true"}) == 1
    assert constraint_accuracy(three, {"all": "a-2/true"}) == 0
    assert constraint_accuracy(three[::-1], {"all": "a-2-true"}) == 0


def test_composites_ignore_contains_and_obey_the_normalizer():
    decoding = [{**c, "match": "contains", "normalizers": ["url_decode"]} for c in PAIR]
    assert constraint_accuracy(decoding, {"pair": "usd%2Feur"}) == 1
    assert constraint_accuracy(decoding, {"pair": "my usd/eur"}) == 0
    assert constraint_accuracy(PAIR, {"pair": "usd%2Feur"}) == 0


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"a": 0}, True),
        ({"a": False}, True),
        ({"a": []}, True),
        ({"a": {}}, True),
        ({"a": " "}, True),
        ({"a": ""}, False),
        ({"a": None}, False),
        ({}, False),
        (None, False),
        ([], False),
        ("a", False),
    ],
)
def test_what_counts_as_supplied(parameters, expected):
    assert supplied(parameters, "a") is expected


@pytest.mark.parametrize("name", ["constructor", "toString", "__proto__", "__class__", "keys"])
def test_only_own_values_count(name):
    assert not supplied({}, name)
    assert constraint_accuracy([constraint(name, "x", match="contains")], {}) == 0


@pytest.mark.parametrize(
    ("required", "accuracy"),
    [
        ([], 1),
        (None, 1),
        ("city", 1),
        ({}, 1),
        (["city"], 1),
        (["city", "day"], 0.5),
        (["zero", "no"], 1),
        (["empty", "null"], 0),
        ([["city", "day"]], 1),
        ([["day", "null"], "city"], 0.5),
        ([["city", "zero"], "city"], 1),
        ([[]], 0),
        ([7, {"name": "city"}, None, "city"], 0.25),
        ([[7, "city"]], 1),
    ],
)
def test_required_parameters(required, accuracy):
    parameters = {"city": "London", "zero": 0, "no": False, "empty": "", "null": None}
    assert required_parameter_accuracy(required, parameters) == accuracy


@pytest.mark.parametrize("parameters", [None, [], "city", 7])
def test_parameters_that_are_no_object_supply_nothing(parameters):
    assert required_parameter_accuracy(["city", "day"], parameters) == 0
    assert constraint_accuracy([constraint()], parameters) == 0


def test_without_constraints_the_accuracy_is_one():
    assert constraint_accuracy([], None) == 1


NAMES = st.sampled_from(["a", "b", "c", "pair"])
VALUES = (
    st.sampled_from(["x", "X ", "y", "%78", "x/y", "xy", "", " ", "1", "true"])
    | st.none()
    | st.booleans()
    | st.sampled_from([1, 1.0, 0, 2**60, 1e21, math.inf])
    | st.lists(st.sampled_from(["x", 1]), max_size=2)
)
PARAMETERS = st.dictionaries(NAMES, VALUES, max_size=4)
REQUIRED = st.lists(NAMES | st.lists(NAMES, min_size=1, max_size=3), max_size=4)
CONSTRAINTS = st.lists(
    st.fixed_dictionaries(
        {"aliases": st.lists(NAMES, min_size=1, max_size=3), "value": st.sampled_from(["x", "y", 1, True])},
        optional={
            "match": st.sampled_from(["equals", "contains"]),
            "composite_aliases": st.lists(NAMES, max_size=2),
            "normalizers": st.just(["url_decode"]),
        },
    ),
    max_size=4,
)


@settings(deadline=None)
@given(CONSTRAINTS, REQUIRED, PARAMETERS)
def test_accuracies_are_shares(constraints, required, parameters):
    for accuracy, parts in (
        (constraint_accuracy(constraints, parameters), len(constraints)),
        (required_parameter_accuracy(required, parameters), len(required)),
    ):
        assert 0 <= accuracy <= 1
        assert math.isclose(accuracy * (parts or 1), round(accuracy * (parts or 1)))


@settings(deadline=None)
@given(CONSTRAINTS, REQUIRED, PARAMETERS, NAMES, VALUES)
def test_a_further_parameter_never_lowers_an_accuracy(constraints, required, parameters, name, value):
    more = parameters if supplied(parameters, name) else {**parameters, name: value}
    assert constraint_accuracy(constraints, more) >= constraint_accuracy(constraints, parameters)
    assert required_parameter_accuracy(required, more) >= required_parameter_accuracy(required, parameters)


@settings(deadline=None)
@given(CONSTRAINTS, REQUIRED, PARAMETERS, st.randoms(use_true_random=False))
def test_orders_that_do_not_matter(constraints, required, parameters, random):
    def shuffled(items):
        return random.sample(items, len(items))

    reordered = dict(shuffled(list(parameters.items())))
    aliases = [{**c, "aliases": shuffled(c["aliases"])} for c in constraints]
    single = [{k: v for k, v in c.items() if k != "composite_aliases"} for c in constraints]
    assert constraint_accuracy(aliases, reordered) == constraint_accuracy(constraints, parameters)
    assert math.isclose(
        constraint_accuracy(shuffled(single), parameters), constraint_accuracy(single, parameters)
    )
    assert required_parameter_accuracy(shuffled(required), reordered) == required_parameter_accuracy(
        required, parameters
    )


def referenced(version):
    return [
        (task, candidate["parameters"])
        for task in load_task_set(TASKS / f"{version}.jsonl").raw
        for candidate in task["reference"]["candidates"]
    ]


@pytest.mark.parametrize("version", ["v3", "v4"])
def test_every_reference_candidate_meets_every_constraint_of_its_own_task(version):
    assert len(referenced(version)) > 10
    for task, parameters in referenced(version):
        assert constraint_accuracy(task["constraints"], parameters) == 1, task["id"]


@pytest.mark.parametrize("version", ["v3", "v4"])
def test_no_reference_candidate_meets_the_constraints_of_another_task(version):
    for task, _ in referenced(version):
        for other, parameters in referenced(version):
            if other["id"] != task["id"]:
                assert constraint_accuracy(task["constraints"], parameters) < 1, (task["id"], other["id"])


@pytest.mark.parametrize("version", ["v3", "v4"])
def test_wrong_or_missing_values_do_not_meet_the_constraints(version):
    for task, parameters in referenced(version):
        assert constraint_accuracy(task["constraints"], {}) == 0
        assert constraint_accuracy(task["constraints"], dict.fromkeys(parameters, "wrong")) == 0
