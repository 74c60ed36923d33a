import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from discovercall.foundation.ecma_json import JsonError, loads
from discovercall.foundation.json_text import compact
from discovercall.foundation.quick_json import quick_loads
from tests.foundation.test_ecma_json import VALUES, same

NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?", fullmatch=True)


@settings(deadline=None, max_examples=200)
@given(
    NUMBERS
    | VALUES.map(compact)
    | VALUES.map(json.dumps)
    | st.text('[]{}:,"\\ 01.eE-+ntu\x00\n', max_size=12)
)
@example("NaN")
@example("-Infinity")
@example('{"a":1,"b":2,"a":3}')
@example('"\\ud800"')
@example("1" * 400)
@example("[" + "1" * 401 + "]")
@example("-" + "1" * 5000)
@example("1e999")
@example("\ufeff1")
@example("[" * 500 + "]" * 500)
def test_quick_reading_gives_the_same_or_gives_up(text):
    try:
        value = quick_loads(text.encode("utf-8", "surrogatepass"))
    except JsonError:
        return
    assert same(value, loads(text))


def test_quick_reading_does_not_give_up_on_what_records_hold():
    text = '{"a":[1,-2.5,1e-7,true,null,"\u00e4\U0001f600\\n"],"digest":"' + "0123456789abcdef" * 4 + '"}\r\n'
    assert same(quick_loads(text.encode()), loads(text))
