"""Checks HTTP exchanges against a slice (build_slice.py) of GitHub's OpenAPI description."""

from __future__ import annotations

import json
import pathlib
import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

import jsonschema_rs

DOC = "urn:github-openapi"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
ANY_ERROR = {
    "content": {
        "application/json": {"schema": {"$ref": "#/components/schemas/basic-error", "required": ["message"]}}
    }
}


@dataclass
class Operation:
    id: str
    method: str
    template: str
    regex: re.Pattern
    spec: dict
    params: dict = field(default_factory=dict)  # (in, name) -> (required, validator, schema)
    literal: int = 0


class Contract:
    def __init__(self, path: str):
        self.doc = json.loads(pathlib.Path(path).read_text())
        self.api_version = self.doc["x-api-version"]
        self._reg = jsonschema_rs.Registry([(DOC, {"$schema": DRAFT, "components": self.doc["components"]})])
        self._cache: dict[int, object] = {}
        self.ops: dict[str, Operation] = {}
        for tmpl, item in self.doc["paths"].items():
            for method, spec in item.items():
                op = Operation(spec["operationId"], method.upper(), tmpl, re.compile(""), spec)
                multi = set()
                for p in map(self.resolve, spec.get("parameters", [])):
                    op.params[p["in"], p["name"]] = (
                        p.get("required", False),
                        self._validator(p["schema"]),
                        p["schema"],
                    )
                    if p.get("x-multi-segment"):
                        multi.add(p["name"])
                # compare's {base}...{head}: both may hold slashes, the description marks neither
                if "..." in tmpl:
                    multi |= {"base", "head"}
                rx = ""
                for part in re.split(r"(\{[^}]+\})", tmpl):
                    if part.startswith("{"):
                        n = part[1:-1]
                        rx += f"(?P<{n}>.+?)" if n in multi else f"(?P<{n}>[^/]+)"
                    else:
                        rx += re.escape(part)
                        op.literal += len(part)
                op.regex = re.compile(rx)
                self.ops[op.id] = op
        self._ordered = sorted(self.ops.values(), key=lambda o: -o.literal)

    # ---- helpers
    def resolve(self, node: dict) -> dict:
        while "$ref" in node:
            _, _, kind, name = node["$ref"].split("/")
            node = self.doc["components"][kind][name]
        return node

    def _validator(self, schema: dict):
        # keyed by identity: every schema handed in here lives as long as the document (or the module)
        if id(schema) not in self._cache:
            s = json.loads(json.dumps(schema).replace('"#/components', f'"{DOC}#/components'))
            self._cache[id(schema)] = jsonschema_rs.validator_for(
                {"$schema": DRAFT, **s}, registry=self._reg, validate_formats=True
            )
        return self._cache[id(schema)]

    def errors(self, schema: dict, value) -> list[str]:
        return [
            f"{'/'.join(map(str, e.instance_path)) or '.'}: {e.message[:300]}"
            for e in self._validator(schema).iter_errors(value)
        ]

    # ---- matching
    def match(self, method: str, raw_path: str):
        """raw_path: still percent-encoded. Returns (Operation, {name: decoded value}) or (None, {})"""
        for op in self._ordered:
            if op.method == method and (m := op.regex.fullmatch(raw_path)):
                return op, {k: unquote(v) for k, v in m.groupdict().items()}
        return None, {}

    # ---- checks: each returns a list of texts, empty = fine
    def check_request(  # noqa: C901
        self, op: Operation, path_params: dict, query: str, content_type: str, body: bytes
    ) -> list[str]:
        bad = []
        given = {("path", k): v for k, v in path_params.items()}
        for k, v in parse_qsl(query, keep_blank_values=True):
            given["query", k] = v
        for (where, name), value in given.items():
            if (where, name) not in op.params:
                bad.append(f"undocumented {where} parameter {name!r}")
                continue
            _, validator, schema = op.params[where, name]
            cands = [value]
            if re.fullmatch(r"-?\d+", value):
                cands.append(int(value))
            if value in ("true", "false"):
                cands.append(value == "true")
            if not any(validator.is_valid(c) for c in cands):
                bad.append(f"{where} parameter {name}={value!r}: {self.errors(schema, value)}")
        for (where, name), (required, _, _) in op.params.items():
            if required and where in ("path", "query") and (where, name) not in given:
                bad.append(f"missing {where} parameter {name!r}")
        rb = op.spec.get("requestBody")
        if not rb:
            return bad + (["body sent, none documented"] if body else [])
        rb = self.resolve(rb)
        if not body:
            return bad + (["required body missing"] if rb.get("required") else [])
        media = content_type.split(";")[0].strip().lower()
        if media not in rb["content"]:
            return [*bad, f"content type {media!r} not in {list(rb['content'])}"]
        try:
            value = json.loads(body)
        except ValueError as e:
            return [*bad, f"body is not JSON: {e}"]
        schema = rb["content"][media]["schema"]
        bad += [f"body {e}" for e in self.errors(schema, value)]
        props = self.resolve(schema).get("properties")
        if props and isinstance(value, dict):  # schemas allow extra keys; a misspelt one would pass silently
            bad += [f"undocumented body key {k!r}" for k in value if k not in props]
        return bad

    def check_response(self, op: Operation, status: int, content_type: str, body: bytes) -> list[str]:
        responses = op.spec["responses"]
        r = responses.get(str(status), responses.get("default"))
        if r is None:
            if status < 400:
                return [f"status {status} is not documented for {op.id} ({', '.join(responses)})"]
            r = ANY_ERROR  # e.g. 401/404/422 where the description lists only the good answers
        content = self.resolve(r).get("content")
        if not content:
            return [f"{status} must have no body"] if body else []
        media = content_type.split(";")[0].strip().lower()
        c = content.get(media) or (
            content.get("application/scim+json") if media == "application/json" else None
        )
        if c is None:
            return [f"response type {media!r} not in {list(content)}"]
        try:
            value = json.loads(body)
        except ValueError as e:
            return [f"response is not JSON: {e}"]
        return [f"response {e}" for e in self.errors(c["schema"], value)]

    # ---- smallest valid instance of a schema, so that a fake needs to name only the fields that matter
    def skeleton(self, schema: dict, base: str, depth: int = 0):  # noqa: C901
        schema = self.resolve(schema)
        if "allOf" in schema:
            out: dict = {}
            for s in schema["allOf"]:
                v = self.skeleton(s, base, depth + 1)
                out = {**out, **v} if isinstance(v, dict) else v
            return out
        for k in ("anyOf", "oneOf"):
            if k in schema:
                if any(self.resolve(s).get("type") == "null" for s in schema[k]):
                    return None
                return self.skeleton(schema[k][0], base, depth + 1)
        t = schema.get("type")
        if isinstance(t, list):
            if "null" in t:
                return None
            t = t[0]
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][0]
        if t == "object" or "properties" in schema:
            return {
                n: self.skeleton(schema["properties"].get(n, {}), base, depth + 1)
                for n in schema.get("required", [])
                if n in schema.get("properties", {})
            }
        if t == "array":
            return [self.skeleton(schema["items"], base, depth + 1)] * schema.get("minItems", 0)
        if t == "integer":
            return max(1, schema.get("minimum", 1))
        if t == "number":
            return 1
        if t == "boolean":
            return False
        if t == "string":
            f = schema.get("format")
            if f == "uri":
                return base + "/_"
            if f == "date-time":
                return "2026-01-01T00:00:00Z"
            return "x" * schema.get("minLength", 1)
        return None

    def fill(self, op_id: str, status: int, overlay, base: str):
        schema = self.resolve(self.ops[op_id].spec["responses"][str(status)])["content"]["application/json"][
            "schema"
        ]
        return self._fill(schema, overlay, base)

    def _fill(self, schema, overlay, base):
        schema = self.resolve(schema)
        if "allOf" in schema and isinstance(overlay, dict):
            out = self.skeleton(schema, base)
            for s in schema["allOf"]:
                out.update(self._fill(s, overlay, base))
            return out
        for k in ("anyOf", "oneOf"):
            if k in schema and overlay is not None:
                cands = [s for s in schema[k] if self.resolve(s).get("type") != "null"]
                for s in cands:
                    v = self._fill(s, overlay, base)
                    if not self.errors(s, v):
                        return v
                return self._fill(cands[0], overlay, base)
        if isinstance(overlay, dict) and "properties" in schema:
            out = {}
            for n in schema.get("required", []):
                if n not in overlay and n in schema["properties"]:
                    out[n] = self.skeleton(schema["properties"][n], base)
            for n, v in overlay.items():
                out[n] = self._fill(schema["properties"][n], v, base) if n in schema["properties"] else v
            return out
        if isinstance(overlay, list) and "items" in schema:
            return [self._fill(schema["items"], v, base) for v in overlay]
        return overlay
