"""What `--format json` prints, by command: the shapes that `schemas/` promises.

Members may be added; none is taken away or changes its meaning while `schema_version` stays. Documents of the
gateway have the member names of its tool interface.
"""

from __future__ import annotations

from typing import (
    Any,
    Literal,
    NotRequired,  # pydantic needs these before Python 3.12
)

from typing_extensions import TypedDict

Json = dict[str, Any]


class AdapterRow(TypedDict):
    """One bundled adapter."""

    name: str
    lane: str
    description: str
    environment: list[str]
    old_name_of: str | None


class Adapters(TypedDict):
    """`adapters`."""

    schema_version: Literal[1]
    allowed: list[str]
    adapters: list[AdapterRow]


class AdapterRevision(TypedDict):
    """`adapters --revision`."""

    schema_version: Literal[1]
    name: str
    revision: str


class CheckRow(TypedDict):
    """One thing that is needed."""

    what: str
    state: Literal["ok", "warning", "missing"]
    found: str
    fix: str | None


class ReadinessRow(TypedDict):
    """One adapter."""

    name: str
    ready: bool
    checks: list[CheckRow]


class Doctor(TypedDict):
    """`doctor`."""

    schema_version: Literal[1]
    ready: bool
    common: list[CheckRow]
    adapters: list[ReadinessRow]


class TrialName(TypedDict):
    """A trial of a run; lanes count from 0."""

    lane: int
    task_id: str
    trial: int


class Limits(TypedDict):
    """Spend limits."""

    max_billed_calls: int
    max_credits: float | None


class Ledger(TypedDict):
    """`ledger`."""

    schema_version: Literal[1]
    journal: str
    planned: int
    done: int
    billed: int
    unknown: int
    credits: float
    limits: Limits
    unknown_trials: list[TrialName]


class Plan(TypedDict):
    """`run --plan-only`; `plan` is what the digest is made of."""

    schema_version: Literal[1]
    plan_digest: str
    planned_records: int
    limits: Limits
    plan: Json


class PublishedPair(TypedDict):
    """One pair that was written."""

    runs: str
    summary: str
    records: int
    rehearsal: bool


class Published(TypedDict):
    """`publish`."""

    schema_version: Literal[1]
    ok: Literal[True]
    policy_id: str
    published: list[PublishedPair]


class Validated(TypedDict):
    """`validate`: `checked` has an entry for each file that is right, `refused` a line for each fault."""

    schema_version: Literal[1]
    ok: bool
    repaired: list[str]
    checked: list[Json]
    refused: list[str]


class Gap(TypedDict):
    """A minus B, in rates from -1 to 1; the lists name tasks."""

    points: float
    interval_95: list[float]
    p_value: float
    differing_tasks: int
    differing_tasks_needed: int
    better: list[str]
    equal: list[str]
    worse: list[str]
    smallest_detectable: float | None
    tasks_needed_for_5_points: int | None


class Comparison(TypedDict):
    """`compare`."""

    schema_version: Literal[1]
    a: str
    b: str
    models: list[Json]
    gap: Gap
    comparability: Json


class CadencePlan(TypedDict):
    """`cadence plan`: the plan that is approved, and beside it what approving needs to know."""

    schema_version: Literal[1]
    plan_digest: str
    plan: Json
    approval: Json


class CadenceGuard(TypedDict):
    """`cadence guard`."""

    schema_version: Literal[1]
    branch: str
    verdict: Literal["go", "skip"]
    reason: str
    pull_request: str | None


class CadenceRun(TypedDict):
    """`cadence run`."""

    schema_version: Literal[1]
    bundle: str
    bundle_sha256: str
    plan_digest: str
    billed_calls: int
    attempt: int
    files: list[str]


class CadencePull(TypedDict):
    """`cadence propose` and `cadence recover`; `made` is false where the pull request was already there."""

    schema_version: Literal[1]
    pull_request: str
    number: int
    draft: bool
    made: bool
    branch: str


class CadenceDispatch(TypedDict):
    """`cadence dispatch`."""

    schema_version: Literal[1]
    dispatched: bool
    reason: str
    run: str | None


class CatalogStats(TypedDict):
    """Counts of a catalog; the age in whole seconds since the last index run."""

    configuredServers: int
    indexedTools: int
    freshTools: int
    staleTools: int
    catalogAgeSeconds: NotRequired[int]


class NextAction(TypedDict):
    """The operation to carry out next."""

    tool: Literal["findTool", "describeTool", "callTool"]
    toolRef: NotRequired[str]
    arguments: Json
    reason: str


