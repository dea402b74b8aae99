"""`python -m saleroom` is `saleroom`."""

import sys

from saleroom.cli import main

sys.exit(main())
