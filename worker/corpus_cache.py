"""The local folder of encoded corpora: each is written once on a host, and mapped by all processes there.

A file is named for its digest. Nothing in the folder is the only copy of anything: it may be emptied at any time.
"""

import errno
import fcntl
import hashlib
import logging
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from worker.corpus_file import Arrays, CorpusFileError, Sizes, layout, mapped, piece_of

logger = logging.getLogger(__name__)

NAME = re.compile("[0-9a-f]{64}")  # of a file that is whole: its digest
PARTIAL = ".partial"  # how the names of files end that are being written
ABANDONED_SECONDS = 3600.0  # such a file that nobody has added to for so long has lost its writer
LOCK = "lock"

checked: set[tuple[str, int, int]] = set()  # digest, inode and time of the files that this process has read through


class CorpusCache:
    """The folder, how many bytes it may hold, and how many it leaves free on its disk."""

    def __init__(self, folder: Path, max_bytes: int, kept_bytes: int = 0) -> None:
        self.folder, self.max_bytes, self.kept_bytes = folder, max_bytes, kept_bytes

    def load(self, digest: str, sizes: Sizes, parts: Callable[[], Iterable[bytes]]) -> Arrays:
        """Map the corpus with this digest; if it is not here yet, or damaged, write it from its parts first.

        Raises CorpusFileError if the parts are not that corpus, OSError (ENOSPC) if there is no room for the file.
        """
        path = self.folder / digest
        arrays = read(path, sizes)
        if arrays is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.turn(digest):  # whoever comes second finds the file
                arrays = read(path, sizes)
                if arrays is None:
                    self.make_room(layout(sizes)[1])
                    arrays = write(path, parts(), sizes)
            self.tidy()
        return arrays

    @contextmanager
    def turn(self, digest: str) -> Iterator[None]:
        """Within this context no other process of this host writes that file.

        The lock is on one byte of a file that all share, and goes with the process that holds it.
        """
        with (self.folder / LOCK).open("ab") as file:
            fcntl.lockf(file, fcntl.LOCK_EX, 1, int(digest[:7], 16))
            yield

    def make_room(self, n_bytes: int) -> None:
        """Remove files that were not used for longest, until so many bytes fit. Raises OSError (ENOSPC)."""
        wanted = n_bytes + self.kept_bytes
        for _, _, path in reversed(self.by_use()):
            if shutil.disk_usage(self.folder).free >= wanted:
                return
            logger.info("%s is removed: there is no space for another", path)
            path.unlink(missing_ok=True)
        free = shutil.disk_usage(self.folder).free
        if free < wanted:
            raise OSError(errno.ENOSPC, f"{free} bytes are free, {wanted} are needed", str(self.folder))

    def tidy(self) -> None:
        """Remove the files that were not used for longest, until the others keep the limit; the last one stays.

        Processes that have mapped a file keep it until they need it no more.
        """
        total = 0
        for position, (_, size, path) in enumerate(self.by_use()):
            total += size
            if position > 0 and total > self.max_bytes:
                logger.info("%s is removed: the folder may hold at most %d bytes", path, self.max_bytes)
                path.unlink(missing_ok=True)

    def keep_only(self, wanted: Callable[[list[str]], set[str]]) -> None:
        """Remove the files that nothing refers to any more: their texts may have been erased.

        `wanted` says which digests are still those of encodings.
        """
        if not self.folder.is_dir():
            return
        here = [path.name for path in self.folder.iterdir() if NAME.fullmatch(path.name)]
        if here:
            for digest in set(here) - wanted(here):
                logger.info("the encoded corpus %s is removed: it is no longer in the database", digest)
                (self.folder / digest).unlink(missing_ok=True)

    def by_use(self) -> list[tuple[int, int, Path]]:
        """When each file was used, its size and its path, the last used first; abandoned ones are removed."""
        found = []
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):
                status = path.stat()
                if NAME.fullmatch(path.name):
                    found.append((status.st_atime_ns, status.st_size, path))
                elif path.suffix == PARTIAL and time.time() - status.st_mtime > ABANDONED_SECONDS:
                    path.unlink()
        return sorted(found, reverse=True)


def read(path: Path, sizes: Sizes) -> Arrays | None:
    """Map a file; None if it is not there, or damaged.

    Its length is checked each time, its digest once in the life of a process.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            arrays = mapped(file.fileno(), sizes)
            identity = (path.name, status.st_ino, status.st_mtime_ns)
            if identity not in checked:
                hashed = hashlib.file_digest(file, "sha256").hexdigest()
                if hashed != path.name:
                    raise CorpusFileError(f"its digest is {hashed}")
                checked.add(identity)
        os.utime(path, ns=(time.time_ns(), status.st_mtime_ns))  # says that it is in use
    except FileNotFoundError:
        return None
    except CorpusFileError as error:
        logger.warning("%s is damaged and is written again: %s", path, error)
        return None
    return arrays


def write(path: Path, parts: Iterable[bytes], sizes: Sizes) -> Arrays:
    """Write a file from its parts, the whole of it or nothing, and map it.

    Raises CorpusFileError if they do not make up the file that its name says.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=f"{path.name}.", suffix=PARTIAL, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb+") as file:
            hashed = hashlib.sha256()
            for part in parts:
                piece = piece_of(part)
                hashed.update(piece)
                file.write(piece)
            if hashed.hexdigest() != path.name:
                raise CorpusFileError(f"the encoded corpus has the digest {hashed.hexdigest()}, not {path.name}")
            file.flush()
            os.fsync(descriptor)  # else a host that loses power may leave a name without all of its bytes
            arrays = mapped(descriptor, sizes)
            status = os.fstat(descriptor)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    checked.add((path.name, status.st_ino, status.st_mtime_ns))
    return arrays
