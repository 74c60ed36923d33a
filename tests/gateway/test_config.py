"""`gateway.toml`, and the index that is made from it."""

import json

import pytest

from discovercall.foundation.errors import InputError
from discovercall.gateway.assembly import assemble
from discovercall.gateway.config import load_config
from discovercall.gateway.index_file import IndexFile, read_index, write_index
from discovercall.gateway.listing import run_index
from discovercall.gateway.store import Catalog, CatalogUnreadableError
from discovercall.gateway.truncation import BUDGET, bound
from discovercall.gateway.wording import TIME_LIMIT, timed_out
from tests.gateway.worlds import world

FULL = """
index = "kept/tools.json"
[servers.files]
command = "npx"
args = ["-y", "server", "/data"]
env = { TOKEN = "${FILES_TOKEN}", MODE = "fast" }
cwd = "sub"
[servers.remote]
url = "https://example.org/mcp"
headers = { Authorization = "Bearer ${KEY}" }
enabled = false
[budgets]
max_results = 3
max_result_bytes = 0
include_full_schemas = true
[timeouts]
call_ms = 1000
discovery_ms = 2000
[cache]
enabled = false
seconds = 1
entries = 2
[search]
semantic = "off"
fusion = "rrf"
scores = true
[mcp]
list_servers = false
"""


def load(tmp_path, text, **environment):
    path = tmp_path / "gateway.toml"
    path.write_text(text)
    return load_config(path, environment)


def test_everything_can_be_set(tmp_path):
    config = load(tmp_path, FULL, FILES_TOKEN="tok-1", KEY="key-2")
    files, remote = config.servers
    assert files.command == ("npx", "-y", "server", "/data")
    assert (files.env, files.cwd) == ({"TOKEN": "tok-1", "MODE": "fast"}, tmp_path / "sub")
    assert (remote.url, remote.headers) == ("https://example.org/mcp", {"Authorization": "Bearer key-2"})
    assert config.disabled == {"remote"}
    assert {server.server_id for server in read_index(config).servers() if not server.enabled} == {"remote"}
    settings = config.settings
    assert (settings.max_results, settings.max_result_bytes, settings.include_full_schemas) == (3, 0, True)
    assert (settings.call_timeout_ms, settings.discovery_timeout_ms) == (1000, 2000)
    assert (settings.fusion, settings.scores, config.semantic) == ("rrf", True, "off")
    assert (config.cache.enabled, config.cache.seconds, config.cache.entries) == (False, 1, 2)
    assert config.index_path == tmp_path / "kept/tools.json"
    assert not config.list_servers
    assert {"tok-1", "key-2", "Bearer key-2", "fast"} <= set(config.secrets)


def test_defaults(tmp_path):
    config = load(tmp_path, '[servers.a]\ncommand = "x"\n')
    assert (config.settings.max_result_bytes, config.settings.call_timeout_ms) == (65_536, 60_000)
    assert (config.settings.discovery_timeout_ms, config.settings.max_results) == (5_000, 5)
    assert (config.cache.enabled, config.cache.seconds, config.cache.entries) == (True, 300, 1024)
    assert (config.semantic, config.list_servers) == ("auto", True)
    assert config.index_path == tmp_path / "gateway.index.json"


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("https://tools.example.com/mcp", '{ A = "b" }'),
        ("http://localhost:8080/mcp", '{ A = "b" }'),
        ("http://127.0.0.1/mcp", '{ A = "b" }'),
        ("http://[::1]:9/mcp", '{ A = "b" }'),
        ("http://tools.example.com/mcp", "{}"),
    ],
)
def test_headers_go_to_https_and_to_this_machine(tmp_path, url, headers):
    config = load(tmp_path, f'[servers.a]\nurl = "{url}"\nheaders = {headers}\n')
    assert config.servers[0].url == url


def test_variables_that_are_not_set_are_known_and_no_secrets(tmp_path):
    config = load(tmp_path, '[servers.a]\ncommand = "x"\nenv = { T = "${NONE}", E = "" }\n')
    assert config.servers[0].unresolved == ("NONE",)
    assert config.secrets == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[servers.a", ["not valid TOML"]),
        ("other = 1", ["other"]),
        ("[servers.a]\n", ["servers.a", "command or url"]),
        ('[servers.a]\ncommand = "x"\nurl = "http://h"\n', ["servers.a", "command or url"]),
        ('[servers.a]\ncommand = ["x"]\n', ["servers.a: command"]),
        ('[servers.a]\ncommand = "x"\nheaders = { A = "b" }\n', ["servers.a", "headers"]),
        ('[servers.a]\nurl = "http://h"\nargs = ["x"]\n', ["servers.a", "args"]),
        ('[servers.a]\nurl = "ftp://h"\n', ["servers.a", "url"]),
        (
            '[servers.a]\nurl = "http://tools.example.com/mcp"\nheaders = { A = "Bearer ${KEY}" }\n',
            ["servers.a: headers: would go out in clear, for url begins with http://", "use https, or"],
        ),
        ('[servers."a.b"]\ncommand = "x"\n', ["servers.a.b", "dot"]),
        ('[servers.a]\ncommand = "x"\ncomand = "y"\n', ["servers.a: comand"]),
        ('index = "gateway.toml"\n', ["index: gateway.toml would be replaced", "a file of its own, *.json"]),
        ('index = "paid.jsonl"\n', ["index: paid.jsonl would be replaced"]),
        ("[budgets]\nmax_results = 0\n", ["budgets.max_results"]),
        ('[timeouts]\ncall_ms = "1"\n', ["timeouts.call_ms"]),
        ("[cache]\nseconds = -1\n", ["cache.seconds"]),
        ('[search]\nfusion = "best"\n', ["search.fusion", "'bank'"]),
    ],
)
def test_mistakes_are_named(tmp_path, text, words):
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    for word in ["gateway.toml", *words]:
        assert word in str(caught.value)


