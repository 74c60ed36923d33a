#!/usr/bin/env python3
"""Cut a small, self-contained slice out of @octokit/openapi's api.github.com.json.

usage: build_slice.py SPEC.json OUT.json operationId [operationId ...]

Keeps only the named operations and the closure of their component $refs, drops prose, examples and x-*
(but keeps x-multi-segment), and rewrites the OpenAPI 3.0 dialect into plain
JSON Schema 2020-12 (nullable -> type/anyOf null, boolean exclusiveMin/Max).
Examples are kept apart in OUT.json's "x-examples" (operationId -> status -> name -> value) with --examples.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re

METHODS = ("get", "put", "post", "patch", "delete")
KEEP_X = {"x-multi-segment"}
DROP = {
    "description",
    "summary",
    "example",
    "examples",
    "externalDocs",
    "tags",
    "xml",
    "deprecated",
    "title",
    "servers",
    "callbacks",
}
NAME_MAPS = {"properties", "patternProperties", "schemas", "parameters_map", "responses", "headers"}


def merge_patch(target, patch):
    """RFC 7396; 'required' lists are intersected, because each change set lists the whole remaining set"""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for k, v in patch.items():
        if v is None:
            target.pop(k, None)
        elif k == "required" and isinstance(v, list) and isinstance(target.get(k), list):
            target[k] = [x for x in target[k] if x in v]
        else:
            target[k] = merge_patch(target.get(k), v)
    return target


def json_patch(target, ops):
    for o in ops:
        *head, last = [x.replace("~1", "/").replace("~0", "~") for x in o["path"].split("/")[1:]]
        t = target
        for h in head:
            t = t[int(h)] if isinstance(t, list) else t.setdefault(h, {})
        if o["op"] == "remove":
            t.pop(int(last) if isinstance(t, list) else last, None)
        elif o["op"] in ("add", "replace"):
            if isinstance(t, list):
                t.append(o["value"]) if last == "-" else t.__setitem__(int(last), o["value"])
            else:
                t[last] = o["value"]
        else:
            raise SystemExit(f"json patch op {o['op']} not handled")
    return target


def apply_version(node, version):
    """apply x-github-breaking-changes up to and including `version` (bottom up)"""
    if isinstance(node, list):
        return [apply_version(x, version) for x in node]
    if not isinstance(node, dict):
        return node
    node = {
        k: (v if k == "x-github-breaking-changes" else apply_version(v, version)) for k, v in node.items()
    }
    for ch in node.pop("x-github-breaking-changes", None) or []:
        if ch["version"] <= version:
            p = ch["patch"]
            node = json_patch(node, p) if isinstance(p, list) else merge_patch(node, p)
    return node


def clean(node, in_map=False):
    """drop prose; in_map: keys are user names (property names), so never drop them"""
    if isinstance(node, list):
        return [clean(x) for x in node]
    if not isinstance(node, dict):
        return node
    out = {}
    for k, v in node.items():
        if not in_map:
            if k in DROP and not (k in ("title", "description", "summary") and isinstance(v, dict)):
                continue
            if k.startswith("x-") and k not in KEEP_X:
                continue
        out[k] = clean(
            v,
            in_map=(
                not in_map and k in ("properties", "patternProperties", "responses", "headers", "content")
            ),
        )
    return out


def to_2020(s):  # noqa: C901
    if isinstance(s, list):
        return [to_2020(x) for x in s]
    if not isinstance(s, dict):
        return s
    s = dict(s)
    nullable = s.pop("nullable", False)
    for k in ("properties", "patternProperties"):
        if isinstance(s.get(k), dict):
            s[k] = {n: to_2020(v) for n, v in s[k].items()}
    for k in ("items", "additionalProperties", "not"):
        if isinstance(s.get(k), dict):
            s[k] = to_2020(s[k])
    for k in ("allOf", "anyOf", "oneOf"):
        if isinstance(s.get(k), list):
            s[k] = [to_2020(x) for x in s[k]]
    for lim in ("Minimum", "Maximum"):
        ex = s.get("exclusive" + lim)
        if ex is True:
            s["exclusive" + lim] = s.pop(lim.lower())
        elif ex is False:
            s.pop("exclusive" + lim)
    s.pop("discriminator", None)
    if nullable:
        if isinstance(s.get("type"), str) and not ({"allOf", "anyOf", "oneOf", "$ref"} & s.keys()):
            s["type"] = [s["type"], "null"]
            if "enum" in s and None not in s["enum"]:
                s["enum"] = [*s["enum"], None]
        else:
            s = {"anyOf": [s, {"type": "null"}]}
    return s


def schemas_in(node):
    """yield (container, key) for each media-type / parameter / header schema"""
    if isinstance(node, dict):
        for k, v in node.items():
            if k == "schema":
                yield node, k
            else:
                yield from schemas_in(v)
    elif isinstance(node, list):
        for v in node:
            yield from schemas_in(v)


def refs(node):
    if isinstance(node, dict):
        r = node.get("$ref")
        if isinstance(r, str):
            yield r
        for v in node.values():
            yield from refs(v)
    elif isinstance(node, list):
        for v in node:
            yield from refs(v)


def main() -> None:  # noqa: C901
    ap = argparse.ArgumentParser()
    ap.add_argument("spec")
    ap.add_argument("out")
    ap.add_argument("ops", nargs="+")
    ap.add_argument("--examples", action="store_true")
    ap.add_argument(
        "--api-version", default="2022-11-28", help="apply x-github-breaking-changes up to this version"
    )
    a = ap.parse_args()
    spec = json.loads(pathlib.Path(a.spec).read_text())
    want = set(a.ops)
    paths: dict = {}
    examples: dict = {}
    for p, item in spec["paths"].items():
        for m in METHODS:
            op = item.get(m)
            if op and op["operationId"] in want:
                want.discard(op["operationId"])
                paths.setdefault(p, {})[m] = clean(apply_version(op, a.api_version))
                if a.examples:
                    ex = examples.setdefault(op["operationId"], {})
                    for st, r in op["responses"].items():
                        if "$ref" in r:
                            r = spec["components"]["responses"][r["$ref"].rsplit("/", 1)[-1]]
                        for _mt, c in r.get("content", {}).items():
                            for n, e in c.get("examples", {}).items():
                                if "$ref" in e:
                                    e = spec["components"]["examples"][e["$ref"].rsplit("/", 1)[-1]]
                                ex.setdefault(st, {})[n] = e.get("value")
    if want:
        raise SystemExit(f"unknown operationId(s): {sorted(want)}")
    comps: dict = {}
    todo = list(refs(paths))
    while todo:
        r = todo.pop()
        kind, name = re.fullmatch(r"#/components/([^/]+)/([^/]+)", r).groups()  # type: ignore[union-attr]
        if name in comps.setdefault(kind, {}):
            continue
        comps[kind][name] = clean(apply_version(spec["components"][kind][name], a.api_version))
        todo += refs(comps[kind][name])
    if "schemas" in comps:
        comps["schemas"] = {k: to_2020(v) for k, v in sorted(comps["schemas"].items())}
    for holder in (paths, {k: v for k, v in comps.items() if k != "schemas"}):
        for c, k in list(schemas_in(holder)):
            c[k] = to_2020(c[k])
    out = {
        "openapi": spec["openapi"],
        "x-dialect": "json-schema-2020-12",
        "x-api-version": a.api_version,
        "info": {
            "title": spec["info"]["title"],
            "version": spec["info"]["version"],
            "license": spec["info"].get("license"),
        },
        "paths": paths,
        "components": {k: dict(sorted(v.items())) for k, v in comps.items()},
    }
    if a.examples:
        out["x-examples"] = examples
    pathlib.Path(a.out).write_text(json.dumps(out, separators=(",", ":")))


if __name__ == "__main__":
    main()
