"""OpenAI's Codex CLI, without tools: one fresh home and one question per decision.

codex_cli.py [--effort LEVEL] [--cli-version VERSION] [--cli-path FILE] [--base-url URL]
"""

from __future__ import annotations

import os
import sys
from typing import Any

from discovercall.adapter.authoring import serve

LANE = "configured-model"
ENVIRONMENT = ("CODEX_API_KEY", "CODEX_HOME")
MODEL_CLI = "codex"


def main(arguments: list[str]) -> None:
    """Decide with the command line."""

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        # What starts a command line loads slowly; the request has been taken in by now.
        from discovercall.adapter.clis.codex import CodexTurn
        from discovercall.adapter.clis.decision import decide
        from discovercall.adapter.clis.facts import CODEX

        return decide(CODEX, CodexTurn, request, arguments, os.environ)

    if {"-h", "--help"} & set(arguments):
        from discovercall.adapter.clis.facts import CODEX
        from discovercall.adapter.clis.options import read_options

        read_options(CODEX, ["--help"])
    serve({"select": ask, "parameterize": ask})


if __name__ == "__main__":
    main(sys.argv[1:])