def test_ranking_that_uses_no_model_says_so_and_refuses_to_require_one(tmp_path):
    text = '[search]\nfusion = "bm25"\n'
    assembly = assemble(load(tmp_path, text))
    assert (assembly.search, assembly.semantic) == ("lexical (search.fusion is bm25)", False)
    assert run_index(load(tmp_path, text)).search == "lexical (search.fusion is bm25)"
    assert assemble(load(tmp_path, text), semantic="off").search == "lexical (semantic search is off)"
    required = load(tmp_path, text + 'semantic = "require"\n')
    for start in (assemble, run_index):
        with pytest.raises(InputError, match="bm25"):
            start(required)


def test_index_is_kept_as_it_was(tmp_path):
    config = load(tmp_path, "".join(f'[servers.{s.server_id}]\ncommand = "x"\n' for s in world().servers))
    catalog = Catalog.of_world(world(down="offline"), indexed_at=12.5)
    catalog.put_tools([world().by_ref["git.log"]], freshness="stale", indexed_at=3.0)
    write_index(config.index_path, catalog)
    assert config.index_path.stat().st_mode & 0o777 == 0o600
    again = read_index(config)
    assert again.entries() == catalog.entries()
    assert again.servers() == catalog.servers()
    assert again.last_indexed_at == 12.5


def test_index_forgets_what_is_no_longer_configured(tmp_path):
    config = load(tmp_path, '[servers.mail]\ncommand = "x"\n[servers.git]\ncommand = "x"\nenabled = false\n')
    write_index(config.index_path, Catalog.of_world(world(), indexed_at=1.0))
    assert [tool.tool_ref for tool in read_index(config).tools()] == ["mail.search", "mail.send"]
    assert [(s.server_id, s.enabled) for s in read_index(config).servers()] == [
        ("git", False),
        ("mail", True),
    ]


def test_index_file_is_read_again_when_it_changes(tmp_path):
    config = load(tmp_path, '[servers.mail]\ncommand = "x"\n')
    source = IndexFile(config)
    assert source.current().last_indexed_at is None
    assert source.current() is source.current()
    write_index(config.index_path, Catalog.of_world(world(), indexed_at=1.0))
    assert len(source.current().tools()) == 2


def test_index_that_is_not_followed_stays_as_it_was_first_read(tmp_path):
    config = load(tmp_path, '[servers.mail]\ncommand = "x"\n')
    source = IndexFile(config, follow=False)
    first = source.current()
    write_index(config.index_path, Catalog.of_world(world(), indexed_at=1.0))
    assert source.current() is first
    assert not first.tools()


@pytest.mark.parametrize("text", ["", "{}", "[1", json.dumps({"version": 2, "servers": [], "tools": []})])
def test_damaged_index(tmp_path, text):
    config = load(tmp_path, '[servers.mail]\ncommand = "x"\n')
    config.index_path.write_text(text)
    with pytest.raises(CatalogUnreadableError, match=r"gateway\.index\.json"):
        IndexFile(config).current()


def test_store():
    catalog = Catalog.of_world(world())
    before = catalog.generation
    catalog.delete_tools(["mail.send", "not.there"])
    assert catalog.entry("mail.send") is None
    assert [tool.tool_ref for tool in catalog.tools_of("mail")] == ["mail.search"]
    assert catalog.generation != before
    refs = [tool.tool_ref for tool in catalog.tools()]
    assert refs == sorted(refs)
    assert catalog.stats(0).to_json() == {
        "configuredServers": 6, "indexedTools": 10, "freshTools": 10, "staleTools": 0
    }  # fmt: skip


@pytest.mark.parametrize("text", ["x = " + "[" * 50_000, "x = " + "{a=" * 2000 + "1" + "}" * 2000])
def test_deep_nesting_is_one_line(tmp_path, text):
    with pytest.raises(InputError, match=r"gateway\.toml: nested too deeply"):
        load(tmp_path, text)


def test_messages_name_settings_that_there_are(tmp_path):
    for name, text in ((TIME_LIMIT, timed_out(5)), (BUDGET, bound("x" * 99, 20).notice)):
        table, _, key = name.partition(".")
        assert text is not None
        assert f"{name} " in text
        load(tmp_path, f"[{table}]\n{key} = 5\n")
