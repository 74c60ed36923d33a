"""The loader: a sound corpus loads, and every fault is named with its file and field (checklist line 2)."""

import json
import os
import re
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discovercall.evals.corpus import corpus_problems, default_corpus_folder, load_corpus
from discovercall.evals.reading import FILE_LIMIT
from discovercall.foundation.errors import InputError
from tests.evals.corpora import CorpusFolder, line


@pytest.fixture
def corpus(tmp_path):
    return CorpusFolder(tmp_path / "corpus")


def drop(entry, *names):
    for name in names:
        entry.pop(name, None)


def first_tool(c, **members):
    c.world["tools"][0] |= members


def scenario(c, index, **members):
    c.scenarios[index] |= members
    drop(c.scenarios[index], *(name for name, value in members.items() if value is None))


def case(c, index, **members):
    c.cases[index] |= members
    drop(c.cases[index], *(name for name, value in members.items() if value is None))


# What is broken; what the message must contain, in any order.
FAULTS = {
    "no tools": (lambda c: c.world.update(tools=[]), ["world.json", "tools"]),
    "two tools of one name": (
        lambda c: c.world["tools"].append(c.world["tools"][0]),
        ["world.json", "toolRef", "twice"],
    ),
    "empty toolRef": (lambda c: first_tool(c, toolRef=""), ["world.json", "tools[0]", "toolRef"]),
    "empty serverId": (lambda c: first_tool(c, serverId=" "), ["world.json", "serverId"]),
    "empty tool name": (lambda c: first_tool(c, name=""), ["world.json", "name"]),
    "toolRef that is not serverId.name": (
        lambda c: first_tool(c, name="other"),
        ["world.json", "toolRef", "expected chat.other"],
    ),
    "unknown server": (lambda c: c.world["servers"].pop(0), ["world.json", "serverId", "chat"]),
    "unknown member of a tool": (lambda c: first_tool(c, colour=1), ["world.json", "colour"]),
    "version of the world": (lambda c: c.world.update(version=2), ["world.json", "version"]),
    "no discovery case": (lambda c: c.discovery.clear(), ["discovery"]),
    "empty intent": (lambda c: c.discovery["lexical"][1].update(intent=" "), ["lexical.jsonl:2", "intent"]),
    "unknown category": (
        lambda c: c.discovery["lexical"][0].update(category="vague"),
        ["lexical.jsonl:1", "category", "vague"],
    ),
    "empty category": (
        lambda c: c.discovery["lexical"][0].update(category=""),
        ["lexical.jsonl:1", "category"],
    ),
    "blank rationale": (
        lambda c: c.discovery["semantic"][0].update(rationale="  "),
        ["semantic.jsonl:1", "rationale"],
    ),
    "no_match with a tool": (
        lambda c: c.discovery["no_match"][0].update(acceptable=["mail.send"]),
        ["no-match.jsonl:1", "acceptable", "no_match"],
    ),
    "lexical without a tool": (
        lambda c: c.discovery["lexical"][0].update(acceptable=[]),
        ["lexical.jsonl:1", "acceptable", "lexical"],
    ),
    "unknown acceptable tool": (
        lambda c: c.discovery["lexical"][0].update(acceptable=["wiki.gone"]),
        ["lexical.jsonl:1", "acceptable", "wiki.gone", "not present in the catalog"],
    ),
    "a tool twice": (
        lambda c: c.discovery["lexical"][0].update(acceptable=["wiki.search_pages"] * 2),
        ["lexical.jsonl:1", "acceptable", "twice"],
    ),
    "one way to be ambiguous": (
        lambda c: c.discovery["ambiguous"][0].update(acceptable=["mail.search"]),
        ["ambiguous.jsonl:1", "acceptable", "two"],
    ),
    "unknown member of a line": (
        lambda c: c.discovery["lexical"][0].update(weight=1),
        ["lexical.jsonl:1", "weight"],
    ),
    "an intent twice": (
        lambda c: c.discovery["no_match"].append(line("Order a PIZZA, margherita!", "no_match", [])),
        ["no-match.jsonl:3", "intent", "no-match.jsonl:1"],
    ),
    "an intent twice, once set aside": (
        lambda c: c.holdout["no_match"].append(line("book a flight to rome", "no_match", [])),
        ["no-match.jsonl", "intent"],
    ),
    "scenario without a name": (lambda c: scenario(c, 0, name=" "), ["invocation/all.json", "[0]", "name"]),
    "scenario of an unknown tool": (
        lambda c: scenario(c, 0, toolRef="wiki.gone"),
        ["all.json", "[0]", "plain call", "toolRef", "wiki.gone"],
    ),
    "unknown outcome": (
        lambda c: scenario(c, 0, expectedOutcome="maybe"),
        ["[0]", "plain call", "expectedOutcome", "maybe"],
    ),
    "success with an error": (
        lambda c: scenario(c, 0, expectedError="CONFIG_ERROR"),
        ["plain call", "expectedError"],
    ),
    "repair without an error": (
        lambda c: scenario(c, 1, expectedError=None),
        ["missing text", "expectedError"],
    ),
    "repair without its correction": (
        lambda c: scenario(c, 1, corrected=None),
        ["missing text", "corrected"],
    ),
    "repair of an unknown error": (
        lambda c: scenario(c, 1, expectedError="OOPS"),
        ["missing text", "expectedError", "OOPS"],
    ),
    "correction that does not fit": (
        lambda c: scenario(c, 1, corrected={"to": 5, "subject": "x"}),
        ["missing text", "corrected", "mail.send"],
    ),
    "error without a type": (
        lambda c: scenario(c, 2, expectedError=None, liveSchema=None),
        ["renamed", "expectedError"],
    ),
    "error of the reserved type": (
        lambda c: scenario(c, 2, expectedError="SEMANTIC_SEARCH_UNAVAILABLE", liveSchema=None),
        ["renamed", "expectedError", "SEMANTIC_SEARCH_UNAVAILABLE"],
    ),
    "drift without the live schema": (lambda c: scenario(c, 2, liveSchema=None), ["renamed", "liveSchema"]),
    "timeout of another error": (
        lambda c: scenario(c, 0, expectedOutcome="timeout", expectedError="CONFIG_ERROR"),
        ["plain call", "expectedError"],
    ),
    "two scenarios of one name": (lambda c: scenario(c, 1, name="plain call"), ["[1]", "name", "[0]"]),
    "unknown member of a scenario": (lambda c: scenario(c, 0, note="x"), ["plain call", "note"]),
    "case without a name": (lambda c: case(c, 0, name=""), ["ergonomics/all.json", "[0]", "name"]),
    "unknown kind": (lambda c: case(c, 0, kind="list"), ["[0]", "wiki", "kind", "list"]),
    "find without a query": (lambda c: case(c, 0, query=None), ["wiki", "query"]),
    "describe without a tool": (lambda c: case(c, 1, toolRef=None), ["page", "toolRef"]),
    "call without a tool": (lambda c: case(c, 2, toolRef=None), ["nobody", "toolRef"]),
    "unknown error of a case": (
        lambda c: case(c, 2, expectErrorType="OOPS"),
        ["nobody", "expectErrorType", "OOPS"],
    ),
    "unknown decision": (
        lambda c: case(c, 0, expectDecision="perhaps"),
        ["wiki", "expectDecision", "perhaps"],
    ),
    "expected tool that is not there": (
        lambda c: case(c, 0, expectToolRef="wiki.gone"),
        ["wiki", "expectToolRef", "wiki.gone"],
    ),
    "two cases of one name": (lambda c: case(c, 1, name="wiki"), ["[1]", "name", "[0]"]),
    "unknown member of the thresholds": (
        lambda c: setattr(c, "thresholds", {"version": 1, "discovery": {"overall": {"top9Min": 1}}}),
        ["thresholds.json", "top9Min"],
    ),
    "threshold of an unknown scope": (
        lambda c: setattr(c, "thresholds", {"version": 1, "discovery": {"vague": {}}}),
        ["thresholds.json", "vague"],
    ),
    "threshold above one": (
        lambda c: setattr(c, "thresholds", {"version": 1, "tokens": {"startupReductionMin": 1.5}}),
        ["thresholds.json", "startupReductionMin"],
    ),
    "version of the thresholds": (
        lambda c: setattr(c, "thresholds", {"version": 3}),
        ["thresholds.json", "version"],
    ),
    "capability without requests": (
        lambda c: c.bank[0].pop("requests"),
        ["capability-bank.jsonl:1", "requests"],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_refused_with_its_file_and_field(corpus, name):
    breaks, expected = FAULTS[name]
    breaks(corpus)
    folder = corpus.write()
    with pytest.raises(InputError) as refused:
        load_corpus(folder)
    message = str(refused.value)
    assert [part for part in expected if part not in message] == [], message
    assert message in corpus_problems(folder)


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("discovery/lexical.jsonl", '{"intent": "x"\n', "lexical.jsonl:1: not valid JSON"),
        ("discovery/lexical.jsonl", "\n\n[1]\n", "lexical.jsonl:3"),
        ("invocation/all.json", '{"version": 1,\n oops}', "invocation/all.json:2: not valid JSON"),
        ("invocation/all.json", '{"version": 1, "extra": 2, "scenarios": []}', "extra"),
        ("invocation/all.json", '{"version": 2, "scenarios": []}', "version"),
        ("invocation/all.json", '{"version": 1}', "scenarios"),
        ("ergonomics/all.json", "[]", "must be a JSON object"),
        ("catalog/world.json", "{", "world.json:1: not valid JSON"),
        ("thresholds.json", "{\n{", "thresholds.json:2: not valid JSON"),
        ("discovery/lexical.jsonl", b"\xff", "not valid UTF-8"),
    ],
)
def test_a_broken_file_is_named_with_its_line(corpus, file, text, expected):
    folder = corpus.write()
    (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=re.escape(expected)):
        load_corpus(folder)


