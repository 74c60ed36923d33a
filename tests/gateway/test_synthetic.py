from hypothesis import given
from hypothesis import strategies as st

from discovercall.foundation.json_text import compact
from discovercall.gateway.catalog import default_world_path, load_world
from discovercall.gateway.parameters import example_arguments
from discovercall.gateway.synthetic import NOTICE, synthesize

TOOLS = load_world(default_world_path()).tools
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def lists_of(result):
    return [value for value in result.values() if isinstance(value, list)]


def test_every_tool_answers_with_something_and_says_that_it_is_made_up():
    for tool in TOOLS:
        result = synthesize(tool, example_arguments(tool.input_schema))
        assert result["notice"] == NOTICE
        assert lists_of(result)[0][0]
        assert len(compact(result)) < 5_000


@given(st.sampled_from(TOOLS), st.dictionaries(st.text(), JSON, max_size=4))
def test_repeatable_for_any_arguments(tool, arguments):
    assert compact(synthesize(tool, arguments)) == compact(synthesize(tool, arguments))


def test_depends_on_tool_and_arguments():
    results = {compact(lists_of(synthesize(tool, {"n": n}))) for tool in TOOLS[:20] for n in range(3)}
    assert len(results) > 50  # a family with few values may repeat itself


def test_deep_arguments():
    deep: list = []
    for _ in range(50_000):
        deep = [deep]
    assert synthesize(TOOLS[0], {"deep": deep})
