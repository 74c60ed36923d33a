"""Runs the cadence workflow as a whole with act, in self-hosted mode, against a fake GitHub."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cadence.checkout import REPOSITORY, Checkout
from tests.support.github.fake_github import FakeGitHub

WORKFLOW = ".github/workflows/discover-call-cadence.yml"
# Stand-ins for the actions that need GitHub itself. The checkout persists its token unless it is told not
# to, as the real one does.
_STUBS = {
    "actions/checkout": """
        git clone --quiet "$SOURCE" "$GITHUB_WORKSPACE/checked-out"
        cp -a "$GITHUB_WORKSPACE/checked-out/." "$GITHUB_WORKSPACE/" && rm -rf "$GITHUB_WORKSPACE/checked-out"
        git -C "$GITHUB_WORKSPACE" checkout --quiet "$REF"
        if [ "$PERSIST" != false ]; then
          git -C "$GITHUB_WORKSPACE" config http.extraheader "AUTHORIZATION: $TOKEN"
        fi""",
    "actions/upload-artifact": """
        mkdir -p "$ARTIFACTS/$NAME" && cp -a "$WHERE"/. "$ARTIFACTS/$NAME"/""",
    "actions/download-artifact": """
        mkdir -p "$WHERE" && cp -a "$ARTIFACTS/$NAME"/. "$WHERE"/""",
}
_STUB = """name: stub
description: stands in for an action that needs GitHub
inputs:
  name: {{description: n}}
  path: {{description: p}}
  ref: {{description: r}}
  persist-credentials: {{description: p, default: "true"}}
  if-no-files-found: {{description: i}}
  retention-days: {{description: r}}
runs:
  using: composite
  steps:
    - shell: bash
      env:
        NAME: ${{{{ inputs.name }}}}
        WHERE: ${{{{ inputs.path }}}}
        REF: ${{{{ inputs.ref }}}}
        PERSIST: ${{{{ inputs.persist-credentials }}}}
        TOKEN: ${{{{ github.token }}}}
      run: |{script}
"""


@dataclass(frozen=True)
class Done:
    """What a run of the workflow left."""

    code: int
    log: str
    artifacts: Path


def act() -> str | None:
    """The program act, beside this interpreter or on PATH."""
    beside = Path(sys.executable).parent / "act"
    return str(beside) if beside.is_file() else shutil.which("act")


def run_workflow(
    checkout: Checkout,
    gh: FakeGitHub,
    scratch: Path,
    inputs: dict[str, str],
    secrets: dict[str, str],
    *,
    prefix: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
) -> Done:
    """Dispatch the workflow of a checkout.

    Args:
        inputs: of `workflow_dispatch`.
        secrets: by name; they go by a file, never on a command line.
        prefix: a command that runs act, as one with a Docker engine.
    """
    program = act()
    assert program is not None
    artifacts = scratch / "artifacts"
    artifacts.mkdir(parents=True, exist_ok=True)
    stubs = []
    text = (checkout.root / WORKFLOW).read_text()
    for name, script in _STUBS.items():
        pinned = next(
            line.split("uses: ")[1].split(" ")[0] for line in text.splitlines() if f"{name}@" in line
        )
        stubs += ["--local-repository", f"{pinned}={_stub(scratch / name.replace('/', '-'), script)}"]
    secret_file = scratch / "secrets"
    secret_file.write_text("".join(f"{name}={value}\n" for name, value in secrets.items()))
    secret_file.chmod(0o600)
    given = [part for name, value in inputs.items() for part in ("--input", f"{name}={value}")]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "QVERIS_"))}
    done = subprocess.run(
        [
            *prefix, program, "workflow_dispatch", "-W", WORKFLOW, "-P", "ubuntu-24.04=-self-hosted",
            "--pull=false", "--action-offline-mode", "--no-cache-server", *(
                () if prefix else ("--container-daemon-socket", "-")
            ),
            "--secret-file", str(secret_file), "--env", f"GITHUB_API_URL={gh.url}",
            "--env", f"ARTIFACTS={artifacts}", "--env", f"SOURCE={checkout.root}", *stubs, *given,
        ],
        cwd=checkout.root,
        env={**kept, "XDG_CACHE_HOME": str(scratch / "cache"), "NO_PROXY": "127.0.0.1", **(env or {})},
        capture_output=True,
        text=True,
        timeout=1500,
    )  # fmt: skip
    return Done(done.returncode, done.stdout + done.stderr, artifacts)


def add_workflow(checkout: Checkout, *, dockerfile: str | None = None) -> Checkout:
    """A checkout that also holds the workflow and the action, as a commit with a remote.

    Args:
        dockerfile: instead of the real one.
    """
    from tests.cadence.checkout import GIT, ROOT, head

    shutil.copytree(ROOT / ".github", checkout.root / ".github", dirs_exist_ok=True)
    for name in ("action.yml", ".dockerignore", "LICENSE", "README.md", "THIRD_PARTY_NOTICES.md"):
        shutil.copy2(ROOT / name, checkout.root / name)
    if dockerfile is not None:
        (checkout.root / "Dockerfile").write_text(dockerfile)
    for command in (
        ["remote", "add", "origin", f"https://github.com/{REPOSITORY}.git"],
        ["add", "-A"],
        ["commit", "-q", "-m", "Release"],
    ):
        subprocess.run([*GIT, "-C", str(checkout.root), *command], check=True)
    return Checkout(checkout.root, head(checkout.root))


def _stub(folder: Path, script: str) -> Path:
    from tests.cadence.checkout import GIT

    folder.mkdir()
    (folder / "action.yml").write_text(_STUB.format(script=script))
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "stub"]):
        subprocess.run([*GIT, "-C", str(folder), *command], check=True)
    return folder
