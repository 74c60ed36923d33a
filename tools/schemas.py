"""JSON Schemas of every file format and every JSON output, generated from the models.

    python tools/schemas.py [--check] [FOLDER]

writes them to `schemas/`, or with `--check` says which are not current (exit 1). Rules that compare two
fields are in the schemas where JSON Schema can say them; `discovercall validate` knows them all.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from discovercall.cli.outputs import OUTPUTS
from discovercall.contract.task_model import TaskLine
from discovercall.evals.result_model import DiffResult, EvaluationResult, ProblemsResult
from discovercall.evals.thresholds import ThresholdsFile
from discovercall.foundation.files import write_atomic
from discovercall.foundation.json_text import pretty
from discovercall.invocation.config import ConfigFile
from discovercall.invocation.report_model import Report
from discovercall.publication.policy import PolicyV1, PolicyV2
from discovercall.publication.private_record import PrivateRecord, PrivateRecordV1
from discovercall.publication.public_record import PublicRecord
from discovercall.publication.summary_model import Summary
from discovercall.report.results import ResultsReport

FOLDER = Path(__file__).parents[1] / "schemas"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
# By the schema's name: its title, and a pydantic model, a union of such or a TypedDict.
_MODELS: dict[str, tuple[str, Any]] = {
    "task": ("One line of a task set", TaskLine),
    "private-record": ("One line of private records, method v2 or v1", PrivateRecord | PrivateRecordV1),
    "public-record": ("One line of public records", PublicRecord),
    "summary": ("A summary", Summary),
    "publication-policy": ("A publication policy, version 1 or 2", PolicyV1 | PolicyV2),
    "invocation-config": ("Configuration of the agent invocation benchmark", ConfigFile),
    "eval-result": ("A result of `discovercall eval run`", EvaluationResult),
    "eval-diff": ("What `discovercall eval diff --format json` prints", DiffResult),
    "eval-problems": ("What `discovercall eval validate --format json` prints", ProblemsResult),
    "eval-thresholds": ("Thresholds of the gateway's evaluation", ThresholdsFile),
    "report": ("What `discovercall report --format json` prints", ResultsReport),
    "invocation-report": ("Report of the agent invocation benchmark", Report),
    **OUTPUTS,
}


def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its file name."""
    return {f"{name}.schema.json": _schema(title, model) for name, (title, model) in _MODELS.items()}


def _schema(title: str, model: Any) -> dict[str, Any]:
    return {"$schema": _DIALECT, "title": title, **_tidy(TypeAdapter(model).json_schema())}


def _tidy(schema: Any) -> Any:
    """Without the titles and defaults that pydantic adds: a default here only marks a field as optional."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    names_fields = ("properties", "$defs")
    return {
        key: {name: _tidy(child) for name, child in value.items()} if key in names_fields else _tidy(value)
        for key, value in schema.items()
        if key not in ("title", "default")
    }


def main(arguments: list[str]) -> int:
    """Write or check the schemas; exit status 1 when checking finds one that is not current."""
    parser = argparse.ArgumentParser(prog="python tools/schemas.py")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--check", action="store_true", help="write nothing, say what is not current")
    options = parser.parse_args(arguments)
    stale = []
    for name, schema in schemas().items():
        path, data = options.folder / name, pretty(schema).encode() + b"\n"
        if not path.is_file() or path.read_bytes() != data:
            stale.append(path)
            if not options.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(path, data, mode=0o644)
    for path in stale:
        print(f"{'not current' if options.check else 'written'}: {path}")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
