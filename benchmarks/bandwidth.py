"""Memory-bound programs on a GPU against the bandwidth that a copy reaches in the same run."""
import torch
import torch.nn.functional as F

BF16 = torch.bfloat16
ELEMENTS = 1 << 27  # of the large input: several times any cache
ROW = 4096
CLASSES = 32768


def _inputs(*shapes):
    return tuple(torch.randn(shape, device="cuda", dtype=BF16) for shape in shapes)


def _rows():
    return (ELEMENTS // ROW, ROW)


def _cross_entropy_inputs():
    rows = ELEMENTS // CLASSES
    return (*_inputs((rows, CLASSES)), torch.randint(0, CLASSES, (rows,), device="cuda"))


# name -> function, inputs, how many times the large tensor crosses the memory bus at least
PROGRAMS = {
    "softmax": (lambda x: torch.softmax(x, -1), lambda: _inputs(_rows()), 2),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (ROW,), w, b), lambda: _inputs(_rows(), (ROW,), (ROW,)), 2),
    "rms_norm": (lambda x, w: F.rms_norm(x, (ROW,), w), lambda: _inputs(_rows(), (ROW,)), 2),
    "gelu": (lambda x: F.gelu(x), lambda: _inputs(_rows()), 2),
    "dropout_add": (lambda x, y: F.dropout(x, 0.1, training=True) + y, lambda: _inputs(_rows(), _rows()), 3),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t), _cross_entropy_inputs, 1),
}


def seconds_of(call, calls=20):
    """Of one call, calls following each other without a pause; the least of five rounds."""
    call(), call()
    best = float("inf")
    for _ in range(5):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) / calls / 1e3)
    return best


def measure(names=None, backends=("litz", "inductor")):
    """Bytes a second of every program and of a copy, and the share of the copy's."""
    source = torch.randn(ELEMENTS, device="cuda", dtype=BF16)
    target = torch.empty_like(source)
    bytes_of_input = source.numel() * source.element_size()
    copy = 2 * bytes_of_input / seconds_of(lambda: target.copy_(source))
    del source, target
    result = {"copy_tb_s": copy / 1e12}
    for name in names or PROGRAMS:
        function, make, crossings = PROGRAMS[name]
        inputs = make()
        row = {}
        for backend in backends:
            torch._dynamo.reset()
            compiled = torch.compile(function, backend=backend)
            try:
                with torch.no_grad():
                    rate = crossings * bytes_of_input / seconds_of(lambda: compiled(*inputs))
                row[backend] = round(rate / copy, 3)
            except Exception as error:  # a program that fails is a result, and the others are still measured
                row[backend] = repr(error)[:300]
        result[name] = row
        del inputs
        torch.cuda.empty_cache()
    return result
