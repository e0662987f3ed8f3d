"""What a user asks of the backend: options, reports, fallbacks, explanations."""

import json
import pathlib
import subprocess
import sys
import warnings

import pytest
import torch

import litz


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    litz.backend._warned.clear()


def two_layers():
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))


def through_odd_type(x):
    return (x * 2).to(torch.float8_e8m0fnu).to(torch.float32) + 1


def cause(error):
    """What the backend raised, inside Dynamo's own exception."""
    return str(error.value)


def test_every_option_is_listed():
    listed = {o["name"]: o for o in litz.list_options()}
    assert {"mode", "fallback", "numerics"} <= set(listed)
    assert all(o["meaning"] and o["type"] in ("switch", "text") for o in listed.values())


@pytest.mark.parametrize("options", [{"fusee": True}, {"fallback": "maybe"}, {"mode": "fastest"}, {"fuse": "perhaps"}])
def test_an_unknown_option_or_value_is_named(options):
    name, value = next(iter(options.items()))
    with pytest.raises(Exception) as error:
        torch.compile(lambda x: x + 1, backend="litz", options=options)(torch.ones(2))
    assert name in cause(error) and "UserError" in cause(error)
    assert "known are: mode, fallback" in cause(error) if name == "fusee" else str(value) in cause(error)


def test_modes_are_those_of_torch_compile():
    for mode in ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"):
        assert torch.compile(lambda x: x + 1, backend="litz", mode=mode)(torch.ones(1)) == 2
        torch._dynamo.reset()
    with pytest.raises(Exception, match="expected one of default"):
        torch.compile(lambda x: x + 1, backend="litz", mode="quick")(torch.ones(1))
    torch._dynamo.reset()
    assert torch.compile(lambda x: x + 1, backend="litz", options={"mode": "max-autotune", "fallback": "error"})(torch.ones(1)) == 2


def test_litz_opt_overrides(monkeypatch):
    monkeypatch.setenv("LITZ_OPT", "fallback=error,numerics=strict")
    with pytest.raises(Exception, match="FallbackError"):
        torch.compile(through_odd_type, backend="litz", options={"fallback": "eager"})(torch.ones(3))
    torch._dynamo.reset()
    monkeypatch.setenv("LITZ_OPT", "fallback")
    with pytest.raises(Exception, match="found 'fallback', expected key=value"):
        torch.compile(lambda x: x + 1, backend="litz")(torch.ones(3))