@pytest.mark.parametrize(
    ("file", "member"),
    [
        ("discovery/lexical.jsonl", "intent"),
        ("capability-bank.jsonl", "id"),
        ("invocation/all.json", "name"),
        ("ergonomics/all.json", "kind"),
        ("catalog/world.json", "version"),
        ("thresholds.json", "version"),
    ],
)
def test_a_name_twice_in_an_object_is_refused(corpus, file, member):
    corpus.thresholds = {"version": 1}
    folder = corpus.write()
    text = (folder / file).read_text()
    (folder / file).write_text(text.replace(f'"{member}": ', f'"{member}": "earlier", "{member}": ', 1))
    place = f"{file}:1" if file.endswith("l") else file
    told = f"{place}: not valid JSON (names '{member}' twice in one object)"
    assert any(told in problem for problem in corpus_problems(folder))
    with pytest.raises(InputError, match="twice"):
        load_corpus(folder)


@pytest.mark.parametrize("family", ["invocation", "ergonomics"])
def test_calls_and_texts_are_not_set_aside(corpus, family):
    folder = corpus.write()
    os.rename(folder / family / "all.json", folder / family / "holdout-all.json")
    (problem,) = corpus_problems(folder)
    assert f"{family}/holdout-all.json: only intents are set aside" in problem


