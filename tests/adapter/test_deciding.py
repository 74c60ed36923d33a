from __future__ import annotations

import asyncio
import os
import sys

import pytest

from discovercall.adapter.deciding import AdapterProcess
from discovercall.adapter.failures import AdapterFailure
from discovercall.adapter.protocol import parse_answer

DEPTH = 400_000


def adapter(source: str) -> AdapterProcess:
    return AdapterProcess([sys.executable, "-c", source], dict(os.environ), 30_000)


def test_deep_answer_is_parsed_beside_the_event_loop(monkeypatch):
    parsed_in: list[bool] = []

    def watched(stdout: bytes) -> object:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            parsed_in.append(False)
        else:
            parsed_in.append(True)
        return parse_answer(stdout)

    monkeypatch.setattr("discovercall.adapter.deciding.parse_answer", watched)
    source = f"print('{{\"a\":' + '[' * {DEPTH} + ']' * {DEPTH} + '}}')"
    answer = asyncio.run(adapter(source)({}))
    assert isinstance(answer, dict)
    assert list(answer) == ["a"]
    assert parsed_in == [False]


@pytest.mark.parametrize("size", [10, 2**16, 2**16 + 1, 500_000])
def test_answers_of_any_size(size):
    answer = asyncio.run(adapter(f"print('\"' + 'a' * {size - 2} + '\"', end='')")({}))
    assert answer == "a" * (size - 2)
    with pytest.raises(AdapterFailure) as raised:
        asyncio.run(adapter(f"print('x' * {size})")({}))
    assert raised.value.code == "invalid_json"
