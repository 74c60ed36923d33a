"""An adapter that does what a JSON file says. It is a program of its own: `scripted_adapter.py SCRIPT`.

The script maps a stage, or "TASK/STAGE", or "TASK/TRIAL/STAGE" to an act: {"answer": VALUE} (the default for
"select" is the first result), {"raw": TEXT}; with these "stderr", "exit", "sleep_s", "spawn" (a child that
outlives it), "ignore_term". Requests and environment are appended to the file under "log", if there is one.
"""

import json
import os
import signal
import subprocess
import sys
import time


def main():
    with open(sys.argv[1], encoding="utf-8") as stream:
        script = json.load(stream)
    request = json.loads(sys.stdin.buffer.read())
    stage, task = request["stage"], request["input"]["task_id"]
    if script.get("log"):
        line = json.dumps({"request": request, "environment": dict(os.environ), "argv": sys.argv[1:]}) + "\n"
        descriptor = os.open(script["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, line.encode())
        os.close(descriptor)
    names = (f"{task}/{request['trial']}/{stage}", f"{task}/{stage}", stage)
    act: dict = next((script[name] for name in names if name in script), {})
    if act.get("ignore_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if act.get("spawn"):
        subprocess.Popen(["/bin/sleep", "600"], stdin=subprocess.DEVNULL)
    time.sleep(act.get("sleep_s", 0))
    sys.stderr.write(act.get("stderr", ""))
    sys.stderr.flush()
    if "raw" in act:
        sys.stdout.write(act["raw"])
    else:
        sys.stdout.write(json.dumps(act.get("answer", usual(stage, request))))
    sys.stdout.flush()
    os._exit(act.get("exit", 0))


def usual(stage, request):
    if stage == "parameterize":
        return {"parameters": {"city": "London"}}
    results = request["input"]["discovery"]["results"]
    return {"tool_id": results[0]["tool_id"] if results else None}


if __name__ == "__main__":
    main()
