"""What the broker says about a request: decisions, documents, instructions and next actions."""

import json
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.evals.dispositions import is_clear
from discovercall.gateway.baseline import BaselineRanker
from discovercall.gateway.broker import Broker
from discovercall.gateway.catalog import Server, default_world_path, load_world
from discovercall.gateway.operations import OPERATIONS, carry_out, server_ids
from discovercall.gateway.ranking import Ranked, Ranking
from discovercall.gateway.rendering import human
from discovercall.gateway.results import DECISIONS
from discovercall.gateway.settings import BrokerSettings
from discovercall.gateway.store import Catalog, CatalogUnreadableError
from tests.gateway.worlds import BIG, TOOLS, entry, text, world

WORLD = world(down="offline")
COMMITTED = load_world(default_world_path())


class Fixed:
    """A ranker that always gives the same tools and decision."""

    def __init__(self, decision, refs, **more):
        self.decision, self.refs, self.more = decision, refs, more

    def __call__(self, tools):
        by_ref = {tool.tool_ref: tool for tool in tools}
        self.entries = tuple(Ranked(by_ref[ref], 1.0 - place / 10) for place, ref in enumerate(self.refs))
        return self

    def rank(self, query, *, limit=None):
        members = {"explain": lambda ref: f"Because of {ref}.", **self.more}
        return Ranking(query, self.entries[:limit], self.decision, **members)


def broker(decision="use", refs=("chat.post_message", "chat.search_messages"), settings=None, **more):
    return Broker(WORLD, ranker=Fixed(decision, refs, **more), settings=settings)


def document(*arguments, **members):
    return broker(*arguments, **members).find("a request").to_json()


def test_small_schema_takes_the_fast_path():
    found = document(confidence="high")
    call = {"toolRef": "chat.post_message", "arguments": {"channel": "<string>", "text": "<string>"}}
    assert found["selected"]["inputSchema"] == dict(WORLD.by_ref["chat.post_message"].input_schema)
    assert found["selected"]["recommendedCall"] == {"tool": "callTool", "arguments": call}
    assert "schemaPreview" not in found["selected"]
    action = found["nextAction"]
    assert (action["tool"], action["toolRef"], action["arguments"]) == ("callTool", "chat.post_message", call)
    assert action["reason"]
    assert "callTool" in found["agentInstruction"]
    assert (found["confidence"], found["reason"]) == ("high", "Because of chat.post_message.")


def test_big_schema_is_previewed_and_described_first():
    found = document(refs=("files.convert", "files.read_file"))
    preview = found["selected"]["schemaPreview"]
    assert preview == {"required": ["field_1"], "properties": sorted(BIG["properties"])}
    assert not {"inputSchema", "recommendedCall"} & set(found["selected"])
    assert found["nextAction"]["tool"] == "describeTool"
    assert found["nextAction"]["arguments"] == {"toolRef": "files.convert"}
    assert "too large" in found["agentInstruction"]


def test_big_schema_is_inlined_where_the_settings_say_so():
    settings = BrokerSettings(include_full_schemas=True)
    found = document(refs=("files.convert", "files.read_file"), settings=settings)
    assert found["selected"]["inputSchema"] == BIG


def test_schema_without_anything_is_described_and_has_no_preview():
    lone = world([entry("a.b", "T", "D", {})])
    found = Broker(lone, ranker=Fixed("use", ("a.b",))).find("x").to_json()
    assert set(found["selected"]) == {"toolRef", "title", "callableNow", "serverStatus"}
    assert found["nextAction"]["tool"] == "describeTool"
    assert "declares no schema" in found["nextAction"]["reason"]
    assert "declares no schema" in found["agentInstruction"]
    assert "large" not in found["agentInstruction"]
    assert "describeTool" in found["agentInstruction"]


