"""Functions of kernels whose results are narrow floats, in Triton's interpreter, against the C library in float64."""

import os
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = """
import math, sys, torch, triton, triton.language as tl
sys.path.insert(0, {litz!r})
import triton_worker
lt = triton_worker.load_ops()

@triton.jit
def kernel(x, out, N: tl.constexpr, WHICH: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(x + i)
    if WHICH == 0: y = lt.coarse_erf(a)
    elif WHICH == 1: y = lt.coarse_erf_plus_one(a)
    elif WHICH == 2: y = lt.coarse_tanh(a)
    elif WHICH == 3: y = lt.coarse_tanh_plus_one(a)
    else: y = lt.coarse_sigmoid(a)
    tl.store(out + i, y)

exact = [math.erf, lambda v: 1 + math.erf(v) if v > 0 else math.erfc(-v), math.tanh, lambda v: 2 / (1 + math.exp(-2 * v)) if v > -300 else 0.0,
         lambda v: 1 / (1 + math.exp(-v)) if v > -600 else 0.0]
x = torch.cat([torch.linspace(-12, 12, (1 << 16) - 512), torch.tensor([2.0**-k * s for k in range(128) for s in (1, -1)]),
               torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 88.0, -88.0, 3e38, -3e38] * 28 + [1.0] * 4)]).float()
for which, function in enumerate(exact):
    out = torch.empty_like(x)
    kernel[(len(x) >> 12,)](x, out, 1 << 12, which)
    wanted = torch.tensor([function(v) if v == v else v for v in x.tolist()], dtype=torch.float64)
    same_nan = bool((out.isnan() == x.isnan()).all())
    error = (out.double() - wanted).abs().nan_to_num(0)
    if which in (1, 3):
        assert bool((out[x <= -50] == 0).all()) and bool((out[x >= 50] == 2).all())  # they are multiplied by x
    near = (x.abs() < 3) & (wanted != 0) & ~x.isnan()
    print(which, same_nan, error.max().item(), (error / wanted.abs())[near].max().item())
"""


def test_coarse_functions_are_as_near_as_they_say(tmp_path):
    source = textwrap.dedent(PROGRAM).format(litz=os.path.join(HERE, "../../python/litz"))
    path = tmp_path / "coarse.py"
    path.write_text(source)
    out = subprocess.run([sys.executable, path], capture_output=True, text=True, env={**os.environ, "TRITON_INTERPRET": "1"}, timeout=600)
    assert out.returncode == 0, out.stderr[-2000:]
    rows = [line.split() for line in out.stdout.splitlines()]
    names = ("erf", "erf_plus_one", "tanh", "tanh_plus_one", "sigmoid")
    most = dict(erf=(3e-6, 4e-6), erf_plus_one=(3e-6, 2e-5), tanh=(2e-6, 2e-5), tanh_plus_one=(4e-7, 4e-7), sigmoid=(2e-7, 4e-7))
    assert len(rows) == len(names)
    for name, (_, same_nan, absolute, relative) in zip(names, rows, strict=True):
        assert same_nan == "True", name
        assert float(absolute) <= most[name][0] and float(relative) <= most[name][1], (name, absolute, relative)
