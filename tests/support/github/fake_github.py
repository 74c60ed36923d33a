"""A small stateful GitHub REST server on loopback; every exchange is checked against GitHub's description.

    with FakeGitHub("acme/widgets") as gh:
        c = gh.seed_commit({"README.md": b"hi"}); gh.refs["refs/heads/main"] = c
        Github(base_url=gh.url, auth=Auth.Token(gh.token), ...)
    gh.assert_clean()

Real git object ids are computed, so results can be compared with a local git repository.
"""

from __future__ import annotations

import base64
import calendar
import hashlib
import json
import pathlib
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from werkzeug.serving import WSGIRequestHandler, make_server

from tests.support.github.openapi_check import Contract

HERE = pathlib.Path(__file__).parent
WHEN = "2026-01-01T00:00:00Z"
DOCS = "https://docs.github.com/rest"


def git_sha(kind: str, data: bytes) -> str:
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest()


class Err(Exception):
    def __init__(self, status: int, message: str, errors: list | None = None, headers: dict | None = None):
        self.status, self.headers = status, headers or {}
        self.body: dict = {"message": message, "documentation_url": DOCS, "status": str(status)}
        if errors is not None:
            self.body["errors"] = errors


def invalid(
    resource: str, field_: str | None = None, message: str | None = None, code: str | None = None
) -> Err:
    e = {"resource": resource, "code": code or ("custom" if message else "invalid")}
    if field_:
        e["field"] = field_
    if message:
        e["message"] = message
    return Err(422, "Validation Failed", [e])


@dataclass
class Fault:
    """Misbehaves for the next `times` calls of `op`; when='after' acts first (the answer is lost)."""

    op: str
    kind: str = "status"  # status | drop | slow
    status: int = 502
    body: dict | str = field(default_factory=lambda: {"message": "Server Error"})
    headers: dict = field(default_factory=dict)
    when: str = "before"
    times: int = 1
    delay: float = 0.0


@dataclass
class Exchange:
    method: str
    path: str
    op: str | None
    request: Any
    status: int
    violations: list[str]
    headers: dict
    ms: float


