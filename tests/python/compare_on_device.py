"""Run by hand on a machine with a GPU: what the tests compare with eager on a CPU, there, in several processes.

    python tests/python/compare_on_device.py ops [--samples N] [NAME...]       PyTorch's sample database (test_opinfo.py)
    python tests/python/compare_on_device.py programs [FIRST:COUNT]            random programs (test_random_programs.py)

A line for each op or program that fails; the last line counts. Ops that draw numbers in generated code are left out, theirs are not
eager's, and so are integers divided by zero.
"""

import argparse
import json
import os
import subprocess
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
NOT_COMPARABLE = {
    "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.alpha_dropout",
    "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "__rmod__",
}  # fmt: skip


def op_failures(names):
    import test_opinfo

    for name in [n for n in test_opinfo.NAMES if (n in names if names else n not in NOT_COMPARABLE)]:
        yield name, lambda name=name: test_opinfo.failures_of(name)


def program_failures(shard, shards, seeds):
    import test_random_programs
    import torch

    torch.set_default_device("cuda")
    first, _, count = (seeds or ["0:600"])[0].partition(":")
    for seed in range(int(first) + shard, int(first) + int(count), shards):
        yield f"program {seed}", lambda seed=seed: ([failure] if (failure := test_random_programs.failure(seed)) else [], 1)


def run_shard(what, shard, shards, names):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[shard % len(cores)], cores[(shard + 1) % len(cores)]})  # as many compiler processes
    sys.path.insert(0, HERE)
    from litz import backend

    backend._prepare({"cuda"})
    for name, compare in op_failures(names) if what == "ops" else program_failures(shard, shards, names):
        try:
            failures, ran = compare()
        except Exception:
            failures, ran = [traceback.format_exc()[-700:]], 0
        print("CASE " + json.dumps([name, ran, failures]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["ops", "programs"])
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 1) - 1))
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--out", help="a JSON file for everything that failed")
    parser.add_argument("--shard", type=int, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.shard is not None:
        return run_shard(options.what, options.shard, options.processes, options.names)
    children = []
    for k in range(options.processes):
        environment = dict(
            os.environ, LITZ_OPINFO=f"{options.samples}:{k}/{options.processes}", LITZ_OPINFO_DEVICE="cuda", PYTHONWARNINGS="ignore")
        command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--processes", str(options.processes), "--shard", str(k)]
        children.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment))
    results, ends = {}, []
    for child in children:
        output, _ = child.communicate()
        for line in output.splitlines():
            if line.startswith("CASE "):
                name, ran, failures = json.loads(line[5:])
                results[name] = dict(ran=ran, failures=failures)
        if child.returncode:
            ends.append(output[-1500:])
    wrong = {name: row for name, row in results.items() if row["failures"]}
    for name, row in sorted(wrong.items()):
        print(f"FAIL {name}: {row['failures'][0][:600]}")
    for end in ends:
        print(f"a process ended early: {end}")
    if options.out:
        with open(options.out, "w") as file:
            json.dump(wrong, file, indent=1)
    print(f"{len(results)} compared, {sum(row['ran'] for row in results.values())} samples, {len(wrong)} wrong, {len(ends)} processes ended early")
    return 1 if wrong or ends else 0


if __name__ == "__main__":
    sys.exit(main())
