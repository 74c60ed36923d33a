"""What GitHub's answers are made into, held to the types that it describes.

An answer of other types is a TypeError, ValueError or LookupError, which the client takes for no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import AfterValidator, ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from discovercall.cadence.guard import PullRequest

if TYPE_CHECKING:
    from github.GitTag import GitTag

_STRICT = ConfigDict(strict=True)


def text(value: object) -> str:
    """The value, if it is a text that can be written; else a TypeError or ValueError."""
    if not isinstance(value, str):
        raise TypeError("no text")
    value.encode()  # a lone surrogate is no text either
    return value


Text = Annotated[str, AfterValidator(text)]


@checked_dataclass(frozen=True, slots=True, config=_STRICT)
class RepositoryFacts:
    """What the cadence needs to know of the repository."""

    id: int
    full_name: Text
    owner: Text
    default_branch: Text
    private: bool
    url: Text


@checked_dataclass(frozen=True, slots=True, config=_STRICT)
class Ref:
    """A branch or tag, its name whole; `kind` is `tag` for an annotated tag, else what it points to."""

    name: Text
    kind: Text
    sha: Text


class Entry(NamedTuple):
    """What a tree has at a path: mode as git writes it, and the id of the blob or of a submodule's commit."""

    mode: str
    sha: str


@checked_dataclass(frozen=True, slots=True, config=_STRICT)
class Commit:
    """A commit of the repository."""

    sha: Text
    tree: Text
    parents: tuple[Text, ...]
    message: Text


@checked_dataclass(frozen=True, slots=True, config=_STRICT)
class WorkflowRun:
    """One run of a workflow."""

    id: int
    title: Text
    status: Text | None
    conclusion: Text | None
    url: Text


def tagged(tag: GitTag) -> Ref:
    """What an annotated tag names."""
    return Ref(tag.tag, tag.object.type, tag.object.sha)


def pull_request(row: Mapping[str, Any]) -> PullRequest:
    """A pull request as a list's row or a new one's answer has it."""
    head = row["head"]
    repository = head["repo"]
    return PullRequest(
        number=row["number"],
        url=text(row["html_url"]),
        head_ref=text(head["ref"]),
        head_repository_id=repository["id"] if repository is not None else None,
        head_sha=head["sha"],
        base_ref=row["base"]["ref"],
        state=row["state"],
        merged=row["merged_at"] is not None,
        draft=row.get("draft") is True,
        labels=tuple(text(label["name"]) for label in row["labels"]),
    )