@pytest.mark.parametrize("name", ["thresholds.json", "capability-bank.jsonl", "invocation", "ergonomics"])
@pytest.mark.parametrize("what", ["a link to nowhere", "a link to itself", "something of another kind"])
def test_what_is_there_and_can_not_be_read_is_not_taken_for_absent(corpus, name, what):
    corpus.thresholds = {"version": 1}
    path = corpus.write() / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    if what == "something of another kind":
        path.mkdir() if "." in name else path.write_text("")
    else:
        path.symlink_to("nowhere" if what == "a link to nowhere" else name)
    (problem,) = corpus_problems(corpus.folder)
    assert f"/{name}: cannot be " in problem


@pytest.mark.parametrize(
    "file",
    [
        "catalog/world.json",
        "discovery/lexical.jsonl",
        "invocation/all.json",
        "ergonomics/all.json",
        "thresholds.json",
        "capability-bank.jsonl",
    ],
)
@pytest.mark.parametrize("what", ["device", "pipe", "too large"])
def test_what_has_no_end_is_refused(corpus, file, what):
    corpus.thresholds = {"version": 1}
    path = corpus.write() / file
    path.unlink()
    if what == "device":
        path.symlink_to("/dev/zero")
    elif what == "pipe":
        os.mkfifo(path)
    else:
        with path.open("wb") as stream:
            stream.truncate(FILE_LIMIT + 1)
    expected = "larger than" if what == "too large" else "no regular file"
    assert any(f"{file}: cannot be read ({expected}" in told for told in corpus_problems(corpus.folder))


