"""What a measurement was made with: code, corpus, bank, model, machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discovercall import __version__
from discovercall.evals.cases import Corpus
from discovercall.evals.semantic import SemanticLeg
from discovercall.foundation.revision import ToolkitRevision
from discovercall.gateway.bank import Bank

_LIBRARIES = ("numpy", "scipy", "mcp", "onnxruntime")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the edge knows: the commit of the code, and the machine in words without its name."""

    revision: ToolkitRevision
    host: Mapping[str, Any]


def this_host() -> dict[str, Any]:
    """System, processor, Python and number of processors; nothing that names the machine."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "cpus": os.cpu_count() or 0,
    }


def provenance(
    corpus: Corpus, leg: SemanticLeg, around: Surroundings, families: Sequence[str], flags: Sequence[str]
) -> dict[str, Any]:
    """The result's member, without what is only known in the end.

    Args:
        corpus: what was measured.
        leg: the model, or why there was none.
        around: code and machine.
        families: those that ran.
        flags: options that change what is measured, as given.
    """
    return {
        "toolkitVersion": __version__,
        "gitCommit": around.revision.commit,
        "dirty": around.revision.dirty,
        "corpusVersion": corpus.version,
        "corpusSha256": corpus.sha256,
        "bank": _bank(corpus.bank),
        "model": _model(leg),
        "semanticRan": leg.ran,
        "semanticSkipReason": leg.skip_reason,
        "tokenEstimator": None,
        "libraries": _libraries(),
        "host": dict(around.host),
        "families": list(families),
        "flags": list(flags),
    }


def _bank(bank: Bank) -> dict[str, Any]:
    return {"version": bank.version, "sha256": bank.digest, "capabilities": len(bank.archetypes)}


def _model(leg: SemanticLeg) -> dict[str, Any] | None:
    if leg.facts is None:
        return None
    return {
        "id": leg.facts.model_id,
        "weightsSha256": leg.facts.weights_sha256,
        "package": leg.facts.package,
    }


def _libraries() -> dict[str, str | None]:
    versions: dict[str, str | None] = {}
    for name in _LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return versions
