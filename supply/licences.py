"""`python -m supply.licences`: docs/licences.md, from what the installed packages say of themselves."""

import sys
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path

from packaging.licenses import canonicalize_license_expression

from supply.lock import ROOT, locked

PAGE = ROOT / "docs" / "licences.md"

# Where a package has no licence expression: the one that its words mean.
WORDS = {"MIT": "MIT", "MIT License": "MIT", "BSD-3-Clause": "BSD-3-Clause", "New BSD": "BSD-3-Clause"}
# Where its words say too little ("BSD", two classifiers), or the package is of another system: read in its licence.
READ = {
    "amqp": "BSD-3-Clause",
    "async-timeout": "Apache-2.0",
    "billiard": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "markdown-it-py": "MIT",
    "mdurl": "MIT",
    "numba": "BSD-2-Clause",
    "prompt-toolkit": "BSD-3-Clause",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    "scipy": "BSD-3-Clause",
    "tzdata": "Apache-2.0",
    "uvloop": "Apache-2.0 OR MIT",
    "vine": "BSD-3-Clause",
    "wcwidth": "MIT",
}
# Copyleft, and why it does not reach Newfound.
REASONS = {
    "psycopg": "a library that is imported, not changed, and can be replaced by another version",
    "psycopg-binary": "the same, with libpq compiled in",
}
# Libraries inside wheels, by the beginnings of their files' names: what they are, and their licence.
BUNDLED = {
    "numpy, scipy": {
        "libscipy_openblas": ("OpenBLAS", "BSD-3-Clause"),
        "libgfortran": ("GCC's runtime library", "GPL-3.0-or-later WITH GCC-exception-3.1"),
        "libquadmath": ("GCC's runtime library", "LGPL-2.1-or-later"),
    },
    "scikit-learn": {"libgomp": ("GCC's runtime library", "GPL-3.0-or-later WITH GCC-exception-3.1")},
    "psycopg-binary": {
        "libpq": ("PostgreSQL", "PostgreSQL"),
        "libcrypto": ("OpenSSL", "Apache-2.0"),
        "libssl": ("OpenSSL", "Apache-2.0"),
        "libcom_err": ("E2fsprogs", "MIT"),
        "libgssapi_krb5": ("MIT Kerberos", "MIT"),
        "libk5crypto": ("MIT Kerberos", "MIT"),
        "libkrb5": ("MIT Kerberos", "MIT"),
        "libkrb5support": ("MIT Kerberos", "MIT"),
        "libkeyutils": ("keyutils", "LGPL-2.1-or-later"),
        "libcrypt": ("libxcrypt or glibc", "LGPL-2.1-or-later"),
        "liblber": ("OpenLDAP", "OLDAP-2.8"),
        "libldap": ("OpenLDAP", "OLDAP-2.8"),
        "libsasl2": ("Cyrus SASL", "BSD-3-Clause-Attribution"),
    },
}
# Files of others that a browser gets: where they are, what they are, and their licence.
SERVED = [
    ("app/page/static/vendor", "uPlot", "MIT"),
    ("fastapi-offline, static/swagger-ui*", "Swagger UI", "Apache-2.0"),
    ("fastapi-offline, static/redoc*", "ReDoc", "MIT"),
]

HEAD = """\
# Licences

Newfound is under the MIT licence. This page lists what it installs (`requirements.lock`), as the packages themselves
say it. `make licences` writes it; a test holds it against the lock file. Packages of the extras are not on it.

| package | version | licence |
| --- | --- | --- |
"""


def licence_of(name: str) -> str:
    """The licence expression of a package. Raises ValueError if nothing says it."""
    if name in READ:
        return READ[name]
    try:
        found: PackageMetadata = metadata(name)
    except PackageNotFoundError as error:
        raise ValueError(f"{name} is not installed here: look up its licence and enter it in READ") from error
    if "License-Expression" in found:
        return canonicalize_license_expression(found["License-Expression"])
    if "License" in found and found["License"] in WORDS:
        return WORDS[found["License"]]
    raise ValueError(f"{name} does not say its licence in words that are known: read it and enter it in READ")


def page() -> str:
    """The whole page."""
    versions: dict[str, list[str]] = {}
    for pinned in locked():
        versions.setdefault(pinned.name, []).append(pinned.version)
    rows = [f"| {name} | {', '.join(found)} | {licence_of(name)} |" for name, found in versions.items()]
    copyleft = [f"- {name} ({licence_of(name)}): {reason}." for name, reason in REASONS.items()]
    bundled = [
        f"| {wheel} | {what} | {licence} |"
        for wheel, libraries in BUNDLED.items()
        for what, licence in dict.fromkeys(libraries.values())
    ]
    served = [f"| {where} | {what} | {licence} |" for where, what, licence in SERVED]
    return HEAD + "\n".join(
        [
            *rows,
            "\n## Copyleft\n",
            "Licences that ask something of whoever distributes the package, and why they do not reach Newfound:\n",
            *copyleft,
            "\n## Inside wheels\n",
            "Libraries that the packages' wheels for Linux bring along.\n",
            "| wheel | library | licence |",
            "| --- | --- | --- |",
            *bundled,
            "\n## Sent to browsers\n",
            "| where | what | licence |",
            "| --- | --- | --- |",
            *served,
            "\nThe sample corpus is under CC0-1.0 ([examples](../examples/README.md#source-and-licence)).",
            "",
        ]
    )


def main(path: Path = PAGE) -> int:
    """Write the page."""
    try:
        path.write_text(page())
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