def test_a_folder_without_anything_names_what_is_missing(tmp_path):
    problems = corpus_problems(tmp_path)
    assert any("world.json: cannot be read" in problem for problem in problems)
    assert any(str(tmp_path / "discovery") in problem for problem in problems)


def test_all_problems_are_told_at_once(corpus):
    first_tool(corpus, name="other")
    corpus.world["tools"][3]["title"] = 5
    corpus.discovery["lexical"][0].update(category="vague")
    corpus.discovery["lexical"][2].update(intent="")
    scenario(corpus, 1, corrected=None)
    case(corpus, 0, query=None)
    problems = corpus_problems(corpus.write())
    assert len(problems) == 6
    for expected in ("tools[0]", "tools[3]", "lexical.jsonl:1", "lexical.jsonl:3", "missing text", "(wiki)"):
        assert sum(expected in problem for problem in problems) == 1, problems


def test_all_problems_of_one_entry_are_told_at_once(corpus):
    first_tool(corpus, title=5, colour=1)
    corpus.discovery["lexical"][0] |= {"category": "lex", "rationale": " "}
    corpus.discovery["lexical"][1] |= {"weight": 1, "acceptable": ["wiki.gone", "mail.gone"]}
    corpus.discovery["no_match"].append({"intent": "Order a pizza, margherita!", "category": "no_match"})
    scenario(corpus, 0, name=" ", toolRef="wiki.gone", expectedOutcome="maybe")
    scenario(corpus, 1, expectedError="NOISE", corrected={"to": 1, "subject": 2})
    scenario(corpus, 2, liveSchema=None, expectedOutcome=7)
    case(corpus, 0, expectDecision="perhaps", expectToolRef="wiki.gone", rationale="", toolRef="a.b")
    corpus.thresholds = {"version": 1, "tokens": {"startupReductionMin": 2, "noise": 1}}
    problems = corpus_problems(corpus.write())
    told = [
        ("(tools[0])", ["title", "colour"]),
        ("lexical.jsonl:1", ["rationale", "category"]),
        ("lexical.jsonl:2", ["weight", "acceptable: wiki.gone", "acceptable: mail.gone"]),
        ("no-match.jsonl:3", ["acceptable", "rationale", "intent: the same"]),
        ("scenarios[0]", ["name", "toolRef", "expectedOutcome"]),
        ("scenarios[1] (missing text)", ["expectedError"]),
        ("scenarios[2] (renamed)", ["expectedOutcome", "liveSchema"]),
        ("cases[0] (wiki)", ["rationale", "toolRef", "expectDecision", "expectToolRef"]),
        ("thresholds.json", ["startupReductionMin", "noise"]),
    ]
    for place, fields in told:
        found = [problem for problem in problems if place in problem]
        assert len(found) == len(fields), found
        for field, problem in zip(fields, found, strict=True):
            assert field in problem
    assert len(problems) == sum(len(fields) for _, fields in told)


