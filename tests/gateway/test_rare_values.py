"""What tools rarely hold: odd schemas, answers that are no text, long words, key files that are no keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from mcp.types import (
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from discovercall.foundation.errors import InputError
from discovercall.gateway.keys import new_key, read_key, write_key
from discovercall.gateway.lowering import lowered
from discovercall.gateway.masking import ToolMask
from discovercall.gateway.mcp_values import as_result, as_tool
from discovercall.gateway.parameters import declared_type, derive_params, example_arguments
from discovercall.gateway.stemming import stem
from discovercall.gateway.wordpiece import WordPiece

SECRET = "sk-planted-0123456789"
TEXT = {"type": "string"}


def test_an_answer_of_every_kind_of_block() -> None:
    contents = TextResourceContents(uri="file:///a", text="inside")
    blocks = [
        TextContent(type="text", text="one"),
        EmbeddedResource(type="resource", resource=contents),
        ResourceLink(type="resource_link", name="log", uri="file:///log"),
        ImageContent(type="image", data="AA==", mimeType="image/png"),
    ]
    found = as_result(CallToolResult(content=blocks, isError=True))
    assert found.text == ("one", "inside", "log: file:///log")
    assert (found.is_error, found.left_out) == (True, ("image",))


@pytest.mark.parametrize(
    ("title", "annotations", "expected", "reads"),
    [
        ("Own", ToolAnnotations(title="Hint", readOnlyHint=True), "Own", True),
        (None, ToolAnnotations(title="Hint"), "Hint", False),
        (None, None, "", False),
    ],
)
def test_a_tool_reads_only_where_its_server_says_so(
    title: str | None, annotations: ToolAnnotations | None, expected: str, reads: bool
) -> None:
    given = Tool(name="t", title=title, inputSchema={"type": "object"}, annotations=annotations)
    tool = as_tool("s", given, ToolMask(()))
    assert (tool.tool_ref, tool.title, tool.read_only) == ("s.t", expected, reads)


def test_a_secret_is_masked_wherever_a_schema_holds_it() -> None:
    mask = ToolMask((SECRET,))
    schema = {
        "description": f"Use {SECRET}.",
        "properties": {SECRET: {"type": "string", "default": SECRET, "minLength": 3}},
        "examples": [{"deep": [SECRET, 1, None, True]}],
        "x-note": {"a": {"b": SECRET}},
    }
    masked = mask.schema(schema)
    assert SECRET not in repr(masked)
    assert next(iter(masked["properties"].values()))["minLength"] == 3
    assert masked["examples"][0]["deep"][1:] == [1, None, True]
    assert mask.hides(f"tool-{SECRET}")
    assert not mask.hides("tool")


@pytest.mark.parametrize(
    ("definition", "kind"),
    [
        ({"type": ["null", "integer"]}, "integer"),
        ({"type": ["null"]}, "string"),
        ({"enum": [True]}, "boolean"),
        ({"enum": [3]}, "integer"),
        ({"enum": [2.5]}, "number"),
        ({"enum": ["a"]}, "string"),
        ({"enum": []}, "string"),
        ({"properties": {}}, "object"),
        ({"items": {}}, "array"),
        ({}, "string"),
    ],
)
def test_the_type_of_a_property(definition: dict[str, Any], kind: str) -> None:
    assert declared_type(definition) == kind


def test_a_first_set_of_arguments() -> None:
    schema = {
        "type": "object",
        "properties": {
            "number": {"type": "number", "maximum": 5},
            "count": {"type": "integer", "minimum": True},
            "chosen": {"type": "string", "default": "d"},
            "named": {"type": "string", "examples": ["e"], "enum": ["f"]},
            "list": {"type": "array", "items": {"type": "boolean"}},
            "bare": {"type": "array"},
            "inner": {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["b"]},
            "either": TEXT,
            "or": TEXT,
        },
        "required": ["number", "count", "chosen", "named", "list", "bare", "inner"],
        "anyOf": [{"required": ["either"]}, {"required": ["or"]}],
    }
    assert example_arguments(schema) == {
        "number": 5,
        "count": 1,
        "chosen": "d",
        "named": "e",
        "list": [True],
        "bare": [],
        "inner": {"b": "text"},
        "either": "text",
    }


def test_parameters_of_objects_and_lists() -> None:
    schema = {
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": {"type": "object", "properties": {"a": TEXT}}},
            "empty": {"type": "object", "description": ""},
        },
        "required": "rows",
    }
    rows, empty = derive_params(schema)
    assert rows["items"]["properties"]["a"] == {"type": "string", "required": False}
    assert empty == {"name": "empty", "type": "object", "required": False}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": 3}, {"enum": [3]}),
        ({"enum": [{"a": 1}, "b"], "type": "object"}, {"enum": ["b"]}),
        ({"enum": [{"a": 1}], "type": "object"}, {"enum": [{"a": 1}], "type": "object"}),
        ({"anyOf": [{"type": "null"}, {"required": ["a"]}, TEXT]}, TEXT),
        ({"oneOf": [{"type": "object"}, {"type": "null"}]}, {"type": "object"}),
        ({"description": "own", "anyOf": [{**TEXT, "description": "other"}]}, {"description": "own", **TEXT}),
    ],
)
def test_schemas_are_lowered(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    found = lowered(schema)
    assert {name: found[name] for name in expected} == expected
    assert not {"anyOf", "oneOf"} & set(found)


@pytest.mark.parametrize("schema", [{"$ref": "#/none"}, {"allOf": [TEXT, {"type": "integer"}]}])
def test_what_cannot_be_followed_says_nothing(schema: dict[str, Any]) -> None:
    assert lowered(schema) == lowered({"$ref": "elsewhere.json"})


PIECES = WordPiece(["[UNK]", "[CLS]", "[SEP]", "we", "##ather", "天", "気", "!"])


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Weather", [3, 4]),
        ("we\u00adath\u200ber\0", [3, 4]),
        ("wé", [3]),
        ("wet", [0]),
        ("we" * 300, [0]),
        ("天気!", [5, 6, 7]),
        ("we\twe\u00a0we", [3, 3, 3]),
        ("we " * 20, [3] * 6),
        ("", []),
    ],
)
def test_words_become_pieces_and_what_the_vocabulary_lacks_is_unknown(text: str, numbers: list[int]) -> None:
    assert PIECES.encode(text, max_length=8) == [1, *numbers, 2]


@pytest.mark.parametrize(
    ("word", "root"),
    [
        ("city's", "citi"),
        ("dogs'", "dog"),
        ("gas", "gas"),
        ("ties", "tie"),
        ("flies", "fli"),
        ("dying", "die"),
        ("sing", "sing"),
        ("agreed", "agre"),
        ("conflated", "conflat"),
        ("hopping", "hop"),
        ("hoping", "hope"),
        ("adding", "add"),
        ("geology", "geolog"),
        ("energetically", "energet"),
    ],
)
def test_stems(word: str, root: str) -> None:
    assert stem(word) == root


def test_key_files(tmp_path: Path) -> None:
    path = tmp_path / "key"
    key = new_key()
    write_key(path, key)
    assert read_key(path) == key
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}: cannot be created \(File exists\)$"):
        write_key(path, "other")
    assert read_key(path) == key
    for content in (b"", b" \n", b"two words", "schlüssel".encode(), b"a\0b"):
        path.write_bytes(content)
        with pytest.raises(InputError) as error:
            read_key(path)
        assert str(error.value) == f"{path}: holds no key; one line of visible ASCII characters"
    path.chmod(0o640)
    with pytest.raises(InputError) as error:
        read_key(path)
    assert str(error.value) == f"{path}: others can read it; chmod 600 {path}"
    with pytest.raises(InputError, match=r"cannot be read \(No such file or directory\)$"):
        read_key(tmp_path / "none")
