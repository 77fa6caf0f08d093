"""Scripts of the project as modules."""

import importlib.util
import sys
from functools import cache
from types import ModuleType

from kept.figures import ROOT


@cache
def script(name: str) -> ModuleType:
    """The module scripts/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses looks the module up
    spec.loader.exec_module(module)
    return module
