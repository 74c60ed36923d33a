import errno
import hashlib
import json
import os
import re
import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discovercall.contract.journal import Journal, TrialKey, find_journal, journal_path, read_journal
from discovercall.foundation.errors import InputError
from discovercall.foundation.jsonl import AppendFile

KEY = TrialKey(0, "täsk\u2028", 1)
DRAFT = {"run_id": "r1", "call": {"attempted": True}}
OUTCOME = {"outcome": "answered", "success": True, "result_nonempty": True, "cost": 2.5}


def write(path):
    journal = Journal.create(path, {"tasks": ["täsk"]}, {"max_billed_calls": 3}, "d" * 64)
    journal.trial_started(KEY)
    journal.call_intent(KEY, 2.0, DRAFT)
    journal.call_outcome(KEY, OUTCOME)
    journal.revisions("v1", None)
    journal.trial_finished(KEY, {"run_id": "r1", "10": 1, "2": 2})
    journal.close()
    return path


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "run.jsonl.journal.jsonl")


def verified(path):
    return [entry.content for entry in read_journal(path)]


def damaged_at(path):
    """The number of the line at which reading is refused."""
    with pytest.raises(InputError) as refused:
        list(read_journal(path))
    found = re.fullmatch(
        rf"{re.escape(str(path))}:(\d+): this journal line is damaged or was changed; restore .*",
        str(refused.value),
    )
    assert found, refused.value
    return int(found[1])


def test_each_line_is_chained_to_the_one_before(path):
    chain = ""
    for line in path.read_bytes().splitlines(keepends=True):
        body, _, seal = line.rpartition(b',"chain":"')
        chain = hashlib.sha256(chain.encode() + body).hexdigest()
        assert seal == chain.encode() + b'"}\n'


def test_what_was_written_is_read(path):
    contents = verified(path)
    assert [content["kind"] for content in contents] == [
        "plan",
        "trial_started",
        "call_intent",
        "call_outcome",
        "revisions",
        "trial_finished",
    ]
    key = {"lane": 0, "task_id": "täsk\u2028", "trial": 1}
    bare = [{k: v for k, v in content.items() if k not in ("kind", "chain")} for content in contents]
    assert bare == [
        {"plan": {"tasks": ["täsk"]}, "limits": {"max_billed_calls": 3}, "plan_digest": "d" * 64},
        key,
        key | {"price": 2.0, "draft": DRAFT},
        key | OUTCOME,
        {"api": "v1", "catalog": None},
        key | {"record": {"run_id": "r1", "10": 1, "2": 2}},
    ]
    entries = list(read_journal(path))
    assert [entry.number for entry in entries] == [1, 2, 3, 4, 5, 6]
    assert entries[1].key == KEY
    assert entries[-1].end == path.stat().st_size
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_existing_journal_is_never_overwritten(path):
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        write(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6])
def test_a_changed_byte_is_found_at_its_line(path, number):
    lines = path.read_bytes().splitlines(keepends=True)
    line = lines[number - 1]
    at = len(line) // 3
    lines[number - 1] = line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :]
    path.write_bytes(b"".join(lines))
    assert damaged_at(path) == number


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_a_removed_line_is_found_where_the_next_one_now_is(path, number):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: number - 1] + lines[number:]))
    assert damaged_at(path) == number


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_swapped_lines_are_found_at_the_first(path, number):
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1 : number + 1] = reversed(lines[number - 1 : number + 1])
    path.write_bytes(b"".join(lines))
    assert damaged_at(path) == number


@pytest.mark.parametrize("number", [1, 3, 7])
@pytest.mark.parametrize("kind", ["copy", "forged", "blank", "text"])
def test_an_inserted_line_is_found(path, number, kind):
    lines = path.read_bytes().splitlines(keepends=True)
    body = b'{"kind":"trial_started","lane":0,"task_id":"x","trial":9'
    inserted = {
        "copy": lines[1],
        "forged": body + b',"chain":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n',
        "blank": b"\n",
        "text": b"note\n",
    }[kind]
    lines.insert(number - 1, inserted)
    path.write_bytes(b"".join(lines))
    # A line that begins a chain of its own may stand first: then the true first line no longer fits.
    assert damaged_at(path) in ((1, 2) if number == 1 else (number,))


