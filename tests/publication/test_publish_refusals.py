"""What keeps a pair from being published, and leaves the folder as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discovercall.foundation.errors import DiscovercallError, RefusedError
from discovercall.publication.pair import Pair
from discovercall.publication.publishing import publish
from tests.publication.runs import one_task, policy, prepared, small_pair


def test_nothing_is_published_of_no_record(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"^there is no record to publish$"):
        prepared(tmp_path, records=[])


def test_a_pair_that_does_not_verify_is_not_written(tmp_path: Path) -> None:
    files = small_pair(tmp_path, 2)
    changed = files.summary.replace(b": 3,", b": 4,", 1)
    with pytest.raises(RefusedError) as error:
        publish(replace(files, summary=changed), policy(2), one_task())
    assert str(error.value).startswith("the summary does not verify: ")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    files = small_pair(tmp_path, 2)
    none = tmp_path / "none"
    with pytest.raises(DiscovercallError) as error:
        publish(replace(files, pair=Pair(none, files.pair.stem)), policy(2), one_task())
    assert str(error.value) == (
        f"{none}: cannot be written (No such file or directory); the previous pair, if there was one, is in"
        " place"
    )
