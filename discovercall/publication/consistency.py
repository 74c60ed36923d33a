"""What can't be true together in one public record."""

from __future__ import annotations

from collections.abc import Iterator

from discovercall.capability.revisions import PENDING
from discovercall.foundation.artifacts import UNREPORTED
from discovercall.foundation.digests import sha256_of_json
from discovercall.publication.public_record import PublicRecord

EMPTY_SNAPSHOT = sha256_of_json([])
REVISIONS = ("model_revision", "adapter_revision", "toolkit_revision", "api_revision", "catalog_revision")


def contradictions(record: PublicRecord) -> Iterator[tuple[str, str]]:
    """Each contradiction as the field and what is wrong with it."""
    yield from _provenance(record)
    yield from _grounding(record)
    yield from _selection(record)
    yield from _lifecycle(record)
    yield from _call(record)


def _provenance(record: PublicRecord) -> Iterator[tuple[str, str]]:
    metadata = record.metadata
    for name in REVISIONS:
        if getattr(metadata, name) == PENDING:
            yield f"metadata.{name}", "is still pending: the run did not end"
    if metadata.lane == "pinned-model" and metadata.model_revision == UNREPORTED:
        yield "metadata.model_revision", "is unreported, but a pinned model has a revision"


def _grounding(record: PublicRecord) -> Iterator[tuple[str, str]]:
    discovery, limit = record.discovery, record.metadata.discovery_limit
    if discovery.result_count > limit:
        yield "discovery.result_count", f"is above the discovery limit of {limit}"
    if (discovery.result_count == 0) != (discovery.snapshot_sha256 == EMPTY_SNAPSHOT):
        yield "discovery.snapshot_sha256", "does not fit result_count: only no results have the digest of []"
    if discovery.selection_grounded and not record.selection.made:
        yield "discovery.selection_grounded", "is true without a selection"
    if discovery.selection_grounded and discovery.result_count == 0:
        yield "discovery.selection_grounded", "is true without results"
    if record.inspection.selection_grounded and not discovery.selection_grounded:
        yield "inspection.selection_grounded", "is true, but the selection was not among the results"
    if record.status == "completed" and not record.inspection.selection_grounded:
        yield "inspection.selection_grounded", "is false on a completed record"


def _selection(record: PublicRecord) -> Iterator[tuple[str, str]]:
    if "error" not in record.model_fields_set or record.error.stage != "select":
        return
    reason, made = record.error.reason_code, record.selection.made
    if (reason == "missing_tool_id" and made) or (reason == "ungrounded_tool_id" and not made):
        yield "selection", f"{'is there' if made else 'is missing'} although the reason is {reason}"


def _lifecycle(record: PublicRecord) -> Iterator[tuple[str, str]]:
    has_error = "error" in record.model_fields_set
    if record.status == "completed" and has_error:
        yield "error", "is there on a completed record"
    if record.status == "failed" and not has_error:
        yield "error", "is missing on a failed record"
    if record.finished_at < record.started_at:
        yield "finished_at", "is before started_at"


def _call(record: PublicRecord) -> Iterator[tuple[str, str]]:
    call, execute, completed = record.call, record.metadata.execute, record.status == "completed"
    if call.attempted and not execute:
        yield "call.attempted", "is true in a dry run"
    if completed and execute and not call.attempted:
        yield "call.attempted", "is false on a completed record of a run that calls"
    if isinstance(call.success, bool) != (completed and call.attempted):
        yield "call.success", "must be a boolean exactly where a call was sent and the record is completed"
    if "result_nonempty" in call.model_fields_set:
        if call.success is None:
            yield "call.result_nonempty", "is there although success is unknown"
        elif call.result_nonempty and not call.success:
            yield "call.result_nonempty", "is true although the call failed"
