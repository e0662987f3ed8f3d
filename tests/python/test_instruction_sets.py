"""`options={"isa": ...}` chooses the instruction set of CPU kernels; every one that this machine has gives eager's result."""

import pathlib

import pytest
import torch

import litz

FLAGS = {"sse": "sse2", "avx2": "avx2", "avx512": "avx512vl", "neon": "asimd"}
_CPU = pathlib.Path("/proc/cpuinfo").read_text().split()
HERE = [name for name, flag in FLAGS.items() if flag in _CPU]


def normalise(x, w):
    y = torch.softmax(x.float(), -1)
    return (torch.nn.functional.layer_norm(y * x, (x.shape[-1],)) * w).to(torch.bfloat16), torch.tanh(x).sum(0)


@pytest.mark.parametrize("isa", HERE)
@pytest.mark.parametrize("width", [3, 37, 64])
def test_every_instruction_set_of_the_machine_gives_eagers_result(isa, width):
    torch.manual_seed(0)
    x, w = torch.randn(5, width), torch.randn(width)
    compiled = torch.compile(normalise, backend="litz", dynamic=False, options={"isa": isa, "fallback": "error"})
    torch.testing.assert_close(compiled(x, w), normalise(x, w))
    torch._dynamo.reset()


@pytest.mark.parametrize("isa", ["mmx", *(name for name in FLAGS if name not in HERE)])
def test_an_instruction_set_that_the_machine_lacks_is_refused_by_name(isa):
    compiled = torch.compile(normalise, backend="litz", options={"isa": isa})
    with pytest.raises(Exception, match=f"instruction set '?{isa}"):
        compiled(torch.randn(5, 8), torch.randn(8))
    torch._dynamo.reset()
