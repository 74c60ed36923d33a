import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discovercall.contract import journal as journal_module
from discovercall.contract.journal import (
    Journal,
    JournalLost,
    JournalUnwritable,
    TrialKey,
    find_journal,
    journal_path,
    last_chain,
    read_journal,
)
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
    missing = tmp_path / "none.jsonl"
    with pytest.raises(InputError) as refused:
        list(read_journal(missing))
    assert str(refused.value) == f"{missing}: cannot be read (No such file or directory)"


class FullDisk(AppendFile):
    """A disk that takes half a line and fails, at those of its next lines that are told."""

    fails: Iterator[bool] = iter(())

    def append(self, data, *, sync):
        if next(self.fails, False):
            super().append(data[: len(data) // 2], sync=False)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().append(data, sync=sync)


def test_after_a_failed_write_nothing_is_written_behind_the_torn_line(tmp_path):
    path = tmp_path / "j.journal.jsonl"
    file = FullDisk(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), path)
    journal = Journal.begin(file, {}, {}, "d")
    journal.trial_started(KEY)
    file.fails = iter([True])
    message = (
        r"the journal cannot be written \(No space left on device\); nothing more is started; mend the cause"
    )
    for _ in range(2):
        with pytest.raises(InputError, match=message):
            journal.call_intent(KEY, None, DRAFT)
    journal.close()
    assert [content["kind"] for content in verified(path)] == ["plan", "trial_started"]


def full_disk(path, *fails):
    """A journal with a call under way; at which of the next lines its disk fails."""
    file = FullDisk(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), path)
    journal = Journal.begin(file, {}, {}, "d")
    journal.trial_started(KEY)
    journal.call_intent(KEY, None, DRAFT)
    file.fails = iter(fails)
    return journal


BEGUN = ["plan", "trial_started", "call_intent"]
FULL = "the journal cannot be written (No space left on device); nothing more is started"


def test_what_a_full_disk_did_not_take_is_written_when_there_is_room(tmp_path, monkeypatch):
    path = tmp_path / "j.journal.jsonl"
    journal = full_disk(path, True)
    assert journal.trouble is None
    journal.revisions("v1", None)
    assert str(journal.trouble) == f"{FULL}; mend the cause, then continue with --resume"
    journal.call_outcome(KEY, OUTCOME)
    journal.trial_finished(KEY, {"run_id": "r1"})
    with pytest.raises(JournalUnwritable):
        journal.trial_started(KEY)
    journal.trial_finished(KEY, {"run_id": "r2"})
    with monkeypatch.context() as patch:
        synced = []
        patch.setattr(os, "fdatasync", lambda _: synced.append(verified(path)[-1]["kind"]))
        assert journal.catch_up() == 0
    assert synced == ["revisions", "call_outcome", "trial_finished", "trial_finished"]
    journal.check(path)
    journal.close()
    kinds = [content["kind"] for content in verified(path)]
    assert kinds == [*BEGUN, "revisions", "call_outcome", "trial_finished", "trial_finished"]
    assert [content["record"]["run_id"] for content in verified(path)[-2:]] == ["r1", "r2"]


def test_what_is_finished_and_not_written_is_counted(tmp_path):
    path = tmp_path / "j.journal.jsonl"
    journal = full_disk(path, True, False, False, True, True, False)
    journal.call_outcome(KEY, OUTCOME)
    journal.trial_finished(KEY, {"run_id": "r1"})
    journal.call_outcome(KEY, OUTCOME)
    journal.revisions("v1", None)
    journal.trial_finished(KEY, {"run_id": "r2"})
    written = [*BEGUN, "call_outcome", "trial_finished"]
    for missing, more in ((1, []), (1, []), (0, ["call_outcome", "revisions", "trial_finished"])):
        assert journal.catch_up() == missing
        assert [content["kind"] for content in verified(path)] == [*written, *more]
    journal.check(path)
    journal.close()


def test_what_is_finished_and_not_written_is_told(tmp_path):
    error = JournalUnwritable("why", 2, in_outputs=True)
    assert error.why == "why"
    assert str(error) == (
        "the journal cannot be written (why); nothing more is started; mend the cause, then continue with"
        " --resume, which counts 2 finished calls as unknown: their records are in the outputs only (move"
        " them away first)"
    )
    assert str(JournalUnwritable("why", 2)).endswith("2 finished calls as unknown: their records are lost")


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


def test_an_output_that_is_there_leads_to_its_journal(tmp_path):
    output = tmp_path / "run.jsonl"
    output.write_text("")
    write(journal_path(output))
    assert find_journal(output) == journal_path(output)


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_a_path_without_a_name_has_no_journal(name):
    with pytest.raises(InputError) as refused:
        find_journal(Path(name))
    assert str(refused.value) == f"{Path(name)}: is no file"


