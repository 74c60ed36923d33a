#!/usr/bin/env python3
"""An adapter that looks for the catalog key wherever a process can look, and reports where it found it.

Arguments: the report file, the SHA-256 of the key (so that it doesn't hold the key itself), the length.
"""

import hashlib
import json
import os
import sys

report, digest, length = sys.argv[1], sys.argv[2], int(sys.argv[3])
request = json.load(sys.stdin)
found: list[str] = []


def holds_key(data: bytes) -> bool:
    # The key starts with a known prefix, so that candidates are few.
    start = data.find(b"qv-secret-")
    while start >= 0:
        if hashlib.sha256(data[start : start + length]).hexdigest() == digest:
            return True
        start = data.find(b"qv-secret-", start + 1)
    return False


def look(kind: str, path: str, limit: int = 1 << 24) -> None:
    try:
        with open(path, "rb") as stream:
            if holds_key(stream.read(limit)):
                found.append(kind)
    except (OSError, ValueError):
        pass


def memory(pid: str) -> None:
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
            for line in maps:
                span, modes = line.split()[:2]
                first, last = (int(part, 16) for part in span.split("-"))
                if modes.startswith("rw") and last - first < 1 << 26:
                    mem.seek(first)
                    if holds_key(mem.read(last - first)):
                        found.append("memory")
                        return
    except (OSError, ValueError):
        pass


look("own environment", "/proc/self/environ")
parent = str(os.getppid())
memory(parent)
for pid in filter(str.isdigit, os.listdir("/proc")):
    if pid == str(os.getpid()):
        continue
    look("environ", f"/proc/{pid}/environ")
    try:
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            if os.path.isfile(f"/proc/{pid}/fd/{descriptor}"):
                look("descriptor", f"/proc/{pid}/fd/{descriptor}")
    except OSError:
        pass
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            arguments = stream.read().split(b"\0")
    except OSError:
        continue
    for argument in arguments:
        for text in {argument, argument.partition(b"=")[2]}:
            path = os.fsdecode(text)
            if path.startswith("/") and os.path.isfile(path):
                look("command line path", path)
            folder = os.path.dirname(path)
            if pid == parent and path.startswith("/") and os.path.isdir(folder):
                for name in os.listdir(folder)[:200]:
                    if os.path.isfile(os.path.join(folder, name)):
                        look("folder of a command line path", os.path.join(folder, name), 1 << 20)
for descriptor in os.listdir("/proc/self/fd"):
    if int(descriptor) > 2:
        look("inherited descriptor", f"/proc/self/fd/{descriptor}")
with open(report, "a") as log:
    log.write(json.dumps({"stage": request["stage"], "found": sorted(set(found))}) + "\n")
if request["stage"] == "select":
    print(json.dumps({"tool_id": request["input"]["discovery"]["results"][0]["tool_id"]}))
else:
    print(json.dumps({"parameters": {}}))
