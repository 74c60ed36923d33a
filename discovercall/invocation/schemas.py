"""JSON Schemas of the benchmark's configuration and report, generated from the models.

    python -m discovercall.invocation.schemas [--check] [FOLDER]

writes them to `schemas/`, or with `--check` says which are not current (exit 1).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from discovercall.foundation.ecma_json import pretty
from discovercall.foundation.files import write_atomic
from discovercall.foundation.resources import resource_path
from discovercall.invocation.config import ConfigFile
from discovercall.invocation.report_model import Report

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MODELS: dict[str, tuple[str, type[BaseModel]]] = {
    "invocation-config": ("Configuration of the agent invocation benchmark", ConfigFile),
    "invocation-report": ("Report of the agent invocation benchmark", Report),
}


def schemas() -> dict[str, bytes]:
    """Every schema as it is written, by file name."""
    return {
        f"{name}.schema.json": pretty(
            {"$schema": _DIALECT, "title": title, **_tidy(model.model_json_schema())}
        ).encode()
        + b"\n"
        for name, (title, model) in _MODELS.items()
    }


def _tidy(schema: Any) -> Any:
    """Without the titles and defaults that pydantic adds; no field of the models has either name."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _tidy(value) for key, value in schema.items() if key not in ("title", "default")}


def _main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m discovercall.invocation.schemas")
    parser.add_argument("folder", nargs="?", type=Path, default=resource_path("schemas"))
    parser.add_argument("--check", action="store_true", help="write nothing, say what is not current")
    options = parser.parse_args(arguments)
    stale = []
    for name, data in schemas().items():
        path = options.folder / name
        if not path.is_file() or path.read_bytes() != data:
            stale.append(path)
            if not options.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(path, data, mode=0o644)
    for path in stale:
        print(f"{'not current' if options.check else 'written'}: {path}")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