@pytest.mark.parametrize("size", [2048, 2049])
def test_limit_of_the_fast_path(size):
    bare = len(json.dumps(text("a"), separators=(",", ":"))) + len(',"description":""')
    schema = text("a") | {"description": "x" * (size - bare)}
    assert len(json.dumps(schema, separators=(",", ":"))) == size
    found = Broker(world([entry("a.b", "T", "D", schema)]), ranker=Fixed("use", ("a.b",))).find("x").to_json()
    assert ("inputSchema" in found["selected"]) == (size <= 2048)


def test_ambiguous_lets_the_agent_choose():
    found = document("ambiguous", ("chat.post_message", "mail.send", "mail.search"))
    assert [c["toolRef"] for c in found["candidates"]] == ["chat.post_message", "mail.send"]
    members = {"toolRef", "serverId", "name", "title", "description", "inputSchema"}
    assert all(set(candidate) == members for candidate in found["candidates"])
    assert found["nextAction"]["tool"] == "callTool"
    assert "toolRef" not in found["nextAction"]
    assert "toolRef" not in found["nextAction"]["arguments"]
    assert "describeTool" not in found["agentInstruction"]
    assert "confidence" not in found
    assert [other["toolRef"] for other in found["alternatives"]] == ["mail.send", "mail.search"]


def test_ambiguous_has_two_candidates_also_where_one_result_is_asked_for():
    found = Broker(WORLD, settings=BrokerSettings(max_results=1)).find("search").to_json()
    assert found["decision"] == "ambiguous"
    assert len({candidate["toolRef"] for candidate in found["candidates"]}) == 2
    assert "alternatives" not in found


def test_no_good_match_points_to_a_better_search():
    found = document("no_good_match")
    assert found["nextAction"]["tool"] == "findTool"
    assert found["nextAction"]["arguments"]["query"]
    assert not {"selected", "selectedToolRef", "alternatives", "confidence"} & set(found)
    for words in ("findTool", "discovercall gateway index", "discovercall doctor", "Do not conclude"):
        assert words in found["agentInstruction"]
    assert found["reason"] != found["query"]


@pytest.mark.parametrize("request_text", ["", " ", "\n"])
def test_after_an_empty_request_the_next_search_has_words(request_text):
    action = Broker(COMMITTED).find(request_text).to_json()["nextAction"]
    assert action["tool"] == "findTool"
    assert action["arguments"]["query"].strip()
    assert carry_out(Broker(COMMITTED), "findTool", action["arguments"]).ok


def test_no_good_match_names_what_is_missing_where_it_is_known():
    found = document("no_good_match", missing_capability="Order a taxi or ride")
    assert "Order a taxi or ride" in found["agentInstruction"]
    assert "Order a taxi or ride" in found["reason"]


def test_empty_catalog_forbids_inference():
    found = Broker(Catalog()).find("anything").to_json()
    assert found["decision"] == "catalog_empty"
    assert "nextAction" not in found
    assert "Do not infer" in found["agentInstruction"]
    assert "discovercall gateway index" in found["agentInstruction"]
    assert "discovercall doctor" in found["agentInstruction"]
    assert found["catalogStats"] == {
        "configuredServers": 0, "indexedTools": 0, "freshTools": 0, "staleTools": 0
    }  # fmt: skip


@pytest.mark.parametrize("most", [1, 2, 5])
def test_alternatives_are_bounded(most):
    refs = tuple(tool["toolRef"] for tool in TOOLS)
    found = document(refs=refs, settings=BrokerSettings(max_results=most))
    assert len(found.get("alternatives", [])) == most - 1
    assert len({found["selectedToolRef"], *(a["toolRef"] for a in found.get("alternatives", []))}) == most


def test_degraded_search_says_so_first():
    found = document(degraded="RuntimeError")
    assert found["agentInstruction"].startswith("Results are lexical only")
    assert "RuntimeError" in found["agentInstruction"]
    assert "discovercall doctor" in found["agentInstruction"]


def test_tool_of_an_offline_server_is_not_recommended_blindly():
    found = document(refs=("down.weather", "git.log"))
    assert found["selected"]["callableNow"] is False
    assert found["selected"]["serverStatus"] == "offline"
    assert "Check the server" in found["agentInstruction"]


