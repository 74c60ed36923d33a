"""Any OpenAI-compatible server: OpenAI, vLLM, Ollama, llama.cpp, OpenRouter; answers are held to the schema.

openai_compatible.py [--base-url URL] [--api-key-env NAME] [--response-format FORMAT] ... (--help)
"""

from __future__ import annotations

import os
import sys
from typing import Any

from discovercall.adapter.authoring import serve

LANE = "configured-model"
ENVIRONMENT = ("OPENAI_API_KEY",)


def main(arguments: list[str]) -> None:
    """Decide with the server that the arguments name."""

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        # The HTTP client loads slowly; the request has been taken in by now.
        from discovercall.adapter.chat.decision import decide
        from discovercall.adapter.chat.settings import read_settings

        return decide(request, read_settings(arguments, os.environ))

    if {"-h", "--help"} & set(arguments):
        from discovercall.adapter.chat.settings import read_settings

        read_settings(["--help"], {})
    serve({"select": ask, "parameterize": ask})


if __name__ == "__main__":
    main(sys.argv[1:])