class FakeGitHub:
    # a violation text containing one of these is accepted: (operation id, part of text, why)
    ALLOWED = (
        (
            "issues/add-labels",
            'is not of type "object"',
            "description 23.x dropped the bare array body, GitHub still takes it and PyGithub 2.10 sends it",
        ),
        ("issues/add-labels", "is not valid under any of the schemas listed in the 'oneOf'", "as above"),
        (
            "git/list-matching-refs",
            "undocumented query parameter 'per_page'",
            "PyGithub's PaginatedList adds per_page to every list once it differs from 30",
        ),
        (
            "pulls/list",
            'head/repo: null is not of type "object"',
            "GitHub answers null for a pull request whose fork was deleted; the description forgets it",
        ),
    )

    def __init__(
        self,
        full_name: str,
        *,
        token: str = "t0ken",
        default_branch: str = "main",
        actor: str = "github-actions[bot]",
    ):
        self.owner, self.name = full_name.split("/")
        self.full_name, self.token, self.default_branch, self.actor = full_name, token, default_branch, actor
        self.repo_id = 4242
        self.contracts = {
            c.api_version: c for c in (Contract(str(p)) for p in sorted(HERE.glob("openapi-*.json")))
        }
        self.blobs: dict[str, bytes] = {}
        self.trees: dict[str, dict[str, tuple[str, str, str]]] = {}  # sha -> {flat path: (mode, type, sha)}
        self.commits: dict[str, dict] = {}
        self.tags: dict[str, dict] = {}
        self.refs: dict[str, str] = {}
        self.pulls: list[dict] = []
        self.comments: list[dict] = []
        self.labels: dict[int, list[str]] = {}
        self.workflows: dict[
            str, dict
        ] = {}  # file name -> {"id", "inputs": {name: {"required", "type"}}, "dispatch": bool}
        self.dispatches: list[dict] = []
        self.runs: list[dict] = []
        self.private = False
        self.read_token: str | None = None  # a second token, which may only read
        self.permissions = {
            "contents": "write",
            "pull_requests": "write",
            "issues": "write",
            "actions": "write",
        }
        self.allow_actions_prs = True
        self.drafts_supported = True
        self.faults: list[Fault] = []
        self.exchanges: list[Exchange] = []
        self._lock = threading.RLock()

    # life cycle
    def __enter__(self):
        fake = self

        class Quiet(WSGIRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log(self, *a, **k):
                pass

        self._srv = make_server("127.0.0.1", 0, fake._wsgi, threaded=True, request_handler=Quiet)
        self.url = f"http://127.0.0.1:{self._srv.port}"
        self._thread = threading.Thread(
            target=self._srv.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._srv.shutdown()
        self._srv.server_close()
        self._thread.join(5)

    def assert_clean(self):
        bad = [f"{x.method} {x.path} ({x.op}): {v}" for x in self.exchanges for v in x.violations]
        assert not bad, "exchanges outside GitHub's OpenAPI description:\n" + "\n".join(bad)

    def calls(self, op: str) -> list[Exchange]:
        return [x for x in self.exchanges if x.op == op]

    def writes(self) -> list[Exchange]:
        """Every request that could change something, in order."""
        return [x for x in self.exchanges if x.method != "GET"]

    # git store
    def put_blob(self, data: bytes) -> str:
        sha = git_sha("blob", data)
        self.blobs[sha] = data
        return sha

    def put_tree(self, flat: dict[str, tuple[str, str, str]]) -> str:
        def write(prefix: str) -> str:
            direct, subs = {}, set()
            for p, e in flat.items():
                if p.startswith(prefix):
                    rest = p[len(prefix) :]
                    if "/" in rest:
                        subs.add(rest.split("/")[0])
                    else:
                        direct[rest] = e
            for s in subs:
                direct[s] = ("040000", "tree", write(prefix + s + "/"))
            raw = b""
            for n, (mode, _typ, sha) in sorted(
                direct.items(), key=lambda kv: kv[0] + ("/" if kv[1][1] == "tree" else "")
            ):
                raw += f"{mode.lstrip('0')} {n}".encode() + b"\0" + bytes.fromhex(sha)
            sha = git_sha("tree", raw)
            self.trees[sha] = {p[len(prefix) :]: e for p, e in flat.items() if p.startswith(prefix)}
            return sha

        return write("")

    def put_commit(
        self,
        tree: str,
        parents: list[str],
        message: str,
        author: dict | None = None,
        committer: dict | None = None,
    ) -> str:
        author = {"name": self.actor, "email": "bot@users.noreply.github.com", "date": WHEN, **(author or {})}
        committer = {**author, **(committer or {})}

        def who(w):
            seconds = calendar.timegm(time.strptime(w["date"][:19], "%Y-%m-%dT%H:%M:%S"))
            return f"{w['name']} <{w['email']}> {seconds} +0000"

        raw = (
            f"tree {tree}\n"
            + "".join(f"parent {p}\n" for p in parents)
            + f"author {who(author)}\ncommitter {who(committer)}\n\n{message}"
        )
        sha = git_sha("commit", raw.encode())
        self.commits[sha] = {
            "tree": tree,
            "parents": parents,
            "message": message,
            "author": author,
            "committer": committer,
        }
        return sha

    def seed_commit(self, files: dict[str, bytes], parents: Sequence[str] = (), message: str = "seed") -> str:
        return self.put_commit(
            self.put_tree({p: ("100644", "blob", self.put_blob(b)) for p, b in files.items()}),
            list(parents),
            message,
        )

    def seed_tag(self, name: str, target: str, *, annotated: bool = True, target_type: str = "commit") -> str:
        sha = target
        if annotated:
            sha = git_sha("tag", f"object {target}\ntype {target_type}\ntag {name}\n".encode())
            self.tags[sha] = {"tag": name, "object": (target_type, target)}
        self.refs[f"refs/tags/{name}"] = sha
        return sha

    def seed_pull(
        self,
        head_ref: str,
        head_sha: str,
        *,
        head_repo: str | None = "",
        state="open",
        merged=False,
        draft=False,
        base=None,
        title="pr",
    ) -> dict:
        pr = {
            "number": len(self.pulls) + 1,
            "head_repo": self.full_name if head_repo == "" else head_repo,
            "head_ref": head_ref,
            "head_sha": head_sha,
            "base": base or self.default_branch,
            "state": state,
            "merged": merged,
            "draft": draft,
            "title": title,
            "body": None,
            "head_owner": (head_repo or self.full_name).split("/")[0],
        }
        self.pulls.append(pr)
        return pr

    def ancestors(self, sha: str) -> set[str]:
        seen, todo = set(), [sha]
        while todo:
            s = todo.pop()
            if s not in seen:
                seen.add(s)
                todo += self.commits[s]["parents"]
        return seen

    def rev(self, name: str) -> str:
        for cand in (f"refs/heads/{name}", f"refs/tags/{name}", name):
            if cand in self.refs:
                sha = self.refs[cand]
                while sha in self.tags:
                    sha = self.tags[sha]["object"][1]
                return sha
        if name in self.commits:
            return name
        raise Err(404, "Not Found")

    # JSON shapes: only what matters; skeletons fill the rest
    @property
    def _r(self):
        return f"{self.url}/repos/{self.full_name}"

    def j_user(self, login):
        return {
            "login": login,
            "id": 1,
            "url": f"{self.url}/users/{quote(login)}",
            "type": "Bot" if login.endswith("[bot]") else "User",
        }

    def j_repo(self, full_name, **more):
        o, n = full_name.split("/")
        return {
            "id": self.repo_id if full_name == self.full_name else 9000 + len(full_name),
            "name": n,
            "full_name": full_name,
            "owner": self.j_user(o),
            "private": self.private,
            "fork": full_name != self.full_name,
            "default_branch": self.default_branch,
            "url": f"{self.url}/repos/{full_name}",
            "html_url": f"https://github.com/{full_name}",
            **more,
        }

    def j_ref(self, ref):
        sha = self.refs[ref]
        typ = "tag" if sha in self.tags else "commit"
        return {
            "ref": ref,
            "node_id": "R_1",
            "url": f"{self._r}/git/{ref}",
            "object": {"type": typ, "sha": sha, "url": f"{self._r}/git/{typ}s/{sha}"},
        }

    def j_gitcommit(self, sha):
        c = self.commits[sha]
        return {
            "sha": sha,
            "node_id": "C_1",
            "url": f"{self._r}/git/commits/{sha}",
            "message": c["message"],
            "author": c["author"],
            "committer": c["committer"],
            "html_url": f"https://github.com/{self.full_name}/commit/{sha}",
            "tree": {"sha": c["tree"], "url": f"{self._r}/git/trees/{c['tree']}"},
            "parents": [
                {
                    "sha": p,
                    "url": f"{self._r}/git/commits/{p}",
                    "html_url": f"https://github.com/{self.full_name}/commit/{p}",
                }
                for p in c["parents"]
            ],
            "verification": {
                "verified": False,
                "reason": "unsigned",
                "signature": None,
                "payload": None,
                "verified_at": None,
            },
        }

    def j_commit(self, sha):
        c = self.commits[sha]
        return {
            "sha": sha,
            "url": f"{self._r}/commits/{sha}",
            "commit": {
                "message": c["message"],
                "author": c["author"],
                "committer": c["committer"],
                "tree": {"sha": c["tree"], "url": f"{self._r}/git/trees/{c['tree']}"},
            },
            "parents": [{"sha": p, "url": f"{self._r}/commits/{p}"} for p in c["parents"]],
        }

    def j_tree(self, sha):
        return {
            "sha": sha,
            "url": f"{self._r}/git/trees/{sha}",
            "truncated": False,
            "tree": [
                {
                    "path": p,
                    "mode": m,
                    "type": t,
                    "sha": s,
                    "size": len(self.blobs.get(s, b"")),
                    "url": f"{self._r}/git/{t}s/{s}",
                }
                for p, (m, t, s) in sorted(self.trees[sha].items())
            ],
        }

    def j_pull(self, pr, full):
        n = pr["number"]
        u = f"{self._r}/pulls/{n}"
        head_repo = pr["head_repo"] and self.j_repo(pr["head_repo"])
        d = {
            "number": n,
            "id": 1000 + n,
            "url": u,
            "html_url": f"https://github.com/{self.full_name}/pull/{n}",
            "issue_url": f"{self._r}/issues/{n}",
            "comments_url": f"{self._r}/issues/{n}/comments",
            "state": pr["state"],
            "title": pr["title"],
            "body": pr["body"],
            "draft": pr["draft"],
            "user": self.j_user(self.actor),
            "merged_at": WHEN if pr["merged"] else None,
            "closed_at": None if pr["state"] == "open" else WHEN,
            "labels": [{"id": i, "name": x} for i, x in enumerate(self.labels.get(n, []), 1)],
            "head": {
                "label": f"{pr['head_owner']}:{pr['head_ref']}",
                "ref": pr["head_ref"],
                "sha": pr["head_sha"],
                "repo": head_repo,
                "user": self.j_user(pr["head_owner"]),
            },
            "base": {
                "label": f"{self.owner}:{pr['base']}",
                "ref": pr["base"],
                "sha": self.refs.get(f"refs/heads/{pr['base']}", "0" * 40),
                "repo": self.j_repo(self.full_name),
                "user": self.j_user(self.owner),
            },
            "_links": {
                k: {"href": u}
                for k in (
                    "comments",
                    "commits",
                    "statuses",
                    "html",
                    "issue",
                    "review_comments",
                    "review_comment",
                    "self",
                )
            },
        }
        if full:
            d["merged"] = pr["merged"]
        return d

    # Operations: op_<id with non-letters as _>(p, q, b) -> (status, json|None[, headers])
    def need(self, what):
        if self.permissions.get(what) != "write":
            raise Err(403, "Resource not accessible by integration")

    def op_repos_get(self, p, q, b):
        return 200, self.j_repo(self.full_name, permissions={"admin": False, "push": True, "pull": True})

    def op_git_get_ref(self, p, q, b):
        ref = "refs/" + p["ref"]
        if ref not in self.refs:
            raise Err(404, "Not Found")
        return 200, self.j_ref(ref)

    def op_git_list_matching_refs(self, p, q, b):  # prefix match, [] when nothing matches
        return 200, [self.j_ref(r) for r in sorted(self.refs) if r.startswith("refs/" + p["ref"])]

    def op_git_get_tag(self, p, q, b):
        t = self.tags.get(p["tag_sha"])
        if t is None:
            raise Err(404, "Not Found")
        typ, sha = t["object"]
        return 200, {
            "tag": t["tag"],
            "sha": p["tag_sha"],
            "url": f"{self._r}/git/tags/{p['tag_sha']}",
            "message": t["tag"],
            "tagger": {"name": "a", "email": "a@b.c", "date": WHEN},
            "object": {"type": typ, "sha": sha, "url": f"{self._r}/git/{typ}s/{sha}"},
        }

    def op_git_get_commit(self, p, q, b):
        if p["commit_sha"] not in self.commits:
            raise Err(404, "Not Found")
        return 200, self.j_gitcommit(p["commit_sha"])

    def op_git_get_tree(self, p, q, b):
        sha = p["tree_sha"] if p["tree_sha"] in self.trees else self.commits[self.rev(p["tree_sha"])]["tree"]
        return 200, self.j_tree(sha)

    def op_git_get_blob(self, p, q, b):
        data = self.blobs.get(p["file_sha"])
        if data is None:
            raise Err(404, "Not Found")
        content = base64.b64encode(data).decode()
        return 200, {
            "sha": p["file_sha"],
            "node_id": "B_1",
            "size": len(data),
            "encoding": "base64",
            "content": content,
            "url": f"{self._r}/git/blobs/{p['file_sha']}",
        }

    def seed_run(self, workflow, *, title="run", head_sha=None, status="completed", conclusion="success"):
        """A run of a workflow."""
        run = {
            "id": 7000 + len(self.runs) + 1,
            "workflow": workflow,
            "title": title,
            "status": status,
            "head_sha": head_sha or self.refs[f"refs/heads/{self.default_branch}"],
            "conclusion": conclusion if status == "completed" else None,
        }
        self.runs.append(run)
        return run

    def op_actions_list_workflow_runs(self, p, q, b):
        name, workflow = self.find_workflow(p["workflow_id"])
        found = [
            r
            for r in reversed(self.runs)
            if r["workflow"] == name and q.get("head_sha", r["head_sha"]) == r["head_sha"]
        ]

        def shown(r):
            return {
                "id": r["id"],
                "display_title": r["title"],
                "status": r["status"],
                "conclusion": r["conclusion"],
                "head_sha": r["head_sha"],
                "html_url": f"https://github.com/{self.full_name}/actions/runs/{r['id']}",
                "workflow_id": workflow["id"],
                "event": "workflow_dispatch",
                "head_branch": self.default_branch,
            }

        status, rows, *more = self.page(found, q, f"actions/workflows/{p['workflow_id']}/runs", shown)
        return status, {"total_count": len(found), "workflow_runs": rows}, *more

    def op_repos_compare_commits(self, p, q, b):
        base, head = self.rev(p["base"]), self.rev(p["head"])
        A, B = self.ancestors(base), self.ancestors(head)
        if not A & B:
            raise Err(404, f"No common ancestor between {p['base']} and {p['head']}.")
        ahead, behind = B - A, A - B
        status = (
            "identical"
            if not ahead and not behind
            else "ahead"
            if not behind
            else "behind"
            if not ahead
            else "diverged"
        )
        mb = max(A & B, key=lambda s: len(self.ancestors(s)))
        return 200, {
            "url": f"{self._r}/compare/{p['base']}...{p['head']}",
            "status": status,
            "ahead_by": len(ahead),
            "behind_by": len(behind),
            "total_commits": len(ahead),
            "base_commit": self.j_commit(base),
            "merge_base_commit": self.j_commit(mb),
            "commits": [self.j_commit(s) for s in ahead],
            "files": [],
        }

    def op_pulls_list(self, p, q, b):
        state, head = q.get("state", "open"), q.get("head", "")
        out = [x for x in self.pulls if state in ("all", x["state"])]
        if ":" in head:  # as GitHub does: a filter without "user:" is ignored, everything comes back
            user, _, ref = head.partition(":")
            out = [x for x in out if x["head_owner"].lower() == user.lower() and x["head_ref"] == ref]
        if q.get("base"):
            out = [x for x in out if x["base"] == q["base"]]
        return self.page(sorted(out, key=lambda x: -x["number"]), q, "pulls", lambda x: self.j_pull(x, False))

    def page(self, items, q, tail, conv):
        n, k = min(int(q.get("per_page", 30)), 100), int(q.get("page", 1))
        last = max(1, -(-len(items) // n))

        def link(i):
            return f"<{self.url}/repositories/{self.repo_id}/{tail}?{urlencode({**q, 'page': i})}>"

        rels = ([(k - 1, "prev")] if k > 1 else []) + ([(k + 1, "next"), (last, "last")] if k < last else [])
        return (
            200,
            [conv(x) for x in items[(k - 1) * n : k * n]],
            ({"Link": ", ".join(f'{link(i)}; rel="{r}"' for i, r in rels)} if rels else {}),
        )

    def find_pull(self, n):
        for x in self.pulls:
            if x["number"] == int(n):
                return x
        raise Err(404, "Not Found")

    def op_pulls_get(self, p, q, b):
        return 200, self.j_pull(self.find_pull(p["pull_number"]), True)

    def op_issues_get(self, p, q, b):
        pr = self.find_pull(p["issue_number"])
        return 200, {
            "number": pr["number"],
            "title": pr["title"],
            "state": pr["state"],
            "url": f"{self._r}/issues/{pr['number']}",
        }

    def op_git_create_blob(self, p, q, b):
        self.need("contents")
        enc = b.get("encoding", "utf-8")
        if enc not in ("utf-8", "base64"):
            raise invalid("Blob", "encoding")
        try:
            data = base64.b64decode(b["content"], validate=True) if enc == "base64" else b["content"].encode()
        except ValueError:
            raise Err(422, "content is not valid Base64") from None
        sha = self.put_blob(data)
        return 201, {"sha": sha, "url": f"{self._r}/git/blobs/{sha}"}

    def op_git_create_tree(self, p, q, b):
        self.need("contents")
        flat = {}
        if b.get("base_tree"):
            base = b["base_tree"]
            base = (
                base if base in self.trees else self.commits.get(base, {}).get("tree")
            )  # GitHub takes a commit sha here too
            if base is None:
                raise Err(422, "Invalid tree info")
            flat = dict(self.trees[base])
        for e in b["tree"]:
            path = e["path"]
            if (
                path.startswith("/")
                or ".." in path.split("/")
                or ".git" in path.split("/")
                or "" in path.split("/")
            ):
                raise Err(422, "tree.path contains a malformed path component")
            if "content" in e and "sha" in e:
                raise Err(422, "Must supply either tree.sha or tree.content, not both")
            if "content" in e:
                flat[path] = (e["mode"], "blob", self.put_blob(e["content"].encode()))
            elif e["sha"] is None:
                flat.pop(path, None)
            elif e["sha"] not in self.blobs:
                raise Err(422, f"tree.sha {e['sha']} is not a valid blob")
            else:
                flat[path] = (e["mode"], e["type"], e["sha"])
        return 201, self.j_tree(self.put_tree(flat))

    def op_git_create_commit(self, p, q, b):
        self.need("contents")
        if b["tree"] not in self.trees:
            raise Err(422, "Tree SHA does not exist")
        for x in b.get("parents", []):
            if x not in self.commits:
                raise Err(422, "Parent SHA does not exist or is not a commit object")
        return 201, self.j_gitcommit(
            self.put_commit(
                b["tree"], b.get("parents", []), b["message"], b.get("author"), b.get("committer")
            )
        )

    def op_git_create_ref(self, p, q, b):
        self.need("contents")
        ref = b["ref"]
        if not ref.startswith("refs/") or ref.count("/") < 2:
            raise Err(422, "Reference name must start with 'refs/' and have at least two slashes.")
        if ref in self.refs:
            raise Err(422, "Reference already exists")
        if b["sha"] not in self.commits and b["sha"] not in self.tags:
            raise Err(422, "Object does not exist")
        if any(r.startswith(ref + "/") or ref.startswith(r + "/") for r in self.refs):
            raise Err(
                422, "Reference update failed"
            )  # directory/file conflict, e.g. a branch called "benchmark"
        self.refs[ref] = b["sha"]
        return 201, self.j_ref(ref)

    def op_git_delete_ref(self, p, q, b):
        self.need("contents")
        if self.refs.pop("refs/" + p["ref"], None) is None:
            raise Err(422, "Reference does not exist")
        return 204, None

    def op_pulls_create(self, p, q, b):
        if not self.allow_actions_prs and self.actor == "github-actions[bot]":
            raise Err(403, "GitHub Actions is not permitted to create or approve pull requests.")
        self.need("pull_requests")
        if b.get("draft") and not self.drafts_supported:
            raise Err(422, "Draft pull requests are not supported in this repository.")
        if len(b.get("title", "")) > 256:
            raise invalid("Issue", "title", "title is too long (maximum is 256 characters)")
        if len(b.get("body") or "") > 65536:
            raise invalid(
                "Issue", "body", "body is too long (maximum is 65536 characters)"
            )  # renovatebot/renovate#2032
        owner, _, ref = b["head"].rpartition(":")
        if owner not in ("", self.owner) or f"refs/heads/{ref}" not in self.refs:
            raise invalid("PullRequest", "head")
        if f"refs/heads/{b['base']}" not in self.refs:
            raise invalid("PullRequest", "base")
        head_sha = self.refs[f"refs/heads/{ref}"]
        if head_sha in self.ancestors(self.refs[f"refs/heads/{b['base']}"]):
            raise invalid("PullRequest", None, f"No commits between {b['base']} and {ref}")
        for x in self.pulls:
            if x["state"] == "open" and (x["head_repo"], x["head_ref"], x["base"]) == (
                self.full_name,
                ref,
                b["base"],
            ):
                raise invalid("PullRequest", None, f"A pull request already exists for {self.owner}:{ref}.")
        pr = self.seed_pull(
            ref, head_sha, draft=b.get("draft", False), base=b["base"], title=b.get("title", "")
        )
        pr["body"] = b.get("body")
        return 201, self.j_pull(pr, True)

    def op_issues_create_comment(self, p, q, b):
        self.need("issues")
        self.find_pull(p["issue_number"])
        if len(b["body"]) > 65536:
            raise invalid(
                "IssueComment", "data", "Body is too long (maximum is 65536 characters)", "unprocessable"
            )  # telia-oss/github-pr-resource#259
        self.comments.append({"issue": int(p["issue_number"]), "body": b["body"]})
        return 201, {
            "id": len(self.comments),
            "body": b["body"],
            "url": f"{self._r}/issues/comments/{len(self.comments)}",
            "user": self.j_user(self.actor),
        }

    def op_issues_add_labels(self, p, q, b):
        self.need("issues")
        n = self.find_pull(p["issue_number"])["number"]
        names = b["labels"] if isinstance(b, dict) else b
        have = self.labels.setdefault(n, [])
        have += [x for x in names if x not in have]
        return 200, [
            {"id": i, "name": x, "url": f"{self._r}/labels/{quote(x)}"} for i, x in enumerate(have, 1)
        ]

    def find_workflow(self, key):
        for f, w in self.workflows.items():
            if key in (f, str(w["id"])):
                return f, w
        raise Err(404, "Not Found")

    def op_actions_get_workflow(self, p, q, b):
        f, w = self.find_workflow(p["workflow_id"])
        return 200, {
            "id": w["id"],
            "name": f,
            "path": f".github/workflows/{f}",
            "state": "active",
            "url": f"{self._r}/actions/workflows/{w['id']}",
        }

    def op_actions_create_workflow_dispatch(self, p, q, b):
        self.need("actions")
        f, w = self.find_workflow(p["workflow_id"])
        if (
            f"refs/heads/{b['ref'].removeprefix('refs/heads/')}" not in self.refs
            and f"refs/tags/{b['ref'].removeprefix('refs/tags/')}" not in self.refs
        ):
            raise Err(422, f"No ref found for: {b['ref']}")
        if not w.get("dispatch", True):
            raise Err(422, "Workflow does not have 'workflow_dispatch' trigger")
        given = b.get("inputs") or {}
        extra = [k for k in given if k not in w["inputs"]]
        if extra:
            raise Err(422, f"Unexpected inputs provided: {json.dumps(extra)}")
        for k, v in w["inputs"].items():
            if v.get("required") and k not in given and "default" not in v:
                raise Err(422, f"Required input '{k}' not provided")
        self.dispatches.append({"workflow": f, "ref": b["ref"], "inputs": given})
        title = w.get("run_name", lambda inputs: "run")(given)
        self.seed_run(f, title=title, status="queued")
        if b.get("return_run_details") or self._version >= "2026-03-10":
            i = 7000 + len(self.dispatches)
            return 200, {
                "workflow_run_id": i,
                "run_url": f"{self._r}/actions/runs/{i}",
                "html_url": f"https://github.com/{self.full_name}/actions/runs/{i}",
            }
        return 204, None

    # wire
    def _wsgi(self, environ, start):  # noqa: C901
        t0 = time.perf_counter()
        raw = environ.get("RAW_URI") or environ["REQUEST_URI"]
        path, _, query = raw.partition("?")
        path = path.replace(f"/repositories/{self.repo_id}/", f"/repos/{self.full_name}/", 1)
        n = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(n) if n else b""
        hdr = {k[5:].replace("_", "-").lower(): v for k, v in environ.items() if k.startswith("HTTP_")}
        method, ctype = environ["REQUEST_METHOD"], environ.get("CONTENT_TYPE", "")
        with self._lock:
            self._version = hdr.get("x-github-api-version", "2022-11-28")
            contract = self.contracts.get(self._version)
            violations, op, params, parsed = [], None, {}, None
            headers = {
                "Content-Type": "application/json; charset=utf-8",
                "X-GitHub-Api-Version-Selected": self._version,
                "X-RateLimit-Limit": "5000",
                "X-RateLimit-Remaining": "4999",
                "X-RateLimit-Reset": "1893456000",
                "X-GitHub-Request-Id": "FAKE:1",
            }
            drop, delay = False, 0.0
            try:
                if contract is None:
                    contract = self.contracts["2022-11-28"]
                    raise Err(400, f"'{self._version}' is not a supported API version.")
                op, params = contract.match(method, path)
                if op is None:
                    violations.append("no such operation in the slice")
                    raise Err(404, "Not Found")
                if "user-agent" not in hdr:
                    raise Err(
                        403,
                        "Request forbidden by administrative rules. Send a User-Agent header",
                    )
                violations += contract.check_request(op, params, query, ctype, body)
                parsed = json.loads(body) if body else None
                auth = hdr.get("authorization", "")
                reading = self.read_token is not None and auth.endswith(f" {self.read_token}")
                if reading and method != "GET":
                    raise Err(403, "Resource not accessible by integration")
                if not reading and auth not in (f"token {self.token}", f"Bearer {self.token}"):
                    raise Err(401, "Bad credentials" if auth else "Requires authentication")
                if (params.get("owner"), params.get("repo")) != (self.owner, self.name):
                    raise Err(404, "Not Found")
                fault = next((f for f in self.faults if f.op == op.id and f.times > 0), None)
                if fault:
                    fault.times -= 1
                    delay = fault.delay

                def handle():
                    h = getattr(self, "op_" + op.id.replace("/", "_").replace("-", "_"), None)
                    if h is None:
                        raise Err(501, f"{op.id} is not faked")
                    return h(params, dict(parse_qsl(query)), parsed)

                if fault and fault.kind != "slow":
                    if fault.when == "after":
                        handle()
                    drop = fault.kind == "drop"
                    status, out, more = fault.status, fault.body, dict(fault.headers)
                else:
                    status, out, *more = handle()
                    more = more[0] if more else {}
                    if out is not None:
                        out = contract.fill(op.id, status, out, self.url)
                headers.update(more)
            except Err as e:
                status, out = e.status, e.body
                headers.update(e.headers)
            data = b"" if out is None else out.encode() if isinstance(out, str) else json.dumps(out).encode()
            if op is not None and contract is not None and not drop and status < 500:
                violations += contract.check_response(op, status, headers["Content-Type"], data)
            violations = [
                v
                for v in violations
                if not any(op and o == op.id and part in v for o, part, _ in self.ALLOWED)
            ]
            self.exchanges.append(
                Exchange(
                    method,
                    raw,
                    op.id if op else None,
                    parsed,
                    0 if drop else status,
                    violations,
                    hdr,
                    (time.perf_counter() - t0) * 1000,
                )
            )
        if delay:
            time.sleep(delay)
        if drop:
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionError("dropped on purpose")  # werkzeug swallows it
        headers["Content-Length"] = str(len(data))
        if status == 204:
            headers.pop("Content-Type")
            headers.pop("Content-Length")
        start(f"{status} X", list(headers.items()))
        return [data]
