"""The compiler server of litz's GPU devices: generated Triton source in, machine code out.

Started by liblitz as a program, it speaks the protocol of src/litz/codegen/triton/worker_pool.h on stdin and stdout. What the cache on
disk has is answered at once. For the rest a process loads Triton and forks a child per processor, so that every child is warm. It ends
when stdin closes or its parent is gone.
"""

import contextlib
import hashlib
import importlib.util
import os
import select
import selectors
import signal
import socket
import struct
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
OLDEST_TRITON = (3, 6)
MOST_WARPS = 16  # that spilling kernels are given
MOST_THREADS = 1024  # of a block
SHARED_BYTES = {"cuda:80": 163 << 10, "cuda:87": 163 << 10, "cuda:90": 227 << 10, "cuda:100": 227 << 10, "cuda:103": 227 << 10}
LEAST_SHARED_BYTES = 64 << 10  # of any other target
SIZED, FRAME_SIZE = 4, 0x11  # of the entries of .nv.info


def load_module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


kernel_cache = sys.modules.get("litz_kernel_cache") or load_module("litz_kernel_cache", os.path.join(HERE, "kernel_cache.py"))


def load_ops():
    """What generated source imports as litz_triton_ops."""
    return sys.modules.get("litz_triton_ops") or load_module("litz_triton_ops", os.path.join(HERE, "triton_ops.py"))


def load_source(source, folder):
    """A module of generated source; Triton reads the source of its functions from a file."""
    name = "litz_kernel_" + hashlib.sha256(source.encode()).hexdigest()[:24]
    path = os.path.join(folder, name + ".py")
    if not os.path.exists(path):
        temporary = f"{path}.{os.getpid()}"
        with open(temporary, "w") as file:
            file.write(source)
        os.replace(temporary, path)
    return load_module(name, path)


def gpu_target(text):
    from triton.backends.compiler import GPUTarget

    kind, arch = text.split(":")
    return GPUTarget(kind, int(arch), 32) if kind == "cuda" else GPUTarget(kind, arch, 64)


def compile_source(source, target, aligned, folder):
    """(machine code, facts for the launcher): warps, shared bytes, extra arguments, scratch bytes of a program, pointers, numbers,
    reports errors, counts programs, is cooperative, entry."""
    load_ops()
    launch = load_source(source, folder).LAUNCH
    compiled = compile_kernel(launch, target, aligned)
    image = compiled.asm.get("cubin") or compiled.asm["hsaco"]
    extra = count_extra_arguments(compiled, sum(kind != "constexpr" for kind in launch["signature"]))
    scratch = getattr(compiled.metadata, "global_scratch_size", 0)
    flags = [int(launch.get(flag, False)) for flag in ("reports_errors", "counts_programs", "is_cooperative")]
    facts = (compiled.metadata.num_warps, compiled.metadata.shared, extra, scratch, launch["pointers"], launch["numbers"], *flags, compiled.metadata.name)
    return image, facts


def compile_kernel(launch, target, aligned):
    """What Triton made of the kernel of a module's LAUNCH."""
    import triton
    from triton.compiler import ASTSource

    function = launch["kernel"]
    signature = dict(zip(function.arg_names, launch["signature"], strict=True))
    constants = {"ALIGNED": aligned} if "ALIGNED" in signature else {}
    attributes = {(i,): [["tt.divisibility", 16]] for i in range(launch["pointers"])} if aligned else {}

    def compile_with(num_warps):
        options = dict(num_warps=num_warps, num_stages=launch.get("num_stages", 1), enable_fp_fusion=launch.get("fuses_products", False))
        return triton.compile(ASTSource(function, signature, constants, attributes), target=gpu_target(target), options=options)

    most_warps = MOST_THREADS // gpu_target(target).warp_size
    wanted_warps = min(launch["num_warps"], most_warps)
    is_measured = "num_stages" in launch  # as it is
    compiled = compile_with(wanted_warps) if is_measured else least_spilling(compile_with, wanted_warps)
    if compiled.metadata.shared > (most := SHARED_BYTES.get(target, LEAST_SHARED_BYTES)):
        raise RuntimeError(f"{compiled.metadata.name} needs {compiled.metadata.shared} bytes of shared memory, a block of {target} has at most {most}")
    return compiled


