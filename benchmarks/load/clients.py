"""Clients as a process of their own, and whether all that they were told is there afterwards."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import func, select

from app.core.db import Database
from app.core.tables import Document
from benchmarks.load.traffic import Plan, Told, told_from
from tests.faults.programs import ROOT

END_SECONDS = 90.0  # for what is under way at the end to be answered, at most


class Clients:
    """A process of clients, which waits until it is to begin."""

    def __init__(self, plan: Plan) -> None:
        command = [sys.executable, "-m", "benchmarks.load.traffic"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.say(json.dumps(plan._asdict()))
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("the clients did not start")

    def say(self, line: str) -> None:
        """Write a line to the process."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def begin(self) -> None:
        """Let them ask."""
        self.say("begin")

    def end(self, seconds: float = END_SECONDS) -> Told:
        """Let them come to their end, within so many seconds; what became of it."""
        try:
            output, _ = self.process.communicate("end\n", timeout=seconds)
        finally:
            self.close()
        return told_from(output)

    def close(self) -> None:
        """End the process, whatever it is at."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


class Counted(NamedTuple):
    """What is not as it was told."""

    lost: int  # documents that were accepted and are not there
    doubled: int  # that are there more than once, or that nobody sent
    unlike: int  # corpora that the API counts otherwise than they are counted here


def count(database: Database, told: Told, n_told: Callable[[str], int]) -> Counted:
    """Compare what clients were told with the database; `n_told` is how many documents the API says a corpus has."""
    lost = doubled = unlike = 0
    for corpus_id, accepted in told.accepted.items():
        keys = select(Document.key, func.count()).where(Document.corpus_id == corpus_id).group_by(Document.key)
        with database.readers.begin() as session:
            stored = dict(session.execute(keys).all())
        sent = {*accepted, *told.unanswered[corpus_id]}
        lost += len(set(accepted) - stored.keys())
        doubled += sum(n - 1 for n in stored.values()) + len(stored.keys() - sent)
        unlike += n_told(corpus_id) != sum(stored.values())
    return Counted(lost, doubled, unlike)
