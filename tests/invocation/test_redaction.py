"""What is taken out of text before it leaves the process, and what stays."""

from __future__ import annotations

import base64
import time
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.invocation.redaction import ERROR_LIMIT, SecretRedactor
from tests.invocation.streams import KEY, LEAKY, SECRETS
from tests.support.planted import found

REDACT = SecretRedactor([KEY])
PRINTABLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=12, max_size=60)


def test_a_careless_message_keeps_its_words_and_loses_its_secrets() -> None:
    clean = REDACT(LEAKY)
    assert not [secret for secret in SECRETS if secret in clean]
    assert clean == (
        "Incorrect API key provided: [redacted]. Sent as 'Authorization: [redacted]', also seen [redacted]"
        " and https://example.org/v1?api_key=[redacted]&access_token=[redacted]"
    )


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Bearer abc.def-123", "abc.def-123"),
        ("authorization: bearer tok", "tok"),
        ("Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("Incorrect API key provided: sk-ab***wxyz", "wxyz"),
        ("key sk-1234567890", "1234567890"),
        ('{"api_key": "v4lue"}', "v4lue"),
        ('{\\"apiKey\\":\\"v4lue\\"}', "v4lue"),
        ("?access_token=v4lue&x=1", "v4lue"),
        ("X-Api-Key: v4lue", "v4lue"),
        ("OPENAI_API_KEY=v4lue", "v4lue"),
        ("password=v4lue;", "v4lue"),
        ("client_secret = v4lue", "v4lue"),
        ("AKIAABCDEFGHIJKLMNOP", "ABCDEFGHIJKLMNOP"),
        ("https://user:passw0rd@example.org", "passw0rd"),
    ],
)
def test_shapes_and_parameters(text: str, gone: str) -> None:
    clean = SecretRedactor()(text)
    assert gone not in clean
    assert "[redacted]" in clean


@pytest.mark.parametrize(
    "text",
    [
        "HTTP 429: rate_limit_exceeded: Rate limit reached. Try again in 1s.",
        "a chunk is not valid JSON (Unexpected token: line 1)".replace("token:", "end:"),
        "This model's maximum context length is 8192 tokens.",
        "The model `gpt-x` does not exist or you do not have access to it.",
        "prompt_tokens: 12",
        "calendar.schedule.create from tool_call",
        "order of results: expected as detected: device.volume.adjust",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert SecretRedactor()(text) == text
    assert REDACT(text) == text


@pytest.mark.parametrize("encode", [quote, bytes.hex, base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("offset", range(3))
def test_the_configured_key_is_found_in_every_form(encode: Any, offset: int) -> None:
    hidden = encode(b"user:"[:offset] + KEY.encode())
    text = hidden if isinstance(hidden, str) else hidden.decode()
    clean = REDACT(f"what we got was {text} instead")
    assert text not in clean
    assert not found([KEY], {"clean": clean.encode()})


@settings(deadline=None)
@given(PRINTABLE, st.text(max_size=40), st.text(max_size=40))
def test_no_key_survives(key: str, before: str, after: str) -> None:
    redact = SecretRedactor([key])
    for form in (key, quote(key, safe=""), base64.b64encode(key.encode()).decode()):
        assert form not in redact.short(f"{before} {form} {after}")
        assert key not in redact(f"{before}{form}{after}")


@settings(deadline=None)
@given(st.text(max_size=2 * ERROR_LIMIT))
def test_short_text_is_one_line_within_the_limit(text: str) -> None:
    short = SecretRedactor().short(text)
    assert len(short) <= ERROR_LIMIT
    assert "\n" not in short


def test_redaction_comes_before_truncation() -> None:
    # Cut first, half of the key would be left, which nothing recognises.
    text = "x" * (ERROR_LIMIT - 10) + " " + KEY
    assert KEY[:8] not in REDACT.short(text)


@pytest.mark.parametrize("text", ["key-", "a_", "key ", "token: ", "sk-", "x=", "\\"])
def test_long_text_takes_no_longer_than_its_length(text: str) -> None:
    # Backtracking would take minutes for what takes a tenth of a second.
    before = time.process_time()
    REDACT(text * (65_536 // len(text)))
    assert time.process_time() - before < 5


def test_a_tree_is_redacted_everywhere() -> None:
    tree = {"a": [KEY, 1, None, {"b": f"x {KEY}"}]}
    assert REDACT.tree(tree) == {"a": ["[redacted]", 1, None, {"b": "x [redacted]"}]}
