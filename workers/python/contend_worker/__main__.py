"""Started as `python DIRECTORY DRIVER`, from a launcher for each driver."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from contend_worker import main  # noqa: E402
from contend_worker.drivers import load  # noqa: E402

if len(sys.argv) < 2:
    sys.exit("contend worker: started without the name of a driver")
main.main(load(sys.argv[1]))