@pytest.mark.parametrize(
    "first",
    [
        None,
        {"kind": "plan"},
        {"kind": "plan", "plan": {}},
        {"kind": "plan", "plan": {"lanes": ["output", {"lane": "reference"}, {"output": "b.jsonl"}]}},
    ],
)
def test_a_journal_of_other_lanes_is_nobody_elses(tmp_path, first):
    journal = Journal(AppendFile.create(tmp_path / "run.journal.jsonl"))
    if first is not None:
        journal._write(first["kind"], {name: value for name, value in first.items() if name != "kind"})
    journal.close()
    with pytest.raises(InputError) as refused:
        find_journal(tmp_path / "a.jsonl")
    assert str(refused.value) == f"{tmp_path / 'a.jsonl'}: has no journal a.jsonl.journal.jsonl beside it"


def test_a_run_that_goes_on_says_so_with_its_new_limits(tmp_path):
    path = tmp_path / "run.jsonl.journal.jsonl"
    journal = Journal.create(path, {}, {"max_billed_calls": 3}, "d" * 64)
    journal.resumed({"max_billed_calls": 9}, "e" * 64)
    journal.call_withdrawn(KEY)
    journal.close()
    resumed, withdrawn = verified(path)[1:]
    del resumed["chain"], withdrawn["chain"]
    assert resumed == {"kind": "resumed", "limits": {"max_billed_calls": 9}, "plan_digest": "e" * 64}
    assert withdrawn == {"kind": "call_withdrawn", "lane": 0, "task_id": "täsk\u2028", "trial": 1}


def test_what_may_be_lost_is_not_waited_for(tmp_path, monkeypatch):
    journal = Journal.create(tmp_path / "j.journal.jsonl", {}, {}, "d")
    calls: list[int] = []
    monkeypatch.setattr(os, "fdatasync", calls.append)
    journal.trial_started(KEY)
    journal.revisions("a", "b")
    assert not calls
    journal.resumed({}, "d")
    assert len(calls) == 1
    journal.call_outcome(KEY, OUTCOME)
    assert len(calls) == 2
    journal.close()


def test_the_folder_of_a_new_journal_is_synced(tmp_path, monkeypatch):
    folders: list[Path] = []
    monkeypatch.setattr(journal_module, "sync_folder", folders.append)
    write(tmp_path / "j.journal.jsonl")
    assert folders == [tmp_path]


def test_the_last_chain_value_is_that_of_an_unbroken_chain(path, tmp_path):
    lines = path.read_bytes().splitlines(keepends=True)
    assert last_chain(path) == json.loads(lines[-1])["chain"]
    for content, chain in (
        (b"", ""),
        (lines[0], json.loads(lines[0])["chain"]),
        (b"text\n", None),
        (lines[0] + b"text\n", None),
        (lines[0] + lines[2], None),
        (b"".join(lines[1:]), None),
    ):
        path.write_bytes(content)
        assert last_chain(path) == chain, content
    assert last_chain(tmp_path / "none") is None


def test_a_journal_somewhere_else_is_lost_for_good(path, tmp_path):
    other = tmp_path / "other.journal.jsonl"
    journal = Journal.create(other, {}, {}, "d")
    journal.check(other)
    assert journal.intact
    line = (
        "the journal is lost (somebody removed, replaced or changed it during the run); the outputs hold what"
        " is finished; start what is missing anew, with another --output"
    )
    with pytest.raises(JournalLost) as lost:
        journal.check(path)
    assert str(lost.value) == line
    assert not journal.intact
    with pytest.raises(JournalLost):
        journal.check(other)
    with pytest.raises(JournalLost):
        journal.call_intent(KEY, None, DRAFT)
    journal.trial_finished(KEY, {"run_id": "r1"})
    journal.close()
    assert [content["kind"] for content in verified(other)] == ["plan", "trial_finished"]


def test_a_lost_journal_that_cannot_be_written_is_lost_not_full(tmp_path):
    path = tmp_path / "j.journal.jsonl"
    file = FullDisk(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), path)
    journal = Journal.begin(file, {}, {}, "d")
    path.unlink()
    file.fails = iter([True])
    for _ in range(2):
        journal.trial_finished(KEY, {})
        assert isinstance(journal.trouble, JournalLost)
        with pytest.raises(JournalLost):
            journal.trial_started(KEY)
    journal.close()


def test_an_error_without_words_is_told_by_what_it_is(tmp_path):
    path = tmp_path / "j.journal.jsonl"

    class Broken(AppendFile):
        def append(self, data, *, sync):
            raise OSError("wires cut")

    with pytest.raises(InputError) as refused:
        Journal.begin(Broken(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), path), {}, {}, "d")
    assert str(refused.value) == (
        "the journal cannot be written (wires cut); nothing more is started; mend the cause, then continue"
        " with --resume"
    )


def test_where_each_line_ends_is_known(path):
    ends = [entry.end for entry in read_journal(path)]
    lines = path.read_bytes().splitlines(keepends=True)
    assert ends == [sum(map(len, lines[: number + 1])) for number in range(len(lines))]
    assert [entry.number for entry in read_journal(path)] == [1, 2, 3, 4, 5, 6]