def test_every_misfit_of_a_correction_is_told(corpus):
    scenario(corpus, 1, corrected={"to": 1, "subject": 2})
    problems = corpus_problems(corpus.write())
    assert len(problems) == 2
    assert all("corrected: does not fit the schema of mail.send" in problem for problem in problems)


def test_a_case_is_not_blamed_for_its_tool(corpus):
    corpus.world["tools"][5]["inputSchema"] = {"type": "array"}  # wiki.search_pages, of which several speak
    problems = corpus_problems(corpus.write())
    assert len(problems) == 1
    assert "wiki.search_pages (tools[5])" in problems[0]


def test_no_case_is_blamed_for_a_catalog_that_can_not_be_read(corpus):
    folder = corpus.write()
    (folder / "catalog" / "world.json").write_text("{")
    assert len(corpus_problems(folder)) == 1


def test_a_sound_corpus_loads_with_the_set_aside_cases_apart(corpus):
    corpus.thresholds = {
        "version": 1,
        "discovery": {"lexical": {"top1Min": 0.5, "requiresSemanticLeg": True}},
    }
    loaded = load_corpus(corpus.write())
    assert [case.intent for case in loaded.holdout] == [
        "post a message to the channel",
        "margherita for four",
    ]
    assert not {case.intent for case in loaded.holdout} & {case.intent for case in loaded.discovery}
    assert loaded.discovery[0].where == "discovery/ambiguous.jsonl:1"
    assert len(loaded.invocation) == len(loaded.ergonomics) == 3
    assert loaded.invocation[2].live_schema
    assert loaded.bank.archetypes[4].id == "pizza"
    assert loaded.thresholds
    (bound,) = loaded.thresholds.bounds
    assert (bound.name, bound.threshold, bound.requires_semantic) == ("discovery.lexical.top1", 0.5, True)


def test_calls_and_texts_may_be_missing(corpus):
    folder = corpus.write()
    for family in ("invocation", "ergonomics"):
        (folder / family / "all.json").unlink()
        (folder / family).rmdir()
    loaded = load_corpus(folder)
    assert not loaded.invocation
    assert not loaded.ergonomics


def test_the_digest_follows_what_is_measured_and_nothing_else(corpus):
    first = load_corpus(corpus.write())
    corpus.thresholds = {"version": 1}
    corpus.holdout["lexical"][0]["intent"] += " now"
    second = load_corpus(corpus.write())
    assert second.sha256 == first.sha256
    assert second.holdout_sha256 != first.holdout_sha256
    corpus.discovery["lexical"][0]["rationale"] += "!"
    assert load_corpus(corpus.write()).sha256 != first.sha256


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_value_in_any_place_gets_past_the_loader_as_a_crash(tmp_path, data):
    corpus = CorpusFolder(tmp_path / "corpus")
    places = [corpus.world["tools"][0], corpus.world["servers"][0], corpus.world]
    places += [corpus.discovery["lexical"][0], corpus.scenarios[1], corpus.cases[0]]
    place = data.draw(st.sampled_from(places))
    member = data.draw(st.sampled_from(sorted(place)))
    before, value = place[member], data.draw(VALUES)
    place[member] = value
    folder = corpus.write()
    problems = corpus_problems(folder)
    if problems:
        with pytest.raises(InputError, match=re.escape(problems[0])):
            load_corpus(folder)
    else:
        load_corpus(folder)
    assert all("corpus" in problem for problem in problems)
    if isinstance(before, list) and not isinstance(value, list) and member != "acceptable":
        assert problems


def test_the_committed_corpus_is_sound():
    assert corpus_problems(default_corpus_folder()) == []
    loaded = load_corpus(default_corpus_folder())
    text = (default_corpus_folder() / "catalog" / "world.json").read_text(encoding="utf-8")
    assert len(loaded.world.tools) == len(json.loads(text)["tools"])
