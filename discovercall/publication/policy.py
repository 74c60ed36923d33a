"""The publication policy: a reviewed file that says what a public artifact may name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from discovercall.contract.plan import SANDBOX_BASE_URL
from discovercall.foundation.base_url import is_loopback, normalize_base_url
from discovercall.foundation.ecmascript import SAFE_PATTERN, is_safe, lower, strictly_equal
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_file import read_json
from discovercall.foundation.models import NotBlank, StrictModel, check, refuse
from discovercall.publication.fields import OpenModel, SchemaOne, ToolId, checked

LEGACY_LANE = "model"
PROTECTED_FIELDS = (
    "execution_id",
    "search_id",
    "session_id",
    "connection_id",
    "remaining_credits",
    "result_tool_ids",
    "returned_tool_ids",
    "api_key",
    "access_token",
    "refresh_token",
    "oauth_token",
    "authorization",
    "client_secret",
    "password",
    "parameters",
    "required_parameters",
)
FILE_LIMIT = 1 << 24
"""Bytes that a policy may have."""

_ID_LIMIT = 128
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]")


def plain_name(name: str) -> str:
    """A field name without case and punctuation, the form in which forbidden names are compared."""
    return (_known_name if len(name) <= _ID_LIMIT else _plain_name)(name)


def _plain_name(name: str) -> str:
    return _NOT_IN_NAMES.sub("", lower(name))


_known_name = lru_cache(maxsize=1024)(_plain_name)


@dataclass(frozen=True, slots=True)
class Policy:
    """A checked policy.

    Args:
        approved_urls: base URLs in normal form; may hold `sandbox://embedded` under version 2.
        forbidden: field names as `plain_name` gives them.
    """

    version: int
    policy_id: str
    approved_urls: frozenset[str]
    approved_tools: frozenset[str]
    forbidden: frozenset[str]
    lane_rewrites: Mapping[str, str]

    @property
    def keyed(self) -> bool:
        """Whether digests are keyed, texts are scanned for secrets, and usage and durations are public."""
        return self.version == 2

    def approves_url(self, url: object, *, rehearsal: bool) -> bool:
        """Whether records of this base URL may be public; a rehearsal may name a loopback URL."""
        if not isinstance(url, str):
            return False
        return url in self.approved_urls or (rehearsal and is_loopback_url(url))


def is_loopback_url(url: object) -> bool:
    """True for the normal form of a base URL on localhost, 127.0.0.1 or [::1]."""
    return isinstance(url, str) and _is_loopback(url)


@lru_cache(maxsize=16)
def _is_loopback(url: str) -> bool:
    try:
        return normalize_base_url(url) == url and is_loopback(url)
    except InputError:
        return False


def is_rehearsal_url(url: object) -> bool:
    """True for the base URLs that make a run a rehearsal: the embedded sandbox and loopback."""
    return url == SANDBOX_BASE_URL or is_loopback_url(url)


def _public_url(value: Any) -> str:
    try:
        url = normalize_base_url(value)
    except InputError as error:
        raise refuse(f"must be an https base URL ({error.what})") from None
    if not url.startswith("https:"):
        raise refuse("must be an https base URL")
    return url


def _public_url_or_sandbox(value: Any) -> str:
    return value if value == SANDBOX_BASE_URL else _public_url(value)


def _protects(names: Any) -> Any:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise refuse("must be a list of field names")
    present = {plain_name(name) for name in names}
    missing = [name for name in PROTECTED_FIELDS if plain_name(name) not in present]
    if missing:
        raise refuse(f"must contain {', '.join(missing)}")
    return names


def _spelled_freely(name: str) -> str:
    """A pattern for a field name whatever its case and punctuation."""
    gap = "[^A-Za-z0-9]*"
    return f"^{gap}{gap.join(f'[{c.upper()}{c}]' for c in name if c.isalnum())}{gap}$"


_HTTPS = {"type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]:[^\\s\\\\?#@]+$"}
PublicUrl = Annotated[str, BeforeValidator(_public_url), WithJsonSchema(_HTTPS)]
PublicUrlOrSandbox = Annotated[
    str,
    BeforeValidator(_public_url_or_sandbox),
    WithJsonSchema({"anyOf": [_HTTPS, {"const": SANDBOX_BASE_URL}]}),
]
PolicyId = Annotated[
    str,
    checked(lambda value: is_safe(value, _ID_LIMIT), f"must be 1 to {_ID_LIMIT} safe characters"),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": _ID_LIMIT, "pattern": SAFE_PATTERN}),
]
ForbiddenFields = Annotated[
    list[NotBlank],
    BeforeValidator(_protects),
    Field(
        json_schema_extra={
            "allOf": [
                {"contains": {"type": "string", "pattern": _spelled_freely(n)}} for n in PROTECTED_FIELDS
            ]
        }
    ),
]
Rewrites = dict[str, Literal["reference", "configured-model", "pinned-model", "current-model", "model"]]
AlwaysFalse = Annotated[
    bool, checked(lambda value: value is False, "must be false"), WithJsonSchema({"const": False})
]
AlwaysTrue = Annotated[
    bool, checked(lambda value: value is True, "must be true"), WithJsonSchema({"const": True})
]
SchemaTwo = Annotated[
    int, checked(lambda value: strictly_equal(value, 2), "must be 2"), WithJsonSchema({"const": 2})
]


class PolicyV1(OpenModel):
    """Version 1: unapproved tools are published as plain SHA-256 digests."""

    schema_version: SchemaOne
    policy_id: PolicyId
    catalog_visibility_default: Literal["private"]
    publish_parameters: AlwaysFalse
    unapproved_selected_tool_handling: Literal["hash"]
    approved_api_base_urls: Annotated[list[PublicUrl], Field(min_length=1)]
    approved_selected_tool_ids: list[ToolId]
    forbidden_fields: ForbiddenFields
    legacy_lane_rewrites: Rewrites = Field(default_factory=dict)


class PolicyV2(StrictModel):
    """Version 2: keyed digests, a scan of every public string, and public usage and durations."""

    schema_version: SchemaTwo
    policy_id: PolicyId
    catalog_visibility_default: Literal["private"]
    publish_parameters: AlwaysFalse
    unapproved_selected_tool_handling: Literal["hmac"]
    value_scan: AlwaysTrue
    approved_api_base_urls: Annotated[list[PublicUrlOrSandbox], Field(min_length=1)]
    approved_selected_tool_ids: list[ToolId]
    forbidden_fields: ForbiddenFields
    legacy_lane_rewrites: Rewrites = Field(default_factory=dict)


def read_policy(value: Any, where: str = "policy") -> Policy:
    """Check a policy that is already parsed.

    Args:
        value: the policy as a plain object.
        where: its name in errors.

    Raises:
        InputError: names the field and what would be right.
    """
    if not isinstance(value, dict):
        raise InputError("must be a JSON object", where=where)
    version = value.get("schema_version")
    if not any(strictly_equal(version, known) for known in (1, 2)):
        raise InputError("must be 1 or 2", where=f"{where}: schema_version")
    model: PolicyV1 | PolicyV2 = (
        check(PolicyV1, value, where) if strictly_equal(version, 1) else check(PolicyV2, value, where)
    )
    return Policy(
        version=model.schema_version,
        policy_id=model.policy_id,
        approved_urls=frozenset(model.approved_api_base_urls),
        approved_tools=frozenset(model.approved_selected_tool_ids),
        forbidden=frozenset(plain_name(name) for name in model.forbidden_fields),
        lane_rewrites=dict(model.legacy_lane_rewrites),
    )


def validate_policy(policy: Any) -> None:
    """Check a publication policy of version 1 or 2.

    Args:
        policy: the policy as a plain object.

    Raises:
        InputError: names the field and what would be right.
    """
    read_policy(policy)


def load_policy(path: Path) -> Policy:
    """Read and check a policy file.

    Raises:
        InputError: unreadable, no JSON, a name twice in one object, or no valid policy.
    """
    value, _ = read_json(path, FILE_LIMIT)
    return read_policy(value, str(path))
