import hashlib
import shutil
from pathlib import Path

import pytest

from discovercall.contract.validation import check_task_files
from discovercall.foundation.errors import DiscovercallError
from tests.support.records import lines, task

TASKS = Path(__file__).resolve().parents[2] / "tasks"


@pytest.fixture
def folder(tmp_path):
    for name in ("v1.jsonl", "v2.jsonl"):
        (tmp_path / name).write_text(lines(task(name)))
    seal(tmp_path)
    return tmp_path


def seal(folder):
    digests = [
        f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in sorted(folder.glob("*.jsonl"))
    ]
    (folder / "SHA256SUMS").write_text("".join(digests))


def refusal(folder):
    with pytest.raises(DiscovercallError) as refused:
        check_task_files(folder)
    return str(refused.value), refused.value.exit_code


def test_what_was_checked_is_named(folder):
    digest = hashlib.sha256((folder / "v1.jsonl").read_bytes()).hexdigest()
    first, second = check_task_files(folder)
    assert first == {"file": str(folder / "v1.jsonl"), "tasks": 1, "sha256": digest}
    assert second["file"] == str(folder / "v2.jsonl")


def test_the_committed_task_sets_are_what_was_published():
    checked = check_task_files(TASKS)
    assert [Path(entry["file"]).name for entry in checked] == [f"v{n}.jsonl" for n in (1, 2, 3, 4)]
    assert [entry["tasks"] for entry in checked] == [6, 18, 18, 18]


def test_a_changed_task_file_is_refused(folder):
    path = folder / "v2.jsonl"
    path.write_text(path.read_text().replace("Do ", "do "))
    message, code = refusal(folder)
    assert code == 1
    assert message.startswith(f"{path}: has the digest ")
    assert message.endswith(
        "published task sets never change: restore it, and put changes into a new version"
    )


def test_even_an_added_final_line_is_a_change(folder):
    with (folder / "v1.jsonl").open("a") as stream:
        stream.write("\n")
    assert refusal(folder)[1] == 1


def test_a_file_without_a_digest_and_a_digest_without_a_file_are_refused(folder):
    shutil.copy(folder / "v1.jsonl", folder / "v3.jsonl")
    message, code = refusal(folder)
    assert (code, message) == (1, f"{folder / 'v3.jsonl'}: has no published digest; add it to SHA256SUMS")
    (folder / "v3.jsonl").unlink()
    (folder / "v1.jsonl").unlink()
    message, code = refusal(folder)
    assert (code, message) == (1, f"{folder / 'SHA256SUMS'}: names v1.jsonl, which is missing")


def test_an_invalid_task_file_is_bad_input(folder):
    (folder / "v2.jsonl").write_text("{}\n")
    seal(folder)
    message, code = refusal(folder)
    assert code == 2
    assert message.startswith(f"{folder / 'v2.jsonl'}:1: id: field required")


@pytest.mark.parametrize(
    "line", ["x", f"{'a' * 64} ../v1.jsonl", f"{'A' * 64}  v1.jsonl", f"{'a' * 63}  v1.jsonl"]
)
def test_a_digest_file_must_be_one(folder, line):
    (folder / "SHA256SUMS").write_text(f"{line}\n")
    message, code = refusal(folder)
    assert code == 2
    assert message.startswith(f"{folder / 'SHA256SUMS'}:1: is no digest line; write 64 hex digits")


def test_a_digest_file_must_be_there(folder):
    (folder / "SHA256SUMS").unlink()
    assert refusal(folder)[1] == 2
