"""What the scripts that run on a device share: checks by name, a line for each, and a last line that counts."""

import time


def run_checks(checks):
    """`checks`: name -> function, which raises where something differs and may give what to print. The exit status: 1 if any failed."""
    started, failed = time.perf_counter(), 0
    for name, check in checks.items():
        try:
            said = check()
            print(f"ok {name}" if said is None else f"ok {name}: {said}", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAIL {name}: {type(error).__name__}: {str(error)[:900]}", flush=True)
    print(f"{len(checks) - failed} passed, {failed} failed, {time.perf_counter() - started:.0f} s")
    return 1 if failed else 0
