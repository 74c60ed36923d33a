"""Last step of the image's build stage: write the commit, drop what no run needs, compile the rest.

finish.py [COMMIT]
"""

from __future__ import annotations

import compileall
import json
import re
import shutil
import sys
import sysconfig
from pathlib import Path

SITE = Path(sysconfig.get_path("purelib"))
# Test suites of the libraries, and pip itself: an image is never installed into.
UNUSED = ("numpy/**/tests", "scipy/**/tests", "pip", "pip-*.dist-info", "**/*.pyi", "**/*.pxd", "**/include")


def main(commit: str) -> None:
    """Finish the environment that this interpreter belongs to."""
    if commit:
        if not re.fullmatch(r"[0-9a-f]{40}", commit):
            raise SystemExit("SOURCE_COMMIT must be 40 lower-case hex digits")
        record = {"commit": commit, "dirty": False}
        (SITE / "discovercall" / "_build.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
    for pattern in UNUSED:
        for path in sorted(SITE.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    compileall.compile_dir(SITE, quiet=2)


main(sys.argv[1] if len(sys.argv) > 1 else "")
