"""The drivers. Each is a module with the driver's name (`-` becomes `_`), so that a worker loads one library and no other."""

import importlib
import os
import sys


def load(name):
    """The driver with this name, as a list. The driver that does nothing is also called `null`, as in every worker."""
    module = name.replace("-", "_")
    if not os.path.exists(f"{__path__[0]}/{module}.py"):
        sys.exit(f"contend worker: `{name}` is not a driver of this worker: there is no {module}.py in {__path__[0]}")
    try:
        driver = importlib.import_module(f"{__name__}.{module}").driver()
    except ImportError as e:
        sys.exit(f"contend worker: {name}: {e}; `make workers-python` in the project's directory installs it")
    return [driver, *(type(driver)(alias) for alias in driver.aliases)]
