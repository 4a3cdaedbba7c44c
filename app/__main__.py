"""`newfound`, which is `python -m app` as well."""

import sys

from app.core.loading import loading

with loading():
    from app.cli import main

if __name__ == "__main__":
    sys.exit(main())
