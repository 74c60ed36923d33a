import errno
import os
import stat
from pathlib import Path

import pytest

from discovercall.foundation.files import read_input, same_file, write_atomic


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_file_gets_its_content_and_mode_whatever_the_umask(tmp_path, mode):
    mask = os.umask(0o077)
    try:
        write_atomic(tmp_path / "a", b"data", mode=mode)
    finally:
        os.umask(mask)
    assert (tmp_path / "a").read_bytes() == b"data"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


def test_a_new_file_replaces_an_old_one_whole(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old and longer")
    path.chmod(0o666)
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("step", ["write", "fchmod", "fsync", "replace"])
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_failing_step_leaves_the_old_content_and_no_debris(tmp_path, monkeypatch, step, old):
    path = tmp_path / "a"
    if old is not None:
        path.write_bytes(old)

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    if step == "write":
        monkeypatch.setattr(os, "fdopen", lambda descriptor, mode: _FullDisk(descriptor))
    else:
        monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        write_atomic(path, b"new")
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ([] if old is None else ["a"])
    assert old is None or path.read_bytes() == old


class _FullDisk:
    def __init__(self, descriptor):
        self.descriptor = descriptor

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.descriptor)

    def write(self, data):
        os.write(self.descriptor, data[:1])
        raise OSError(errno.ENOSPC, "No space left on device")


def test_an_interrupt_leaves_no_debris_either(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "a", b"new")
    assert list(tmp_path.iterdir()) == []


def test_data_is_on_disk_before_it_has_its_name_and_the_name_after(tmp_path, monkeypatch):
    steps = []
    fsync, replace = os.fsync, os.replace

    def record_fsync(descriptor):
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "data")
        fsync(descriptor)

    def record_replace(source, target):
        steps.append("name")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "replace", record_replace)
    write_atomic(tmp_path / "a", b"new")
    assert steps == ["data", "name", "folder"]


def test_one_file_under_two_names(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"")
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "hard").hardlink_to(path)
    (tmp_path / "folder").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    for other in ("a", "link", "hard", "folder/a", "./x/../a"):
        assert same_file(path, tmp_path / other), other
        assert same_file((tmp_path / other).relative_to(tmp_path), path), other


def test_two_files_with_equal_content_are_not_one(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"same")
    assert not same_file(tmp_path / "a", tmp_path / "b")


def test_files_that_do_not_exist_are_told_apart_by_path(tmp_path):
    (tmp_path / "folder").symlink_to(tmp_path)
    assert same_file(tmp_path / "new", tmp_path / "folder" / "new")
    assert not same_file(tmp_path / "new", tmp_path / "other")
    (tmp_path / "to-new").symlink_to(tmp_path / "new")
    assert same_file(tmp_path / "to-new", tmp_path / "new")


def test_an_input_is_a_regular_file_of_a_bounded_size(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_input(path, 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_input(path, 4)


def test_a_named_pipe_or_a_device_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "stdin").symlink_to("/dev/stdin")
    for path in (tmp_path / "pipe", tmp_path / "zero", tmp_path / "stdin", tmp_path, Path("/dev/zero")):
        with pytest.raises(OSError, match=r"no regular file|directory"):
            read_input(path)


def test_a_pipe_that_was_given_is_read_up_to_the_limit():
    reader, writer = os.pipe()
    try:
        os.write(writer, b"12345")
        os.close(writer)
        assert read_input(Path(f"/dev/fd/{reader}"), 5) == b"12345"
    finally:
        os.close(reader)
    reader, writer = os.pipe()
    try:
        os.write(writer, b"123456")
        with pytest.raises(OSError, match="larger than 5 bytes"):
            read_input(Path(f"/dev/fd/{reader}"), 5)
    finally:
        os.close(reader)
        os.close(writer)