def least_spilling(compile_with, num_warps):
    """Registers that do not hold a thread's share of a block go to memory: more warps have smaller shares."""
    compiled = compile_with(num_warps)
    spilled = spilled_bytes(compiled)
    while spilled and num_warps < MOST_WARPS:
        num_warps *= 2
        try:
            wider = compile_with(num_warps)
        except Exception:  # some instructions need more registers than so many threads have
            break
        if spilled_bytes(wider) >= spilled:
            break
        compiled, spilled = wider, spilled_bytes(wider)
    return compiled


def spilled_bytes(compiled):
    """What a thread keeps in local memory, as NVIDIA's machine code says in its section .nv.info; 0 elsewhere."""
    image = compiled.asm.get("cubin")
    if image is None:
        return 0
    table, entry_size, count, names_at = struct.unpack_from("<Q10xHHH", image, 40)
    headers = [struct.unpack_from("<IIQQQQ", image, table + k * entry_size) for k in range(count)]
    names = headers[names_at][4]
    total = 0
    for name, _, _, _, offset, size in headers:
        if image[names + name : image.index(b"\0", names + name)] != b".nv.info":
            continue
        at = offset
        while at < offset + size:
            form, kind, length = struct.unpack_from("<BBH", image, at)
            at += 4
            if form != SIZED:
                continue
            if kind == FRAME_SIZE:
                total += struct.unpack_from("<I", image, at + 4)[0]
            at += length
    return total


def count_extra_arguments(compiled, known):
    """Pointers that Triton put behind the kernel's own arguments: to scratch memory, and to what profilers ask for."""
    text = compiled.asm.get("ptx")
    if text is None:
        return 0
    head = text[text.index(".entry") :]
    return head[: head.index(")")].count(".param") - known


# ---- the server ----


def read_exactly(read, size):
    parts = []
    while size:
        part = read(size)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def send(channel, data):
    channel.sendall(struct.pack("q", len(data)) + data)


def receive(channel):
    (size,) = struct.unpack("q", read_exactly(channel.recv, 8))
    return read_exactly(channel.recv, size)


