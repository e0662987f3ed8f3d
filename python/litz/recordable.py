"""Which captured graphs can be recorded, and what a graph's results are for."""

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from litz.recording import Results

# Ops that draw from the device's default generator alone: torch gives a recorded kernel the state of the generator at every replay.
_DRAW_ON_THE_DEVICE = {"bernoulli", "native_dropout", "normal_functional", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "uniform"}


def recording_refusal(gm, kind, metadata, report, device_type):
    """Why a captured graph cannot be recorded, or None. `report` tells of the calls that the compiled graph makes."""
    return (_refusal_of_inputs(gm, metadata) if kind != "backward" else _refusal_of_mutation(gm)) or _refusal_of_nodes(gm, report, device_type)


def _refusal_of_inputs(gm, metadata):
    placeholders = gm.graph.find_nodes(op="placeholder")
    if metadata is None or len(metadata.input_info) != len(placeholders):
        return "its inputs are not known one by one"
    static = set(metadata.static_input_indices)
    for i, info in enumerate(metadata.input_info):
        if (info.mutates_data or info.mutates_metadata) and i not in static:
            return f"input {i} is mutated"
    return None


def _refusal_of_mutation(gm):
    """A backward graph may write into an input of the forward graph."""
    for node in gm.graph.nodes:
        if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
            written = [a for a, given in zip(node.args, node.target._schema.arguments) if given.alias_info is not None and given.alias_info.is_write]
            if any(isinstance(x, torch.fx.Node) and x.op == "placeholder" for x in written):
                return f"{node.target} writes to an input"
    return None


def _refusal_of_nodes(gm, report, device_type):
    devices = {x.device for node in gm.graph.nodes for x in _tensors_of(node)}
    if len(devices) != 1 or next(iter(devices)).type != device_type:
        return f"its tensors are on {', '.join(sorted(map(str, devices))) or 'no device'}"
    for node in gm.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        if torch.Tag.nondeterministic_seeded in node.target.tags and not _can_draw_in_a_recording(node):
            return f"{node.target} draws random numbers"
        if _gives_numbers_of_the_run(node):
            return f"{node.target} gives the host a number"
    for name in (*report["library_calls"], *report["extern_calls"]):
        if name.startswith("litz_python.") and "scaled_dot_product" not in name:
            return f"{name} runs Python"
    return None


def _tensors_of(node):
    value = node.meta.get("val")
    return [x for x in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(x, torch.Tensor)]


def _gives_numbers_of_the_run(node):
    value = node.meta.get("val")
    leaves = value if isinstance(value, (tuple, list)) else (value,)
    sizes = [x for leaf in leaves for x in (leaf.shape if isinstance(leaf, torch.Tensor) else (leaf,))]
    return any(isinstance(x, (torch.SymInt, torch.SymFloat, torch.SymBool)) and free_unbacked_symbols(x) for x in sizes)


def _can_draw_in_a_recording(node):
    name = node.target._schema.name.removeprefix("aten::")
    given = dict(zip([a.name for a in node.target._schema.arguments], node.args)) | dict(node.kwargs)
    if "scaled_dot_product" in name:
        return given.get("dropout_p", 0.0) == 0.0  # a seed that is drawn lies on the host or the device as the call is recorded or not
    return name in _DRAW_ON_THE_DEVICE and given.get("generator") is None


def results_of_forward(gm, metadata):
    """The results of a forward graph, or None where it is not known which of them are saved."""
    try:
        count, infos = metadata.num_forward, metadata.input_info
    except AttributeError:  # another torch keeps its books otherwise
        return None
    outputs = gm.graph.output_node().args[0]
    saved = frozenset(i for i, x in enumerate(outputs) if i >= count and isinstance(x, torch.fx.Node) and _tensors_of(x))
    return Results("forward", saved, frozenset(i for i, info in enumerate(infos) if not info.requires_grad))


def saved_arguments(gm, forward):
    """Argument of a backward graph -> position of what it is among the results of the forward graph, or None where that is not known. The
    arguments are the saved numbers, the saved tensors in their order, the gradients that come in."""
    placeholders = gm.graph.find_nodes(op="placeholder")
    first = next((i for i, node in enumerate(placeholders) if _tensors_of(node)), len(placeholders))
    after = first + len(forward.saved)
    are_tensors = len(placeholders) >= after and all(_tensors_of(node) for node in placeholders[first:])
    if not are_tensors or not all(node.name.startswith("tangents_") for node in placeholders[after:]):
        return None
    return dict(enumerate(sorted(forward.saved), first))
