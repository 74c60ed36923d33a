import pytest

from discovercall.foundation.errors import InputError
from discovercall.foundation.toml_file import read_toml


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path, mark):
    path = tmp_path / "a.toml"
    path.write_text(f'{mark}name = "ü"\n[[lane]]\n', "utf-8")
    assert read_toml(path) == {"name": "ü", "lane": [{}]}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[a", ": not valid TOML (Expected ']' at the end of a table declaration (at end of document))"),
        (b"a = " + b"[" * 100_000, ": nested too deeply"),
        (b'a = "\xff"', ":1: not valid UTF-8; save the file as UTF-8"),
        (None, ": cannot be read (No such file or directory)"),
    ],
)
def test_what_is_no_toml_file_is_named(tmp_path, data, said):
    path = tmp_path / "a.toml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError) as refused:
        read_toml(path)
    assert str(refused.value) == f"{path}{said}"