class GatewayFind(TypedDict):
    """`gateway find`; members that would be empty are absent."""

    query: str
    decision: Literal["use", "ambiguous", "no_good_match", "catalog_empty"]
    selectedToolRef: NotRequired[str]
    confidence: NotRequired[Literal["high", "medium", "low"]]
    reason: NotRequired[str]
    selected: NotRequired[Json]
    candidates: NotRequired[list[Json]]
    alternatives: NotRequired[list[Json]]
    likelyFollowupTools: NotRequired[list[Json]]
    avoid: NotRequired[list[str]]
    nextAction: NotRequired[NextAction]
    scores: NotRequired[Json]
    notices: NotRequired[list[str]]
    catalogStats: CatalogStats
    agentInstruction: str
    cachedAgeSeconds: NotRequired[int]


class ToolStatus(TypedDict):
    """The state of a tool."""

    callableNow: bool
    serverStatus: Literal["online", "offline", "unknown"]
    catalogFreshness: Literal["fresh", "stale"]


class GatewayDescribe(TypedDict):
    """`gateway describe`."""

    toolRef: str
    title: str
    description: str
    inputSchema: Json
    recommendedCall: Json
    status: ToolStatus
    usageHints: NotRequired[list[str]]
    examples: NotRequired[list[Json]]
    relatedTools: NotRequired[list[Json]]
    notices: NotRequired[list[str]]
    cachedAgeSeconds: NotRequired[int]


class GatewayCall(TypedDict):
    """`gateway call`."""

    ok: Literal[True]
    toolRef: str
    result: Any
    resultSummary: str
    notices: NotRequired[list[str]]
    cachedAgeSeconds: NotRequired[int]


class Retry(TypedDict):
    """Whether and when an operation may be tried again."""

    when: Literal["never", "after"]
    precondition: NotRequired[Literal["server_online", "index_refreshed", "backoff"]]
    afterSeconds: NotRequired[float]


class GatewayError(TypedDict):
    """Why an operation failed."""

    type: str
    retryable: bool
    message: str
    agentInstruction: str
    retry: Retry
    toolRef: NotRequired[str]
    serverId: NotRequired[str]
    problems: NotRequired[list[Json]]


class GatewayFailure(TypedDict):
    """What every operation of the gateway prints when it fails (exit 1)."""

    ok: Literal[False]
    error: GatewayError


class ListedTool(TypedDict):
    """One tool."""

    toolRef: str
    title: str
    readOnly: bool
    serverStatus: Literal["online", "offline", "unknown"]
    freshness: Literal["fresh", "stale"]


class GatewayList(TypedDict):
    """`gateway list`."""

    catalogDigest: NotRequired[str]
    catalogStats: CatalogStats
    tools: list[ListedTool]


class IndexedServer(TypedDict):
    """One server that was asked."""

    serverId: str
    status: Literal["online", "offline"]
    tools: int
    leftOut: NotRequired[int]
    error: NotRequired[str]


class GatewayIndex(TypedDict):
    """`gateway index`."""

    ok: bool
    index: str
    search: str
    servers: list[IndexedServer]
    notStrict: list[Json]
    forcedNull: list[Json]


OUTPUTS: dict[str, tuple[str, Any]] = {
    "adapters": ("Output of adapters", Adapters),
    "adapter-revision": ("Output of adapters --revision", AdapterRevision),
    "doctor": ("Output of doctor", Doctor),
    "ledger": ("Output of ledger", Ledger),
    "plan": ("Output of run --plan-only", Plan),
    "publish": ("Output of publish", Published),
    "validate": ("Output of validate", Validated),
    "compare": ("Output of compare", Comparison),
    "cadence-plan": ("Output of cadence plan", CadencePlan),
    "cadence-guard": ("Output of cadence guard", CadenceGuard),
    "cadence-run": ("Output of cadence run", CadenceRun),
    "cadence-pull": ("Output of cadence propose and cadence recover", CadencePull),
    "cadence-dispatch": ("Output of cadence dispatch", CadenceDispatch),
    "gateway-find": ("Output of gateway find", GatewayFind),
    "gateway-describe": ("Output of gateway describe", GatewayDescribe),
    "gateway-call": ("Output of gateway call", GatewayCall),
    "gateway-failure": ("Output of a gateway operation that failed", GatewayFailure),
    "gateway-list": ("Output of gateway list", GatewayList),
    "gateway-index": ("Output of gateway index", GatewayIndex),
}
"""By the schema's name: its title and the shape. Other documents have models of their own."""
