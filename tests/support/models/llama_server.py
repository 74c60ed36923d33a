"""Serves a model with llama.cpp's own HTTP server (in this process), on a free loopback port.

python llama_server.py MODEL KEY      prints its address when ready; ends at the end of input
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

xllamacpp: Any = importlib.import_module("xllamacpp")  # by name, for type checkers may run without it
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.api_keys = [sys.argv[2]]
params.model_alias = {"tiny-random"}
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_ctx, params.n_parallel = 131072, 4  # each slot has a quarter of it; a token is a character
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # several spin against each other
params.verbosity = 1  # errors only, to standard error
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()  # until the parent closes it, or dies
