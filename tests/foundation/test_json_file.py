"""JSON files that people write and review."""

import pytest

from discovercall.foundation.errors import InputError
from discovercall.foundation.json_file import parse_json, read_json, unique_json


def test_value_and_bytes_come_from_one_read(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": [1, "\xc3\xa4"]}\n')
    assert read_json(path) == ({"a": [1, "ä"]}, b'\xef\xbb\xbf{"a": [1, "\xc3\xa4"]}\n')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f.json:1: not valid JSON (Expecting value)"),
        ('{"a": 1,\n\n b}', "f.json:3: not valid JSON (Expecting property name enclosed in double quotes)"),
        ('{"a": 1,\n "b": NaN}', "f.json:2: not valid JSON (NaN is not JSON)"),
        ("[1,\n2,\n-Infinity]", "f.json:3: not valid JSON (-Infinity is not JSON)"),
        ('{"a": 1,\n "a": 2}', "f.json: not valid JSON (names 'a' twice in one object)"),
        ("{}\n{}", "f.json:2: not valid JSON (Extra data)"),
        ("[" * 100_000 + "]" * 100_000, "f.json: not valid JSON (nested too deeply)"),
    ],
)
def test_what_is_no_json_is_one_line_that_names_the_place(text, said):
    with pytest.raises(InputError) as refused:
        parse_json(text, "f.json")
    assert str(refused.value) == said


def test_a_line_names_itself():
    with pytest.raises(InputError) as refused:
        unique_json('{"a": 1, "a": 2}', "f.jsonl:7")
    assert str(refused.value) == "f.jsonl:7: not valid JSON (names 'a' twice in one object)"


def test_a_file_over_its_limit_and_a_missing_one_are_refused(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("[1, 2]")
    assert read_json(path, 6) == ([1, 2], b"[1, 2]")
    with pytest.raises(InputError, match=r"a\.json: cannot be read \(larger than 5 bytes\)"):
        read_json(path, 5)
    with pytest.raises(InputError, match=r"b\.json: cannot be read \(No such file or directory\)"):
        read_json(tmp_path / "b.json")