def test_followups_and_avoided_servers():
    found = document(refs=("chat.search_messages", "mail.search"), ruled_out=("mail",))
    assert [f["toolRef"] for f in found["likelyFollowupTools"]] == ["chat.get_message"]
    assert "message_id" in found["likelyFollowupTools"][0]["when"]
    assert found["avoid"] == ["Tools of mail: the request rules this server out."]


def test_people_read_the_followups_and_avoided_servers_too():
    found = broker(refs=("chat.search_messages", "mail.search"), ruled_out=("mail",)).find("a request")
    lines = human(found).splitlines()
    afterwards = lines[lines.index("Afterwards:") + 1]
    assert afterwards.startswith("  chat.get_message: to read one result in full")
    assert "Avoid: Tools of mail: the request rules this server out." in lines
    assert "Afterwards:" not in human(broker().find("a request"))


def test_scores_only_on_request():
    assert "scores" not in document(margin=0.2)
    found = document(margin=0.2, settings=BrokerSettings(scores=True))
    assert found["scores"]["margin"] == 0.2
    assert [top["toolRef"] for top in found["scores"]["top"]] == ["chat.post_message", "chat.search_messages"]


def test_age_of_the_catalog():
    catalog = Catalog.of_world(WORLD, indexed_at=1000.0)
    for now, age in ((1000.0, 0), (1012.9, 12), (900.0, 0)):
        found = Broker(catalog, clock=partial(float, now)).find("x").to_json()
        assert found["catalogStats"]["catalogAgeSeconds"] == age
    assert "catalogAgeSeconds" not in Broker(WORLD).find("x").to_json()["catalogStats"]


def test_unreadable_catalog_is_an_envelope():
    class Broken:
        def current(self):
            raise CatalogUnreadableError("the index is damaged")

    made = Broker(Broken(), ranker=Fixed("use", ()))
    for answer in (made.find("x"), made.describe("a.b"), made.call("a.b", {})):
        error = answer.to_json()["error"]
        assert (error["type"], error["retryable"]) == ("CONFIG_ERROR", True)
        assert error["retry"] == {"when": "after", "precondition": "index_refreshed"}
        assert "the index is damaged" in error["message"]


def test_a_new_index_is_searched_at_once():
    catalog = Catalog.of_world(world([entry("a.tides", "Tides", "High tide times.")]))
    made = Broker(catalog)
    assert made.find("search mail").to_json()["decision"] == "no_good_match"
    catalog.put_tools(world([entry("mail.search", "Search Mail", "Search the mailbox.")]).tools)
    assert made.find("search mail").to_json()["selectedToolRef"] == "mail.search"


def test_description():
    found = Broker(WORLD).describe("chat.get_message").to_json()
    assert found["inputSchema"] == text("message_id")
    assert found["status"] == {"callableNow": True, "serverStatus": "online", "catalogFreshness": "fresh"}
    assert found["examples"][0]["arguments"] == {"message_id": "text"}
    assert {r["toolRef"] for r in found["relatedTools"]} == {"chat.post_message", "chat.search_messages"}


def test_a_description_tells_what_the_schema_alone_does_not_say_plainly():
    schema = text("city", "postcode", "units", required=()) | {
        "anyOf": [{"required": ["city"]}, {"required": ["postcode"]}]
    }
    found = Broker(world([entry("a.weather", "Weather", "Tell the weather.", schema)])).describe("a.weather")
    assert found.to_json()["usageHints"] == ["Give at least one of city, postcode."]
    assert "Give at least one of city, postcode." in human(found).splitlines()
    assert "usageHints" not in Broker(WORLD).describe("chat.get_message").to_json()


def test_description_of_an_unknown_tool():
    error = Broker(WORLD).describe("chat.nothing").to_json()["error"]
    assert (error["type"], error["retryable"], error["retry"]) == ("TOOL_NOT_FOUND", False, {"when": "never"})
    assert "findTool" in error["agentInstruction"]
    assert "index" in error["agentInstruction"]