def test_a_change_with_its_own_seal_recomputed_is_found_at_the_next_line(path):
    lines = path.read_bytes().splitlines(keepends=True)
    before = json.loads(lines[1])["chain"]
    body = lines[2].rpartition(b',"chain":"')[0].replace(b'"price":2', b'"price":1')
    lines[2] = body + b',"chain":"' + hashlib.sha256(before.encode() + body).hexdigest().encode() + b'"}\n'
    path.write_bytes(b"".join(lines))
    assert damaged_at(path) == 4


def test_a_torn_last_line_is_forgiven_wherever_it_broke(path):
    data, whole = path.read_bytes(), verified(path)
    start = data.rstrip(b"\n").rfind(b"\n") + 1
    for size in range(start, len(data)):
        path.write_bytes(data[:size])
        assert verified(path) == whole[:-1]


def test_only_the_last_line_may_be_torn(path):
    data = path.read_bytes()
    first = data.index(b"\n")
    path.write_bytes(data[: first - 4] + data[first:])
    assert damaged_at(path) == 1


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_single_change_goes_unseen(path, data):
    original = path.read_bytes()
    at = data.draw(st.integers(0, len(original) - 2))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != original[at]))
    other = path.with_name("other.journal.jsonl")
    other.write_bytes(original[:at] + bytes([byte]) + original[at + 1 :])
    assert damaged_at(other) == original.count(b"\n", 0, at) + 1


@pytest.mark.parametrize("content", [b"", b'{"kind":"pl'])
def test_a_journal_that_broke_off_in_its_first_line_says_nothing(path, content):
    path.write_bytes(content)
    assert verified(path) == []


@pytest.mark.parametrize("content", [b"text\n", b"[]\n", b"\xff\n", b'{"kind":"plan"}\n'])
def test_another_file_is_no_journal(path, content):
    path.write_bytes(content)
    assert damaged_at(path) == 1


def test_a_missing_journal_is_one_clear_error(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read \(No such file"):
        list(read_journal(tmp_path / "none.jsonl"))


class FullDisk(AppendFile):
    """A disk that takes half a line and fails, once."""

    full = False

    def append(self, data, *, sync):
        if self.full:
            self.full = False
            super().append(data[: len(data) // 2], sync=False)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().append(data, sync=sync)


def test_after_a_failed_write_nothing_is_written_behind_the_torn_line(tmp_path):
    path = tmp_path / "j.journal.jsonl"
    file = FullDisk(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), path)
    journal = Journal.begin(file, {}, {}, "d")
    journal.trial_started(KEY)
    file.full = True
    message = (
        r"the journal can't be written \(No space left on device\); nothing more is started; mend the cause"
    )
    for _ in range(2):
        with pytest.raises(InputError, match=message):
            journal.call_intent(KEY, None, DRAFT)
    journal.close()
    assert [content["kind"] for content in verified(path)] == ["plan", "trial_started"]


def test_what_money_depends_on_is_synced_before_the_call_returns(tmp_path, monkeypatch):
    path = tmp_path / "j.journal.jsonl"
    synced = []
    monkeypatch.setattr(os, "fdatasync", lambda _: synced.append(verified(path)[-1]["kind"]))
    write(path)
    assert {"plan", "call_intent", "trial_finished"} <= set(synced)


def test_where_the_journal_of_a_run_is(tmp_path):
    output = tmp_path / "run.jsonl"
    assert journal_path(output) == tmp_path / "run.jsonl.journal.jsonl"
    with pytest.raises(InputError, match=r"run\.jsonl: has no journal run\.jsonl\.journal\.jsonl beside it"):
        find_journal(output)
    write(journal_path(output))
    assert find_journal(output) == find_journal(journal_path(output)) == journal_path(output)
