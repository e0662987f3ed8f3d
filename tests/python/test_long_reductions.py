"""Few values from many elements: cut into pieces, right for any number of threads and any length."""

import litz
import pytest
import torch


def check(function, x, **options):
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=litz.backend_entry, options={"fallback": "error", **options})
    threads = torch.get_num_threads()
    expected = [r.double() if r.is_floating_point() else r for r in function(x.double() if x.is_floating_point() else x)]
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        try:
            found = compiled(x)
        finally:
            torch.set_num_threads(threads)
        for f, e in zip(found, expected, strict=True):
            if f.is_floating_point():
                torch.testing.assert_close(f.double(), e, rtol=2e-5, atol=1e-6, equal_nan=True)
            else:
                assert torch.equal(f, e)
    return compiled


@pytest.mark.parametrize("length", [1 << 18, 300007, 65537])
def test_reductions_of_one_long_row(length):
    torch.manual_seed(0)
    x = torch.randn(length)
    x[length // 3] = x[length - 1] = 9.0  # a tie across pieces
    check(lambda x: (x.sum(), x.var(), x.mean(), x.amax(), x.argmax(), x.argmin(), (x > 8).any(), torch.max(x, 0).indices), x)


def test_a_nan_in_the_last_piece_wins_and_the_first_of_two_is_found():
    x = torch.randn(200003)
    x[200000] = x[200001] = float("nan")
    check(lambda x: (x.amax(), x.argmax(), x.argmin(), x.sum()), x)


def test_two_long_rows_and_two_reduced_dimensions():
    x = torch.randn(2, 300, 301)
    check(lambda x: (x.sum((1, 2)), x.var((1, 2)), x.amax((1, 2)), torch.softmax(x.flatten(1), 1).sum(1)), x)


def test_a_dynamic_length():
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: (x.sum(), x.argmax()), backend=litz.backend_entry, dynamic=True, options={"fallback": "error"})
    for n in (200003, 70001, 65536, 17, 2):
        x = torch.randn(n)
        total, place = compiled(x)
        torch.testing.assert_close(total.double(), x.double().sum(), rtol=1e-5, atol=1e-4)
        assert place == x.argmax()


def test_strict_numerics_splits_only_what_is_exact():
    x = torch.randn(300007)
    torch._dynamo.reset()
    torch.compile(lambda x: (x.sum(), x.amax()), backend=litz.backend_entry, options={"numerics": "strict"})(x)
    report = litz.last_report()
    assert any("split_reduction" in r and "order of combining" in r for r in report["refusals"])
