"""The compiler server and its cache on disk: what was compiled once is answered without Triton; broken, foreign or unwritable caches
cost a compile and nothing else."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import litz

WORKER = pathlib.Path(litz.__file__).parent / "triton_worker.py"
SOURCE = """import triton
import triton.language as tl


@triton.jit
def add_one(x, y):
    i = tl.arange(0, 64)
    tl.store(y + i, tl.load(x + i) + {number})


LAUNCH = dict(kernel=add_one, signature=["*fp32", "*fp32"], pointers=2, numbers=0, reports_errors=False, num_warps=1)
"""


def ask(cache, sources, **environment):
    """The answers (header words, body) of a fresh server, by number of the request, and what it complained of."""
    answers, complaints = answers_as_they_come(cache, sources, **environment)
    return [answers[k] for k in range(len(sources))], complaints


def answers_as_they_come(cache, sources, processors=None, **environment):
    requests = b""
    for number, source in enumerate(sources):
        text = source.encode()
        requests += f"{number} cuda:90 1 {len(text)}\n".encode() + text
    environment = dict(os.environ, XDG_CACHE_HOME=str(cache), TRITON_CACHE_DIR=str(cache / "triton"), **environment)
    few = None if processors is None else lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processors])
    server = subprocess.Popen(
        [sys.executable, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, preexec_fn=few
    )
    server.stdin.write(requests)
    server.stdin.flush()
    answers = {}
    for _ in sources:
        words = server.stdout.readline().decode().split()
        answers[int(words[0])] = (words[1:], server.stdout.read(int(words[-1])))
    server.stdin.close()
    assert server.wait(20) == 0
    return answers, server.stderr.read().decode()


def entries(cache):
    return [p for p in (cache / "litz" / "kernels").rglob("*") if p.is_file()]


@pytest.fixture
def broken_triton(tmp_path):
    (tmp_path / "broken" / "triton").mkdir(parents=True)
    (tmp_path / "broken" / "triton" / "__init__.py").write_text("raise ImportError('no triton here')\n")
    return dict(PYTHONPATH=str(tmp_path / "broken"))


def test_a_second_process_needs_no_compiler(tmp_path, broken_triton):
    sources = [SOURCE.format(number=1), SOURCE.format(number=2)]
    first, _ = ask(tmp_path, sources)
    assert [words[0] for words, _ in first] == ["ok", "ok"] and first[0][1] != first[1][1]
    assert len(entries(tmp_path)) == 2
    second, _ = ask(tmp_path, sources, **broken_triton)
    assert second == first


def test_without_a_compiler_what_is_not_cached_is_refused_with_the_reason(tmp_path, broken_triton):
    ((words, body),), _ = ask(tmp_path, [SOURCE.format(number=3)], **broken_triton)
    assert words[0] == "error" and b"no triton here" in body


def test_the_longest_sources_are_compiled_first(tmp_path, broken_triton):
    """What takes longest must not be what is begun last. A server of one compiler answers in the order of its work."""
    lengths = [3, 1, 4, 2, 5]
    answers, _ = answers_as_they_come(tmp_path, ["#" * 1000 * n for n in lengths], processors=1, **broken_triton)
    assert [lengths[k] for k in answers] == sorted(lengths, reverse=True)


def test_a_broken_entry_is_a_miss_and_is_replaced(tmp_path):
    source = [SOURCE.format(number=4)]
    first, _ = ask(tmp_path, source)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()
    for broken in (whole[:-1], b"", whole[:200] + b"x" + whole[201:], b"other format\n"):
        entry.write_bytes(broken)
        assert ask(tmp_path, source)[0] == first
        assert entry.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_said_once_and_does_not_stop_anything(tmp_path):
    (tmp_path / "litz").write_text("a file where the folder should be")
    answers, said = ask(tmp_path, [SOURCE.format(number=5), SOURCE.format(number=6)])
    assert [words[0] for words, _ in answers] == ["ok", "ok"]
    assert said.count("are not kept") == 1


HEAVY = """import triton
import triton.language as tl


