"""A kernel that turns what it reads goes through tiles, which are filled before anything is computed: with what the kernel stores itself they
must not be filled."""

import torch
import torch.nn.functional as F


def test_what_a_kernel_stores_and_turns_is_read_behind_the_store():
    torch.manual_seed(0)
    weight, taps, ones = torch.randn(144, 256, 1, 1) * 0.1, torch.randn(16, 1, 9, 9, 1), torch.ones(64)

    def layer(x):
        queries, _, values = torch.split(F.conv2d(x, weight), [64, 16, 64], dim=1)
        queries = F.batch_norm(queries, ones * 0.1, ones, ones, ones).reshape(2, 4, 16, 16).transpose(-1, -2)
        values = F.batch_norm(values, ones * 0.2, ones, ones, ones).reshape(2, 64, 16).transpose(-1, -2)
        positions = F.conv3d(values.reshape(2, 1, 4, 4, 64), taps, padding=(4, 4, 0))
        positions = positions.reshape(2, 1, 16, 16, 64).transpose(2, 3)
        return (queries.unsqueeze(-2) @ positions).squeeze(-2), queries, values

    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="litz", options={"fallback": "error"})
    x = torch.randn(2, 256, 4, 4)
    with torch.no_grad():
        for actual, expected in zip(compiled(x), layer(x), strict=True):
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)
