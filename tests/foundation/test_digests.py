import pytest

from discovercall.foundation.digests import is_commit, is_sha256, sha256_hex, sha256_of_json

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # FIPS 180-4 examples
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_known_digests():
    assert sha256_hex(b"") == EMPTY
    assert sha256_hex(b"abc") == ABC


def test_a_json_digest_is_that_of_the_compact_text():
    assert sha256_of_json({"b": 1.0, "1": ["ä"]}) == sha256_hex('{"1":["ä"],"b":1}'.encode())
    assert sha256_of_json({"a": 1, "b": 2}) != sha256_of_json({"b": 2, "a": 1})


@pytest.mark.parametrize(
    ("value", "sha256", "commit"),
    [
        ("a" * 64, True, True),
        ("0" * 40, False, True),
        ("A" * 64, False, False),
        ("g" * 64, False, False),
        ("a" * 63, False, False),
        ("a" * 65, False, False),
        ("a" * 64 + "\n", False, False),
        ("a" * 40 + "\n", False, False),
        ("١" * 40, False, False),
        (None, False, False),
        (b"a" * 64, False, False),
    ],
)
def test_what_a_digest_and_a_commit_look_like(value, sha256, commit):
    assert (is_sha256(value), is_commit(value)) == (sha256, commit)