@triton.jit
def heavy(x, y):
    i = tl.arange(0, 8192)
    a = tl.load(x + i)
    b = tl.load(x + 8192 + i)
    s = tl.sum(a * b)
    t = tl.sum(tl.exp(a - s) * b)
    tl.store(y + i, a * s + b * t)


LAUNCH = dict(kernel=heavy, signature=["*fp32", "*fp32"], pointers=2, numbers=0, reports_errors=False, num_warps=1)
"""


def test_a_kernel_whose_registers_spill_gets_more_warps(tmp_path):
    ((words, _),), _ = ask(tmp_path, [HEAVY])
    assert words[0] == "ok" and int(words[1]) > 1, words


LARGE = """import triton
import triton.language as tl


@triton.jit
def large(x, y):
    i = tl.arange(0, 256)
    at = i[:, None] * 256 + i[None, :]
    tl.store(y + at, tl.dot(tl.load(x + at), tl.load(x + 65536 + at), input_precision="tf32"))


LAUNCH = dict(kernel=large, signature=["*fp32", "*fp32"], pointers=2, numbers=0, reports_errors=False, num_warps=8)
"""


def test_a_kernel_that_needs_more_shared_memory_than_a_block_has_is_refused(tmp_path):
    ((words, body),), _ = ask(tmp_path, [LARGE])
    assert words[0] == "error" and b"bytes of shared memory" in body, (words, body[:500])


def test_a_compiler_that_dies_fails_its_kernel_alone(tmp_path):
    deadly = "import os\nos.kill(os.getpid(), 9)\n" + SOURCE.format(number=7)
    answers, _ = ask(tmp_path, [SOURCE.format(number=8), deadly, SOURCE.format(number=9), deadly + "# again", SOURCE.format(number=10)])
    assert [words[0] for words, _ in answers] == ["ok", "error", "ok", "error", "ok"]
    assert b"died" in answers[1][1]


def test_a_compiler_of_another_age_is_refused_by_name(tmp_path):
    package = tmp_path / "old" / "triton"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '3.1.0'\n")
    for module in ("backends", "compiler"):
        (package / module).mkdir()
        (package / module / "__init__.py").write_text("")
    (package / "backends" / "compiler.py").write_text("")
    ((words, body),), _ = ask(tmp_path, [SOURCE.format(number=11)], PYTHONPATH=str(tmp_path / "old"))
    assert words[0] == "error" and b"triton 3.1.0 is too old, expected 3.6 or newer" in body


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_no_process_outlives_its_server(tmp_path, end):
    environment = dict(os.environ, XDG_CACHE_HOME=str(tmp_path), TRITON_CACHE_DIR=str(tmp_path / "triton"))
    server = subprocess.Popen([sys.executable, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True)
    text = SOURCE.format(number=12).encode()
    server.stdin.write(f"0 cuda:90 1 {len(text)}\n".encode() + text)
    server.stdin.flush()
    words = server.stdout.readline().decode().split()
    assert words[1] == "ok"
    server.stdout.read(int(words[-1]))
    os.killpg(server.pid, signal.SIGINT)  # as a terminal sends it to everybody: the program decides, not its compilers
    assert server.poll() is None
    assert len(processes_of(server.pid)) > 1
    if end == "closed":
        server.stdin.close()
    else:
        server.kill()
    server.wait(20)
    for _ in range(200):
        if not processes_of(server.pid):
            return
        time.sleep(0.05)
    raise AssertionError(f"left behind: {processes_of(server.pid)}")


def processes_of(session):
    """Living processes of the session."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, IndexError):
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(entry.name)
    return found


def test_a_kernel_that_does_not_compile_is_not_kept(tmp_path):
    ((words, body),), _ = ask(tmp_path, [SOURCE.format(number="no_such_name")])
    assert words[0] == "error" and b"no_such_name" in body and not entries(tmp_path)
