"""Litz, a tensor compiler for PyTorch: torch.compile(model, backend="litz")."""

from litz._C import UserError, compiler_version, version
from litz.backend import Fallback, backend_entry, counters, last_report, reports
from litz.explain import explain
from litz.options import list_options

__all__ = ["Fallback", "UserError", "backend_entry", "compiler_version", "counters", "explain", "last_report", "list_options", "reports", "version"]
__version__ = version()
