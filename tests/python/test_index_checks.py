"""Index checks: a bad index raises even where only part of the gathered tensor is used, a good one never does."""
import pytest
import torch


def part_of_gathered(table, index):
    rows = table[index]
    return rows[0, ..., 1:60:3].clone() + rows[1, ..., 1:60:3]


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, backend="litz", options={"fallback": "error"}, dynamic=False)


@pytest.mark.parametrize("columns", [1, 7, 11, 33])
def test_checks_alone_read_only_what_is_there(columns):
    table, index = torch.randn(200, 64), torch.randint(0, 200, (3, columns))
    assert torch.equal(compiled(part_of_gathered)(table, index), part_of_gathered(table, index))


@pytest.mark.parametrize("row", [0, 2])
def test_a_bad_index_raises_where_its_row_is_not_used(row):
    table, index = torch.randn(200, 64), torch.randint(0, 200, (3, 11))
    index[row, 5] = 200
    with pytest.raises(IndexError):
        part_of_gathered(table, index)
    with pytest.raises(IndexError):
        compiled(part_of_gathered)(table, index)


def test_negative_indices_count_from_the_end():
    table, index = torch.randn(10, 4), torch.tensor([-1, -10, 3])
    assert torch.equal(compiled(lambda t, i: t[i] * 2)(table, index), table[index] * 2)
