import io
import os
import sys
import threading

import pytest

from discovercall.contract.credentials import read_api_key
from discovercall.foundation.errors import InputError

KEY = "catalog/key+0123456789=="


def refusal(name, environment=None):
    with pytest.raises(InputError) as refused:
        read_api_key(name, environment or {})
    assert KEY not in str(refused.value)
    return str(refused.value)


def key_file(folder, content, mode=0o600):
    path = folder / "key"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize("text", [KEY, f" {KEY}\n", f"\ufeff{KEY}\r\n", f"\t{KEY}\u3000"])
@pytest.mark.parametrize("source", ["environment", "file", "standard input"])
def test_white_space_around_a_key_is_trimmed(tmp_path, monkeypatch, source, text):
    if source == "environment":
        assert read_api_key(None, {"QVERIS_API_KEY": text}) == KEY
    elif source == "file":
        assert read_api_key(key_file(tmp_path, text), {"QVERIS_API_KEY": "other"}) == KEY
    else:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert read_api_key("-", {}) == KEY


@pytest.mark.parametrize("environment", [{}, {"QVERIS_API_KEY": ""}, {"QVERIS_API_KEY": " \n"}])
def test_without_a_key_both_ways_to_give_one_are_told(environment):
    assert refusal(None, environment) == (
        "QVERIS_API_KEY: no catalog key; set it, or name a file with --api-key-file"
    )


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o666])
def test_a_file_that_others_can_get_at_is_refused(tmp_path, mode):
    path = key_file(tmp_path, KEY, mode)
    assert refusal(path) == f"--api-key-file: {path} can be read by others; chmod 600 {path}"


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_private_file_is_fine_also_through_a_link(tmp_path, mode):
    (tmp_path / "link").symlink_to(key_file(tmp_path, KEY, mode))
    assert read_api_key(str(tmp_path / "link"), {}) == KEY


def test_a_link_does_not_hide_that_others_can_read_the_file(tmp_path):
    (tmp_path / "link").symlink_to(key_file(tmp_path, KEY, 0o644))
    assert "can be read by others" in refusal(str(tmp_path / "link"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no API key"),
        (" \n", "no API key"),
        (f"{KEY}\nsecond line", "cannot stand in an HTTP header"),
        (f"{KEY}é", "cannot stand in an HTTP header"),
        (f"{KEY}\0", "cannot stand in an HTTP header"),
        (b"\xff\xfe", "holds no text"),
    ],
)
def test_what_can_be_no_key_is_refused(tmp_path, content, message):
    assert message in refusal(key_file(tmp_path, content))


@pytest.mark.parametrize(("name", "reason"), [("missing", "No such file"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read(tmp_path, name, reason):
    assert f"cannot be read ({reason}" in refusal(str(tmp_path / name))


def test_a_pipe_has_no_readers_to_worry_about(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path, 0o666)
    path.chmod(0o666)
    writer = threading.Thread(target=path.write_text, args=(KEY,))
    writer.start()
    assert read_api_key(str(path), {}) == KEY
    writer.join()
