"""The programs of test_triton_codegen.py on a GPU, against eager: the kernels that the interpreter runs elsewhere, for the device's own tools.

    python tests/python/programs_on_device.py [NAME...]
    python tools/dev/sanitize.py    # every program under compute-sanitizer's tools

The last line counts what passed; the exit status is 1 if anything differs.
"""

import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import litz  # noqa: E402
from device_checks import run_checks  # noqa: E402
from test_triton_codegen import EXPECTED, LIBRARY_PROGRAMS, PROGRAMS, SORTS  # noqa: E402

ALL = {**PROGRAMS, **SORTS, **LIBRARY_PROGRAMS}

try:
    torch._dynamo.register_backend(litz.backend_entry, name="litz")
except Exception:  # an installed wheel has registered it
    pass


def difference(name):
    function, make = ALL[name]
    torch._dynamo.reset()
    torch.manual_seed(0)
    inputs = make()
    expected = EXPECTED.get(name, None)
    expected = function(*inputs) if expected is None else expected
    compiled = torch.compile(function, backend="litz", options={"fallback": "error"})
    with torch.no_grad():
        actual = compiled(*[x.cuda() for x in inputs])
    torch.cuda.synchronize()
    for got, want in zip(torch.utils._pytree.tree_leaves(actual), torch.utils._pytree.tree_leaves(expected), strict=True):
        tolerance = {torch.bfloat16: 2e-2, torch.float16: 2e-3}.get(want.dtype, 3e-5)
        torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance, equal_nan=True)


def main(names):
    if names == ["--list"]:
        print(*ALL)
        return 0
    return run_checks({name: lambda name=name: difference(name) for name in names or ALL})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
