"""`python -m supply.bill_of_materials FILE`: all that Newfound installs, as a CycloneDX document."""

import subprocess
import sys
import sysconfig
from pathlib import Path

from supply.lock import LOCK, ROOT

SPECIFICATION = "1.6"


def write(file: Path) -> None:
    """Write the document, validated; the same lock file always makes the same one. Raises CalledProcessError."""
    program = Path(sysconfig.get_path("scripts")) / "cyclonedx-py"
    options = ["--spec-version", SPECIFICATION, "--output-reproducible", "--validate", "--output-file", str(file)]
    # Without the warning that a lock file does not say which package needs which.
    command = [sys.executable, "-W", "ignore", str(program), "requirements", LOCK.name, "--pyproject", "pyproject.toml"]
    subprocess.run([*command, *options], cwd=ROOT, check=True)


if __name__ == "__main__":
    write(Path(sys.argv[1]).absolute())
