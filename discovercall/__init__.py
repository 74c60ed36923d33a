"""Measures whether an AI agent uses a tool catalog correctly: discover, select, inspect, parameterize, call.

The public API: functions on plain JSON values (dicts, lists, strings, numbers), loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discovercall.adapter.schema import parameter_response_schema as parameter_response_schema
    from discovercall.contract.scoring import score_record as score_record
    from discovercall.contract.summary import score_records as score_records
    from discovercall.contract.tasks import parse_task_set as parse_task_set
    from discovercall.contract.tasks import validate_task_set as validate_task_set
    from discovercall.foundation.base_url import normalize_base_url as normalize_base_url
    from discovercall.publication.policy import validate_policy as validate_policy
    from discovercall.publication.sanitizing import sanitize_records as sanitize_records
    from discovercall.publication.validation import validate_official_run as validate_official_run
    from discovercall.publication.validation import validate_public_records as validate_public_records

__version__ = "0.1.0"

_EXPORTS = {
    "parse_task_set": "discovercall.contract.tasks",
    "validate_task_set": "discovercall.contract.tasks",
    "parameter_response_schema": "discovercall.adapter.schema",
    "normalize_base_url": "discovercall.foundation.base_url",
    "score_record": "discovercall.contract.scoring",
    "score_records": "discovercall.contract.summary",
    "sanitize_records": "discovercall.publication.sanitizing",
    "validate_policy": "discovercall.publication.policy",
    "validate_public_records": "discovercall.publication.validation",
    "validate_official_run": "discovercall.publication.validation",
}
__all__ = ["__version__", *sorted(_EXPORTS)]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