@pytest.mark.parametrize("indexed", [False, True])
def test_description_of_a_tool_of_a_disabled_server_sends_to_the_configuration(indexed):
    catalog = Catalog.of_world(WORLD) if indexed else Catalog()
    catalog.put_server(Server("chat", "unknown", enabled=False))
    catalog.put_server(Server("wiki", "unknown"))
    error = Broker(catalog).describe("chat.get_message").to_json()["error"]
    assert (error["type"], error["retryable"], error["retry"]) == ("CONFIG_ERROR", False, {"when": "never"})
    assert error["message"] == "Server chat is disabled."
    assert "enable server chat" in error["agentInstruction"]
    assert "wiki" in error["agentInstruction"]
    assert "chat" not in server_ids(catalog)
    assert "wiki" in server_ids(catalog)


def test_description_of_a_tool_that_no_index_run_has_looked_for():
    catalog = Catalog()
    catalog.put_server(Server("chat", "unknown"))
    error = Broker(catalog).describe("chat.get_message").to_json()["error"]
    assert (error["type"], error["retryable"]) == ("TOOL_NOT_FOUND", False)
    assert error["retry"] == {"when": "after", "precondition": "index_refreshed"}
    assert is_clear(error)
    assert "index" in error["agentInstruction"]


REQUESTS = [
    "let the whole team know",
    "post in #general",
    "what did we decide last week",
    "send a mail to bob@example.org",
    "book a flight to Rome",
    "zzzz",
    "",
    "read /tmp/x",
    "convert the spreadsheet",
    "weather in Oslo tomorrow",
]
QUERIES = st.one_of(st.sampled_from(REQUESTS), st.text(max_size=60))
BROKERS = {
    "small": Broker(WORLD),
    "committed": Broker(COMMITTED),
    "frozen": Broker(WORLD, ranker=lambda tools: BaselineRanker(tools)),
    "empty": Broker(Catalog()),
}


@pytest.mark.parametrize("name", BROKERS)
@given(query=QUERIES)
@settings(max_examples=40, deadline=None)
def test_every_next_action_can_be_executed(name, query):
    """Carrying out what the broker advises never ends in an unknown tool or a broken set-up."""
    made = BROKERS[name]
    found = made.find(query).to_json()
    assert found["query"] == query
    assert found["decision"] in DECISIONS
    known = {item.tool.tool_ref for item in made.source.current().entries()}
    named = [found.get("selectedToolRef"), *(a["toolRef"] for a in found.get("alternatives", []))]
    assert {ref for ref in named if ref} <= known
    action = found.get("nextAction")
    if found["decision"] == "catalog_empty":
        assert action is None
        return
    assert action is not None
    assert action["tool"] in OPERATIONS
    arguments = [action["arguments"]]
    if found["decision"] == "ambiguous":
        arguments = [{**action["arguments"], "toolRef": c["toolRef"]} for c in found["candidates"]]
    for given_arguments in arguments:
        if action["tool"] == "findTool" and not query:
            continue  # nothing to search for: the query is the caller's own
        answer = carry_out(made, action["tool"], given_arguments).to_json()
        assert answer.get("error", {}).get("type") not in ("TOOL_NOT_FOUND", "CONFIG_ERROR")


@given(query=QUERIES)
@settings(max_examples=30, deadline=None)
def test_instructions_never_merely_repeat_the_request(query):
    found = BROKERS["small"].find(query).to_json()
    assert any(word in found["agentInstruction"] for word in ("callTool", "findTool", "describeTool"))
    if found.get("reason"):
        assert found["reason"].strip() != query.strip()


def test_two_brokers_say_the_same():
    first, second = Broker(COMMITTED), Broker(COMMITTED)
    for query in REQUESTS:
        assert first.find(query).to_json() == second.find(query).to_json()