def test_what_is_not_taken_runs_eagerly_with_one_warning():
    before = litz.counters["fallbacks"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x = torch.tensor([1.0, 0.0])
        assert torch.equal(torch.compile(through_odd_type, backend="litz")(x), through_odd_type(x))
        torch._dynamo.reset()
        torch.compile(through_odd_type, backend="litz")(x)
    own = [w for w in caught if issubclass(w.category, litz.Fallback)]
    assert len(own) == 1
    assert "torch.float8_e8m0fnu" in str(own[0].message) and "fallback" in str(own[0].message)
    assert litz.counters["fallbacks"] == before + 2
    assert litz.last_report()["fallbacks"] == ["a tensor of torch.float8_e8m0fnu"]


def test_a_fallback_is_an_error_if_asked_for():
    with pytest.raises(Exception) as error:
        torch.compile(through_odd_type, backend="litz", options={"fallback": "error"})(torch.ones(3))
    assert "FallbackError" in cause(error) and "torch.float8_e8m0fnu" in cause(error)


def test_the_report_counts_what_a_graph_became():
    with torch.no_grad():
        torch.compile(two_layers().eval(), backend="litz", options={"fallback": "error"})(torch.randn(3, 8))
    report = litz.last_report()
    assert report["fallbacks"] == [] and report["total_ms"] > 0
    assert report["stage_ms"]["export"] > 0
    calls = {**report["library_calls"], **report["extern_calls"]}
    assert sum(count for op, count in calls.items() if "mm" in op) == 2


def test_explain_tells_of_graphs_breaks_and_calls():
    def fn(x):
        y = x.sin() @ x
        torch._dynamo.graph_break()
        return through_odd_type(y.cos())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explanation = litz.explain(fn, torch.randn(3, 3))
    assert len(explanation.reports) == 2 and len(explanation.graph_breaks) == 1
    text = str(explanation)
    assert text.startswith("graphs: 2, graph breaks: 1")
    assert "runs eagerly: a tensor of torch.float8_e8m0fnu" in text and "mm" in text
    assert explanation.total("kernels") == sum(r["kernels"] for r in explanation.reports)


def test_explain_tells_of_its_graphs_however_many_came_before():
    for k in range(70):
        torch._dynamo.reset()
        torch.compile(lambda x, k=k: x + k, backend="litz")(torch.ones(3))
    assert len(litz.explain(lambda x: x * 2, torch.ones(3)).reports) == 1


def run_script(source, **environment):
    import os

    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def test_the_backend_is_known_without_an_import_and_logs_what_is_asked_for():
    source = "import torch; torch.compile(lambda x: x + 1, backend='litz', options={'fallback': 'error'})(torch.ones(2))"
    done = run_script(source, LITZ_LOG="stages,graph,program")
    assert "graph inference_1" in done.stderr and "program inference_1" in done.stderr and "kernels" in done.stderr
    assert "litz:" not in run_script(source, LITZ_LOG="").stderr


def test_the_reproduction_of_a_fallback_is_a_graph_that_parses(tmp_path, monkeypatch):
    """A graph that import takes but a later stage refuses is written as text."""
    monkeypatch.setattr(litz.backend.tempfile, "gettempdir", lambda: str(tmp_path))
    builder_compile = litz._C.GraphBuilder

    def refuse(gm, name, *args):
        exported = export(gm, name, *args)

        class Refusing:
            def __getattr__(self, attribute):
                return getattr(exported.builder, attribute)

            def compile(self, options, constants):
                raise litz._C.Unsupported("a stage that refuses")

        return type(exported)(Refusing(), exported.constants, exported.opaque)

    export = litz.backend.export
    monkeypatch.setattr(litz.backend, "export", refuse)
    with pytest.warns(litz.Fallback, match="a stage that refuses; reproduce with: litz opt"):
        torch.compile(lambda x: x.exp() * 2, backend="litz")(torch.ones(3))
    (written,) = tmp_path.rglob("*.ir")
    parsed = builder_compile.parse(written.read_text())
    parsed.verify()
    assert "aten.exp" in parsed.text() and parsed.text() == written.read_text()


def test_a_report_is_plain_data():
    torch.compile(lambda x: x + 1, backend="litz")(torch.ones(2))
    assert json.loads(json.dumps(litz.last_report())) == litz.last_report()


def test_a_dump_tells_where_the_generated_sources_are(tmp_path):
    torch.compile(lambda x: x.exp() * 2, backend="litz", options={"dump": str(tmp_path)})(torch.ones(3))
    (path,) = litz.last_report()["cpp_paths"]
    assert tmp_path in pathlib.Path(path).parents
    assert 'extern "C" void fused_exp_mul' in pathlib.Path(path).read_text()


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
def test_a_mode_that_changes_nothing_says_so(mode, monkeypatch, capfd):
    monkeypatch.setenv("LITZ_LOG", "stages")
    torch.compile(lambda x: x + 1, backend="litz", mode=mode)(torch.ones(3))
    assert litz.last_report()["notes"] == [f"mode={mode}: changes nothing on the device 'cpu'"]
    assert f"mode={mode}: changes nothing" in capfd.readouterr().err
    assert f"mode={mode}" in str(litz.explain(lambda x: x + 2, torch.ones(3), options={"mode": mode}))


def test_workers_start_for_devices_that_only_the_graph_itself_names():
    from litz import backend

    def make(x):
        return torch.zeros(3, device="meta"), x + 1

    seen = []

    def capture(gm, example_inputs):
        seen.append(backend._device_types(gm, example_inputs))
        return gm

    torch.compile(make, backend=capture)(torch.ones(2))
    assert seen == [{"cpu", "meta"}]
