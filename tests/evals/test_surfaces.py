"""What the faces give is read as an agent reads it, and any difference that matters is found."""

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import pytest

from discovercall.evals.cases import ErgonomicsCase
from discovercall.evals.surfaces import (
    CommandOutcome,
    Reading,
    build_face,
    differences,
    in_memory,
    over_stdio,
    read_command,
    without_ages,
    words_of,
)
from discovercall.gateway.advice import for_world
from discovercall.gateway.broker import Broker
from discovercall.gateway.cache import CachingBroker
from discovercall.gateway.downstream import DownstreamResult
from tests.gateway.worlds import TOOLS, world
from tests.support.mcp.recording import Recording

WORLD = world()
PROGRAM = (sys.executable, "-m", "discovercall")


def case(kind, query=None, tool_ref=None, arguments=None, **expected):
    anchors = {"expect_decision": None, "expect_error_type": None, "expect_tool_ref": None} | expected
    return ErgonomicsCase(
        f"{kind} {query or tool_ref}", kind, query, tool_ref, arguments, **anchors, rationale="x"
    )


SEARCH = case("call", tool_ref="mail.search", arguments={"query": "x"})
CASES = [
    case("find", "send an email"),
    case("find", "--help"),
    case("describe", tool_ref="chat.get_message"),
    case("describe", tool_ref="no.such"),
    SEARCH,
    case("call", tool_ref="mail.search", arguments={}),
]


@pytest.fixture(scope="module")
def world_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("surfaces") / "world.json"
    servers = [{"id": server.server_id} for server in WORLD.servers]
    path.write_text(json.dumps({"version": 1, "servers": servers, "tools": TOOLS}))
    return path


def run_command(words):
    """The program's own entry point, in this process."""
    from discovercall.cli.main import main

    before, out = sys.argv, StringIO()
    sys.argv = ["discovercall", *words]
    try:
        with redirect_stdout(out), redirect_stderr(StringIO()), pytest.raises(SystemExit) as end:
            main()
    finally:
        sys.argv = before
    code = end.value.code
    return CommandOutcome(code if isinstance(code, int) else 0, out.getvalue())


def printed(world_file, cases=CASES):
    return [read_command(run_command, words_of(one, world_file, semantic=False)) for one in cases]


def through_mcp(answer=None, cases=(SEARCH,), broker=None):
    downstream = Recording(WORLD.tools)
    if answer is not None:
        downstream.answers["mail.search"] = lambda arguments: answer
    return in_memory(broker or Broker(WORLD, downstream), cases, build_face)


def test_the_real_faces_agree_in_memory(world_file):
    command = printed(world_file)
    memory = in_memory(Broker(WORLD, advice=for_world(world_file)), CASES, build_face)
    assert [differences(here, there) for here, there in zip(command, memory, strict=True)] == [[]] * len(
        CASES
    )
    assert [reading.failed for reading in command] == [False, False, False, True, False, True]
    assert all(reading.document and reading.size > 100 for reading in [*command, *memory])


@pytest.mark.slow
@pytest.mark.part("parity of the evaluated faces over standard streams")
def test_the_real_faces_agree_over_stdio(world_file):
    words = words_of(CASES[0], world_file, semantic=False)
    assert words[:2] == ["gateway", "find"]
    serve = ["gateway", "serve", "--face", "mcp-stdio", "--catalog", str(world_file), "--semantic", "off"]
    served = over_stdio(PROGRAM, serve, [*CASES, *CASES])  # the second half comes from the cache
    for here, there in zip([*printed(world_file)] * 2, served, strict=True):
        assert differences(here, there) == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (DownstreamResult(text=("plain\ntext",)), "plain\ntext"),
        (DownstreamResult(), ""),
        (DownstreamResult(structured={"a": 1}), {"a": 1}),
        (DownstreamResult(structured="text"), "text"),
    ],
)
def test_a_bare_payload_is_read_back(answer, expected):
    (reading,) = through_mcp(answer)
    assert reading.document is not None
    assert set(reading.document) == {"ok", "result", "toolRef", "resultSummary"}
    assert reading.document["result"] == expected
    assert not reading.failed


def test_text_that_looks_like_json_is_the_same_text():
    (reading,) = through_mcp(DownstreamResult(text=("42",)))
    assert reading.document is not None
    assert differences(Reading(reading.document | {"result": "42"}, False, 9), reading) == []
    assert differences(Reading(reading.document | {"result": "43"}, False, 9), reading) == ["result"]


def test_notices_are_read_and_ages_are_not():
    image = DownstreamResult(text=("x",), left_out=("image",))
    broker = CachingBroker(Broker(WORLD, Recording(WORLD.tools)), clock=iter(range(0, 900, 9)).__next__)
    (first,) = through_mcp(image)
    assert first.document is not None
    assert first.document["notices"] == ["Content without text was left out: image."]
    fresh, cached = through_mcp(broker=broker, cases=[SEARCH, SEARCH])
    assert fresh.document == cached.document
    assert cached.size > fresh.size


def _ended(outcome, words):
    return outcome


def test_a_face_without_an_envelope_is_no_document():
    assert without_ages(None) is None
    for outcome in (CommandOutcome(2, "{}"), CommandOutcome(0, "null"), CommandOutcome(0, "Traceback")):
        reading = read_command(partial(_ended, outcome), [])
        assert reading.document is None
        assert differences(Reading({}, False, 2), reading)[-1] == "document"
    assert read_command(lambda words: CommandOutcome(1, "{}"), []).failed


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        ({"decision": "use"}, {"decision": "ambiguous"}, ["decision"]),
        ({"a": 1}, {"a": 1.0}, ["a"]),
        ({"a": 1}, {"a": True}, ["a"]),
        ({"a": None}, {}, ["a"]),
        ({"error": {"type": "X", "retry": {"when": "never"}}}, {"error": {"type": "X"}}, ["error.retry"]),
        ({"selected": {"schemaPreview": {"required": ["b", "a"]}}},
         {"selected": {"schemaPreview": {"required": ["a", "b"]}}}, ["selected.schemaPreview"]),
        ({"a": {"c": 1, "b": 2}}, {"a": {"b": 2, "c": 1}}, []),
    ],
)  # fmt: skip
def test_differences_are_found_in_any_member(left, right, found):
    assert differences(Reading(left, False, 1), Reading(right, False, 1)) == found


def test_an_exit_code_that_does_not_fit_is_found():
    assert differences(Reading({}, True, 1), Reading({}, False, 1)) == ["failed"]


def test_what_changes_from_moment_to_moment_is_left_out():
    document = {
        "cachedAgeSeconds": 3,
        "catalogStats": {"catalogAgeSeconds": 9, "staleTools": 1},
        "reason": "r",
    }
    assert without_ages(document) == {"catalogStats": {"staleTools": 1}, "reason": "r"}
    assert "cachedAgeSeconds" in document


def test_command_lines_name_world_and_mode():
    path = Path("w.json")
    assert words_of(case("find", "-q"), path, semantic=True) == [
        "gateway", "find", "--catalog", "w.json", "--format", "json", "--semantic", "require", "--", "-q"
    ]  # fmt: skip
    assert words_of(SEARCH, path, semantic=True)[-4:] == ["--json", '{"query": "x"}', "--", "mail.search"]
