import os
import stat

import pytest

from discovercall.foundation.errors import InputError
from discovercall.foundation.jsonl import (
    AppendFile,
    dump_lines,
    parse_lines,
    read_objects,
    read_text,
    split_lines,
    stream_objects,
)


def numbered(text, **options):
    return [(line.number, line.value) for line in parse_lines(text, "f.jsonl", **options)]


def test_lines_end_at_line_feeds_only():
    assert split_lines("a\nb\r\nc\u2028d\x85e\x0bf\rg") == ["a", "b", "c\u2028d\x85e\x0bf\rg"]
    assert split_lines("a\n") == ["a", ""]


def test_other_separators_belong_to_the_value():
    assert numbered('"a\u2028b\u2029c\x85d"\r\n2') == [(1, "a\u2028b\u2029c\x85d"), (2, 2)]


def test_blank_lines_are_skipped_but_counted():
    assert numbered("\n1\r\n \t\n\u3000\ufeff\n2\n") == [(2, 1), (5, 2)]


def test_comments_are_skipped_only_where_they_are_allowed():
    assert numbered("# note\n1\n#2\n", comments=True) == [(2, 1)]
    with pytest.raises(InputError, match=r"^f\.jsonl:1: not valid JSON"):
        numbered("# note\n1\n")


def test_a_byte_order_mark_at_the_beginning_is_no_part_of_the_text():
    assert numbered("\ufeff1\n2") == [(1, 1), (2, 2)]
    with pytest.raises(InputError, match=r"^f\.jsonl:2: not valid JSON"):
        numbered("1\n\ufeff2")


def test_an_error_names_file_and_line():
    lines = parse_lines('{"a":1}\r\n\n{"a":}\n', "runs/x.jsonl")
    assert next(lines).value == {"a": 1}
    with pytest.raises(InputError, match=r"^runs/x\.jsonl:3: not valid JSON \(Expecting value\)$"):
        next(lines)


def test_text_that_is_no_utf8_names_its_line(tmp_path):
    path = tmp_path / "latin.jsonl"
    path.write_bytes('"ok"\n"café"\n'.encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.jsonl:2: not valid UTF-8; save the file as UTF-8$"):
        read_text(path)


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path, name):
    with pytest.raises(InputError, match=r": cannot be read \((No such file|Is a directory)"):
        read_text(tmp_path / name)


def test_text_and_bytes_come_from_one_read(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":"\xc3\xa4"}\r\n')
    assert read_text(path) == ('{"a":"ä"}\r\n', b'{"a":"\xc3\xa4"}\r\n')


def test_only_objects_are_records(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a":1}\n\n{"b":2}\n')
    assert read_objects(path) == [{"a": 1}, {"b": 2}]
    path.write_text('{"a":1}\n\n[2]\n')
    with pytest.raises(InputError, match=r"a\.jsonl:3: must be a JSON object$"):
        read_objects(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'\xef\xbb\xbf{"a":1}\n{"b":"\xe2\x80\xa8"}\r\n\n \t\n{"c":2}',
        b'{"a":"\\ud800","a":' + b"1" * 500 + b"}\n{}\n",
        b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}\n",
        b'\x0b{"a":1}\n',
        b'{"a":1}\n\n[2]\n',
        b'{"a":1}\n{"a":"\xff"}\n',
        b'{"a":1}\n{"a":NaN}\n',
        b'{"a":1}\n"x"\n',
        b'{"a":1}\n\xef\xbb\xbf{"a":1}\n',
    ],
)
def test_streamed_objects_are_the_same_and_so_is_a_single_error(tmp_path, data):
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    assert outcome(stream_objects, path) == outcome(read_objects, path)


def outcome(read, path):
    try:
        return dump_lines(list(read(path)))
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_streaming_a_file_that_cannot_be_read_is_one_clear_error(tmp_path, name):
    with pytest.raises(InputError, match=r": cannot be read \((No such file|Is a directory)"):
        list(stream_objects(tmp_path / name))


def test_lines_are_written_compact_with_a_final_newline(tmp_path):
    assert dump_lines([{"b": 1.0, "1": "ä\u2028"}, {}]) == '{"1":"ä\u2028","b":1}\n{}\n'.encode()
    assert dump_lines([]) == b""
    path = tmp_path / "a.jsonl"
    path.write_bytes(dump_lines([{"x": "a\u2028\x85b"}]))
    assert read_objects(path) == [{"x": "a\u2028\x85b"}]


def test_an_append_file_is_private_and_new(tmp_path):
    path = tmp_path / "journal"
    mask = os.umask(0)
    try:
        file = AppendFile.create(path)
    finally:
        os.umask(mask)
    file.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        AppendFile.create(path)


def test_an_append_file_only_grows_and_has_one_writer(tmp_path):
    path = tmp_path / "journal"
    first = AppendFile.create(path)
    first.append(b"one\n", sync=True)
    with pytest.raises(BlockingIOError):
        AppendFile.reopen(path)
    first.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        first.append(b"lost\n", sync=False)
    second = AppendFile.reopen(path)
    second.append(b"two\n", sync=False)
    second.close()
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_torn_end_can_be_cut_off(tmp_path):
    path = tmp_path / "journal"
    path.write_bytes(b"one\ntor")
    file = AppendFile.reopen(path)
    file.truncate(4)
    file.append(b"two\n", sync=True)
    file.close()
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_link_is_not_written_through(tmp_path):
    path = tmp_path / "journal"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        AppendFile.create(path)
    with pytest.raises(OSError, match="symbolic links"):
        AppendFile.reopen(path)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("read_by_somebody", [False, True])
def test_a_named_pipe_is_not_waited_for(tmp_path, read_by_somebody):
    path = tmp_path / "journal"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if read_by_somebody else None
    with pytest.raises(OSError, match="no regular file" if read_by_somebody else "No such device"):
        AppendFile.reopen(path)
    if reader is not None:
        os.close(reader)


def test_an_append_goes_on_after_a_short_write(tmp_path, monkeypatch):
    file = AppendFile.create(tmp_path / "journal")
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:3])))
    file.append(b"0123456789", sync=True)
    assert (tmp_path / "journal").read_bytes() == b"0123456789"
    file.close()


def test_sync_returns_only_after_the_data_is_on_disk(tmp_path, monkeypatch):
    file = AppendFile.create(tmp_path / "journal")
    synced = []
    monkeypatch.setattr(os, "fdatasync", lambda _: synced.append((tmp_path / "journal").read_bytes()))
    file.append(b"a\n", sync=False)
    assert synced == []
    file.append(b"b\n", sync=True)
    assert synced == [b"a\nb\n"]
    file.close()
