"""Base URLs: one normal form, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.capability.authorization import validate_api_key
from discovercall.foundation.base_url import is_loopback, normalize_base_url
from discovercall.foundation.errors import InputError


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/api/v1///", "https://example.org/api/v1"),
        ("https://example.org", "https://example.org"),
        ("HTTPS://EXAMPLE.org:0443/%7Ex/./a/../b", "https://example.org/%7Ex/b"),
        ("https://example.org//api//v1//", "https://example.org//api//v1"),
        ("https://example.org/%2e%2e/x", "https://example.org/x"),
        ("https://example.org/路径", "https://example.org/%E8%B7%AF%E5%BE%84"),
        ("https://bücher.example:8443/", "https://xn--bcher-kva.example:8443"),
        ("https://example.org/a@b", "https://example.org/a@b"),
        ("https://0x7f.1/", "https://127.0.0.1"),
        ("http://LOCALHOST:80/x", "http://localhost/x"),
        ("http://127.0.0.1:8080/api/v1", "http://127.0.0.1:8080/api/v1"),
        ("http://[0:0::1]:5/x", "http://[::1]:5/x"),
    ],
)
def test_normal_form(url: str, expected: str) -> None:
    assert normalize_base_url(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "", "   ", "example.org", "https://", "/api", "ftp://example.org", "sandbox://embedded", "file:///etc",
        "http://example.org", "http://0.0.0.0:1", "http://127.0.0.2", "http://localhost.", "http://a.localhost",
        "http://[::ffff:127.0.0.1]/x", "https://u:p@example.org", "https://u@example.org", "https://:p@example.org",
        "https://example.org/?q", "https://example.org/api?", "https://example.org/#",
        "https://example.org/a b",
        " https://example.org", "https://example.org\n", "https://exam\tple.org", "https://example.org\\api",
        "https://example.org/\u00a0", "https://example.org/\ufeff", "https://example.org:99999", "https://ex<mple.org",
        "https://example.org/\ud800", "https://[::1", "https://example.org/\x00", "https://example.org/\x85",
        None, [], 5,
    ],
)  # fmt: skip
def test_refused(url: str) -> None:
    with pytest.raises(InputError) as raised:
        normalize_base_url(url)
    assert raised.value.exit_code == 2


@given(
    st.text(st.characters(categories=["L", "N"]), min_size=8).map(lambda text: f"Zq{text}"),
    st.sampled_from(
        ["https://{}@example.org", "https://u:{}@h/?q", "http://x:{}@h\\", "{}", "https://h/?key={}"]
    ),
)
def test_a_refusal_never_repeats_what_may_be_a_secret(secret: str, form: str) -> None:
    with pytest.raises(InputError) as raised:
        normalize_base_url(form.format(secret))
    assert secret not in str(raised.value)


@given(
    st.sampled_from(["https://", "http://", "HTTPS:", "https:////"]),
    st.sampled_from(["localhost", "127.1", "[::1]", "EXAMPLE.org", "münchen.de", "a..b", "h_x", ""])
    | st.text(max_size=5),
    st.sampled_from(["", ":1", ":443", ":080"]),
    st.text(max_size=8) | st.from_regex(r"(/(\.|\.\.|%2e|[a-z%é'|^]*)){0,5}/*", fullmatch=True),
)
def test_a_url_is_refused_or_has_one_normal_form(scheme: str, host: str, port: str, path: str) -> None:
    try:
        normal = normalize_base_url(scheme + host + port + path)
    except InputError:
        return
    assert normalize_base_url(normal) == normal
    assert normal.isascii()
    assert not normal.endswith("/")
    assert normal.startswith("https://") or is_loopback(normal)
    assert not set(normal) & set(" \\?#\t\n")


@pytest.mark.parametrize("url", ["http://localhost:1/x", "https://127.0.0.1", "http://[::1]:5"])
def test_loopback(url: str) -> None:
    assert is_loopback(url)


@pytest.mark.parametrize(
    "url", ["https://localhost.example.org", "sandbox://embedded", "https://[::2]", "https://[x", ""]
)
def test_not_loopback(url: str) -> None:
    assert not is_loopback(url)


def test_a_key_is_trimmed() -> None:
    assert validate_api_key("\ufeff sk_a\tb~\r\n") == "sk_a\tb~"
