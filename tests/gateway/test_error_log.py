"""A program's error stream: its last line, and no more of it than a disk bears."""

import os
import subprocess
import sys

import pytest

from discovercall.gateway.error_log import ErrorLog
from discovercall.gateway.masking import ToolMask

MASK = ToolMask(["tok-secret-1"])
MEBIBYTE = 2**20


@pytest.fixture
def log():
    made = ErrorLog()
    yield made
    made.close(MASK)


def say(log, source):
    subprocess.run([sys.executable, "-c", f"import sys\n{source}"], stderr=log.stream, check=True)


def test_the_last_line_that_says_something_is_shown_without_secrets(log):
    say(log, "sys.stderr.write('one\\n\\n two tok-secret-1 \\n \\n')")
    assert log.last_line(MASK) == "two [redacted]"
    log.close(MASK)
    assert log.last_line(MASK) == "two [redacted]"


def test_a_program_that_said_nothing_has_no_last_line(log):
    assert log.last_line(MASK) == ""
    log.close(MASK)
    assert log.last_line(MASK) == ""


def test_reading_does_not_move_the_place_where_the_program_writes(log):
    say(log, f"sys.stderr.write('x' * {MEBIBYTE} + '\\nfirst\\n')")
    assert log.last_line(MASK) == "first"
    say(log, "sys.stderr.write('second\\n')")
    assert log.last_line(MASK) == "second"
    assert os.fstat(log.stream.fileno()).st_size == MEBIBYTE + len("\nfirst\nsecond\n")


def test_much_is_dropped_and_the_program_goes_on(log):
    say(log, f"sys.stderr.write('x' * {9 * MEBIBYTE})")
    log.trim()
    assert os.fstat(log.stream.fileno()).st_size == 0
    say(log, "sys.stderr.write('cret-1\\nhello\\n')")
    found = os.fstat(log.stream.fileno())
    assert (found.st_size, found.st_blocks * 512 < MEBIBYTE) == (len("cret-1\nhello\n"), True)
    assert log.last_line(MASK) == "hello"


def test_the_end_of_a_line_whose_start_was_dropped_is_not_shown(log):
    say(log, f"sys.stderr.write('x' * {9 * MEBIBYTE})")
    log.trim()
    say(log, "sys.stderr.write('cret-1')")
    assert log.last_line(MASK) == ""


def test_little_is_kept(log):
    say(log, "sys.stderr.write('hello\\n')")
    log.trim()
    assert log.last_line(MASK) == "hello"
