"""Scripts, styles and the sample: files that the page brings along, under an address that changes with them."""

import hashlib
from pathlib import Path

from fastapi import Response
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse

STATIC = Path(__file__).parent / "static"
PLOTS = Path(__file__).parent.parent / "plots" / "plots.css"
# In a checkout among the examples; an image has it beside the page.
SAMPLES = (Path(__file__).parent / "sample", Path(__file__).parent.parent.parent / "examples")
SAMPLE_FILES = ("labeled.ndjson", "unlabeled.ndjson")

KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain"}
FOREVER = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}


def files() -> dict[str, Path]:
    """What there is, by name: a request can name nothing else."""
    found = {path.relative_to(STATIC).as_posix(): path for path in sorted(STATIC.rglob("*")) if path.suffix in KINDS}
    return found | ({PLOTS.name: PLOTS} if PLOTS.exists() else {})


def digest() -> str:
    """Changes with any of the files, so that browsers may keep each for ever."""
    found = hashlib.sha256()
    for name, path in files().items():
        found.update(name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:12]


FILES, DIGEST = files(), digest()


def asset(digest: str, name: str) -> Response:
    """A file of the page."""
    if name not in FILES or digest != DIGEST:
        raise HTTPException(404, f"the page has no file {name[:100]!r}")
    path = FILES[name]
    return FileResponse(path, media_type=KINDS[path.suffix], headers=FOREVER)


def sample_files() -> dict[str, Path]:
    """The files of the sample corpus, or nothing: an installed wheel has none."""
    for folder in SAMPLES:
        found = {name: folder / name for name in SAMPLE_FILES}
        if all(path.exists() for path in found.values()):
            return found
    return {}


def sample(name: str) -> Response:
    """A file of the sample corpus."""
    found = sample_files()
    if name not in found:
        raise HTTPException(404, f"the sample corpus has no file {name[:100]!r}")
    return FileResponse(found[name], media_type="application/x-ndjson")
