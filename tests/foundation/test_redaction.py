import pytest

from discovercall.foundation.redaction import MASK, Redactor


@pytest.mark.parametrize(
    ("secrets", "text", "expected"),
    [
        (["sk-123456"], "key sk-123456, again sk-123456.", f"key {MASK}, again {MASK}."),
        (["sk-12", "sk-123456"], "sk-123456 sk-12", f"{MASK} {MASK}"),
        (["abc", ""], "abc and nothing", "abc and nothing"),
        (["a.*b"], "a.*b axxb", f"{MASK} axxb"),
        ([], "text", "text"),
        (["wxyz"], "wxyz", MASK),
    ],
)
def test_known_secrets_are_masked(secrets, text, expected):
    assert Redactor(secrets)(text) == expected