def child(channel, folder, problem):
    """Answers requests until the channel closes; `problem` is why it cannot compile, if so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            request = receive(channel)
        except (EOFError, OSError):
            os._exit(0)
        header, source = request.split(b"\n", 1)
        number, target, aligned = header.decode().split()
        try:
            if problem:
                raise RuntimeError(problem)
            image, facts = compile_source(source.decode(), target, aligned == "1", folder)
            reply = f"{number} ok {' '.join(map(str, facts))} {len(image)}\n".encode() + image
        except BaseException as error:
            lines = traceback.format_exception_only(error)
            text = "".join(lines).strip().encode() or b"unknown error"
            reply = f"{number} error {len(text)}\n".encode() + text
        send(channel, reply)


class Server:
    def __init__(self, size, folder):
        self.folder = folder
        self.selector = selectors.DefaultSelector()
        self.waiting = []  # requests, and where their answers go on disk
        self.idle = []  # channels
        self.busy = {}  # channel -> (number of its request, where the answer goes on disk)
        self.selector.register(0, selectors.EVENT_READ)
        self.fork(size)

    def fork(self, size):
        """`size` children, all of one process that loads Triton first."""
        pairs = [socket.socketpair() for _ in range(size)]
        if os.fork() == 0:
            for channel in self.idle + list(self.busy) + [mine for mine, _ in pairs]:
                channel.close()
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(2, 1)  # what a compiler prints goes to stderr, not into the protocol
            nursery([theirs for _, theirs in pairs], self.folder)
        for mine, theirs in pairs:
            theirs.close()
            self.selector.register(mine, selectors.EVENT_READ)
            self.idle.append(mine)

    def run(self):
        parent = os.getppid()
        while True:
            events = self.selector.select(timeout=2)
            if os.getppid() != parent:
                return
            for key, _ in events:
                if key.fileobj == 0:
                    try:
                        self.take(self.read_request())
                    except EOFError:
                        return
                else:
                    self.answer(key.fileobj)
            if not select.select([0], [], [], 0)[0]:
                self.hand_out()

    def hand_out(self):
        """The longest sources first: they take longest, and the last to be done decides. Called once a graph's requests are all read."""
        self.waiting.sort(key=lambda entry: len(entry[0]))
        while self.waiting and self.idle:
            channel, (request, path) = self.idle.pop(), self.waiting.pop()
            self.busy[channel] = (request.split(b" ", 1)[0], path)
            send(channel, request)

    def take(self, request):
        header, source = request.split(b"\n", 1)
        number, target, aligned = header.decode().split()
        path = kernel_cache.path_of(source, target, aligned)
        if known := kernel_cache.load(path):
            facts, image = known
            write_all(1, f"{number} ok {facts} {len(image)}\n".encode() + image)
        else:
            self.waiting.append((request, path))

    def read_request(self):
        read = lambda n: os.read(0, n)
        line = b""
        while not line.endswith(b"\n"):
            line += read_exactly(read, 1)
        number, target, aligned, size = line.split()
        return b" ".join((number, target, aligned)) + b"\n" + read_exactly(read, int(size))

    def answer(self, channel):
        try:
            reply = receive(channel)
            write_all(1, reply)
            _, path = self.busy.pop(channel, (None, None))
            self.idle.append(channel)
            header, _, image = reply.partition(b"\n")
            words = header.decode().split()
            if path and words[1] == "ok":
                kernel_cache.store(path, " ".join(words[2:-1]), image)
        except (EOFError, ConnectionError):  # the child died
            self.selector.unregister(channel)
            number, _ = self.busy.pop(channel, (None, None))
            if channel in self.idle:
                self.idle.remove(channel)
            channel.close()
            if number is not None:
                text = b"the compiler died while it compiled this kernel"
                write_all(1, number + f" error {len(text)}\n".encode() + text)
            self.fork(1)


def nursery(channels, folder):
    """Loads Triton and becomes the last of the children that it forks; each answers on a channel of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    problem = load_triton()
    if not problem:
        warm_up(folder)
    while len(channels) > 1:
        channel = channels.pop()
        if os.fork() == 0:
            for other in channels:
                other.close()
            child(channel, folder, problem)
        channel.close()
    child(channels[0], folder, problem)


def load_triton():
    """Why kernels cannot be compiled here, or None."""
    try:
        import triton
        import triton.backends.compiler
        import triton.compiler  # noqa: F401

        if tuple(int(x) for x in triton.__version__.split(".")[:2]) < OLDEST_TRITON:
            return f"triton {triton.__version__} is too old, expected 3.6 or newer"
        load_ops()
    except Exception as error:
        return f"triton does not load: {type(error).__name__}: {error}"
    return None


SMALLEST_SOURCE = """
import triton
import triton.language as tl


@triton.jit
def smallest(out0):
    tl.store(out0, 0.0)


LAUNCH = dict(kernel=smallest, signature=["*fp32"], pointers=1, numbers=0, reports_errors=False, num_warps=1)
"""


def warm_up(folder):
    """What the first compile of a process does once, done before the children are forked: Triton hashes its own files (a third of a
    second), asks its tools for their versions and sets LLVM up. Where this fails the children's compiles say why."""
    with contextlib.suppress(Exception):
        compile_source(SMALLEST_SOURCE, "cuda:90", True, folder)


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    with tempfile.TemporaryDirectory(prefix="litz_triton_") as folder:
        count = max(1, min(len(os.sched_getaffinity(0)), 32))
        Server(count, folder).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
