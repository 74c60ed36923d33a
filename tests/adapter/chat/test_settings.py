"""Command lines of the chat adapter: what is taken, and refusals that repeat no value."""

from __future__ import annotations

import pytest

from discovercall.adapter.authoring import Refusal
from discovercall.adapter.chat.settings import FALLBACKS, ChatSettings, read_settings

KEYS = {"OPENAI_API_KEY": "sk-one", "OTHER_API_KEY": "sk-two"}


def settings(*arguments: str) -> ChatSettings:
    return read_settings(arguments, KEYS)


def test_asks_openai_unless_told_otherwise() -> None:
    asked = settings()
    assert asked.url == "https://api.openai.com/v1/chat/completions"
    assert (asked.key, asked.modes, asked.parameters) == ("sk-one", FALLBACKS, {})
    assert not asked.loopback
    assert "sk-one" not in repr(asked)


@pytest.mark.parametrize(
    ("base_url", "url", "loopback"),
    [
        ("http://localhost:11434/v1/", "http://localhost:11434/v1/chat/completions", True),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/chat/completions", True),
        ("http://[::1]/v1", "http://[::1]/v1/chat/completions", True),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions", False),
        ("https://localhost.example/v1", "https://localhost.example/v1/chat/completions", False),
    ],
)
def test_base_urls(base_url: str, url: str, loopback: bool) -> None:
    asked = settings("--base-url", base_url)
    assert (asked.url, asked.loopback) == (url, loopback)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ([], "max_completion_tokens"),
        (["--base-url=http://localhost/v1"], "max_tokens"),
        (["--max-tokens-field=max_tokens"], "max_tokens"),
    ],
)
def test_the_token_limit_goes_by_the_name_that_the_server_knows(arguments: list[str], field: str) -> None:
    assert settings("--max-tokens=7", *arguments).parameters == {field: 7}


def test_a_variable_of_its_own_holds_the_key() -> None:
    assert settings("--api-key-env=OTHER_API_KEY").key == "sk-two"


@pytest.mark.parametrize("key", ["", " \n"])
def test_only_a_server_on_this_machine_may_go_without_a_key(key: str) -> None:
    assert read_settings(["--base-url=http://localhost/v1"], {"OPENAI_API_KEY": key}).key is None
    with pytest.raises(Refusal, match="start_failed") as caught:
        read_settings([], {"OPENAI_API_KEY": key})
    assert "OPENAI_API_KEY is not set" in caught.value.detail


@pytest.mark.parametrize("key", ["two words", "schlüssel", "line\nbreak", "\x00"])
def test_a_key_that_no_header_can_carry_is_refused(key: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_settings(["--base-url=http://localhost/v1"], {"OPENAI_API_KEY": key})
    assert key not in caught.value.detail


@pytest.mark.parametrize(
    "argument",
    [
        "--base-url=http://models.secret/v1",
        "--base-url=http://127.0.0.1.secret/v1",
        "--base-url=https://user:secret@models.example/v1",
        "--base-url=https://secret@models.example/v1",
        "--base-url=https://models.example/v1?key=secret",
        "--base-url=https://models.example/v1#secret",
        "--base-url=http://127.0.0.1\\@secret.example/v1",
        "--base-url=http://127.0.0.1:secret/v1",
        "--base-url=http://[::1/secret",
        "--base-url=file:///etc/secret",
        "--base-url=secret",
        "--base-url=",
        "--base-url= https://models.example/secret",
        "--api-key=secret",
        "--base=https://secret.example/v1",
        "secret",
        "--api-key-env=sk-secret",
        "--api-key-env=sk_secret",
        "--api-key-env=QVERIS_API_KEY",
        "--response-format=secret",
        "--temperature=secret",
        "--temperature=nan",
        "--temperature=-1",
        "--max-tokens=0",
        "--max-tokens=1e9",
        "--max-tokens-field=secret",
        "--effort=Secret secret",
        "--timeout-s=inf",
        "--max-wait-s=-1",
        "--api-model=",
    ],
)
def test_what_cannot_be_used_is_refused_and_not_repeated(argument: str) -> None:
    with pytest.raises(Refusal) as caught:
        settings(argument)
    assert caught.value.code == "start_failed"
    assert caught.value.detail
    assert "secret" not in caught.value.detail
