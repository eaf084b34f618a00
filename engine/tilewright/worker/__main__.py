"""``python -m tilewright.worker``; in the zip, ``PYTHON worker.zip`` comes here too."""

import sys

from .main import main

sys.exit(main())
