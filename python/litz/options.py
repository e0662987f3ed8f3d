"""Options: what torch.compile passes on, and the variable LITZ_OPT, checked against the list in the C++ library."""

import json
import os

import torch

from litz import _C


def list_options():
    """Every option: a list of dicts with name, type, default, allowed values and meaning."""
    return json.loads(_C.list_options())


def resolve(mode=None, options=None):
    """The options of one compile as a dict of texts, checked. LITZ_OPT=key=value,... comes last. Raises UserError."""
    chosen = {}
    if mode is not None:
        chosen["mode"] = mode
    for key, value in (options or {}).items():
        chosen[str(key)] = _text(value)
    for pair in filter(None, os.environ.get("LITZ_OPT", "").split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise _C.UserError(f"LITZ_OPT: found '{pair}', expected key=value pairs separated by commas")
        chosen[key.strip()] = value.strip()
    if torch.are_deterministic_algorithms_enabled():  # Dynamo compiles again when this changes
        chosen["deterministic"] = "true"
    _C.check_options([f"{key}={value}" for key, value in chosen.items()])
    return chosen


def _text(value):
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
