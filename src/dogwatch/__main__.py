"""`python -m dogwatch`."""

import sys

from dogwatch.cli.main import main

sys.exit(main())
