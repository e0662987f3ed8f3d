"""compute-sanitizer over every program of tests/python/programs_on_device.py, on a machine with an NVIDIA GPU and CUDA's tools.

    python tools/dev/sanitize.py [--tools memcheck,racecheck,initcheck] [--processes 6] [--seconds 500] [--out FILE]

The programs are run once alone (which compiles their kernels), then under each tool, shared out among processes. Prints what each tool
said and, last, one JSON object; the exit status is 1 if a program fails, a tool finds an error or the time is over.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(ROOT, "tests", "python", "programs_on_device.py")
SUMMARY = re.compile(r"(\d+) passed, (\d+) failed")
ERRORS = re.compile(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard")


def names():
    found = subprocess.run([sys.executable, PROGRAMS, "--list"], capture_output=True, text=True, check=True)
    return found.stdout.split()


def run_shared(command, programs, processes, seconds):
    """The outputs of the command over the programs, a share of them for each process; what is over time is cut off."""
    begin = time.monotonic()
    running, files, outputs = [], [], []
    for k in range(min(processes, len(programs))):
        files.append(tempfile.TemporaryFile("w+"))
        running.append(subprocess.Popen([*command, sys.executable, PROGRAMS, *programs[k::processes]], stdout=files[-1], stderr=subprocess.STDOUT, start_new_session=True))
    for process, file in zip(running, files, strict=True):
        try:
            process.wait(max(1, seconds - (time.monotonic() - begin)))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the tool and the program that it runs
            process.wait()
        file.seek(0)
        outputs.append(file.read())
    return outputs, time.monotonic() - begin


def judge(outputs, tool):
    passed = sum(text.count("\nok ") + text.startswith("ok ") for text in outputs)
    failed = sum(text.count("\nFAIL ") + text.startswith("FAIL ") for text in outputs)
    found = [int(m[1] or m[2]) for text in outputs for m in ERRORS.finditer(text)]
    complete = all(SUMMARY.search(text) for text in outputs) and (tool is None or len(found) == len(outputs))
    return dict(passed=passed, failed=failed, errors=sum(found), complete=complete)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", default="memcheck,racecheck,initcheck")
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=500, help="of each tool")
    parser.add_argument("--out", help="file for the JSON object")
    options = parser.parse_args()
    programs = names()
    result = {"programs": len(programs)}
    for tool in [None, *options.tools.split(",")]:
        command = ["compute-sanitizer", "--tool", tool, "--launch-timeout", "600"] if tool else []
        outputs, seconds = run_shared(command, programs, options.processes, options.seconds)
        verdict = judge(outputs, tool)
        result[tool or "alone"] = dict(verdict, seconds=round(seconds))
        if verdict["failed"] or verdict["errors"] or not verdict["complete"]:
            print(f"---- {tool or 'alone'}", *(text[-3000:] for text in outputs), sep="\n")
    text = json.dumps(result)
    if options.out:
        with open(options.out, "w") as file:
            file.write(text + "\n")
    print(text)
    return 0 if all(isinstance(v, int) or (v["complete"] and not v["failed"] and not v["errors"]) for v in result.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
