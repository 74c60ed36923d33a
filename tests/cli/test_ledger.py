"""The spend ledger on a terminal."""

from tests.contract.test_ledger import INTENT, PLAN, chained


def test_a_foreign_journal_does_not_steer_the_terminal(command, tmp_path):
    path = tmp_path / "x.journal.jsonl"
    path.write_bytes(chained(PLAN, INTENT | {"price": None, "task_id": "a\x1b]0;title\x07\u202eb"}))
    done = command("ledger", path)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "  task a\ufffd]0;title\ufffd\ufffdb, trial 1, lane 1"
