"""A corpus of some files, a job over it, and its answers as files."""

import argparse
import io
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from rich.console import Console
from rich.markup import escape

from app.commands import CommandFailed
from app.commands.answers_shown import JobBar
from app.commands.refusals import LABELS, READING, given, in_options, refused_file, say, warn_of_rows
from app.core.tables import MAX_NAME
from app.processes.supervisor import Supervisor
from newfound_client import Client, JobNotSucceeded, NewfoundError, Refused
from newfound_client.descriptions import read_descriptions
from newfound_client.files import TABLE_FORMATS, replacing

SETTINGS = ("model", "n_categories", "seed", "sweeps", "chains")
ABANDON_SECONDS = 10.0  # for each answer, once the command is interrupted
LOOK_SECONDS = 0.5
NO_JOB = "00000000-0000-0000-0000-000000000000"

Json = dict[str, Any]


class Categorization:
    """A corpus of the files, and a job over it."""

    storing: Mapping[str, Any] = {}  # options of uploads on what becomes of the rows

    def __init__(
        self, client: Client, supervisor: Supervisor | None, parsed: argparse.Namespace, told: Console
    ) -> None:  # fmt: skip
        self.client, self.supervisor, self.parsed, self.told = client, supervisor, parsed, told
        self.name = (parsed.name or parsed.files[0].name)[:MAX_NAME]
        self.corpus_id: str | None = None
        self.submission: Callable[[], Json] | None = None  # once it has been sent; sent again, it is the same job

    def run(self) -> Json:
        """The uploads, the job once it has succeeded, its categories and the number of its answers.

        Raises NewfoundError. Whatever ends this early, the job is cancelled, and a corpus without a job deleted.
        """
        descriptions = self.descriptions()
        try:
            self.corpus_id = self.find_corpus()
            uploads = self.upload(self.corpus_id)
            self.describe(self.corpus_id, descriptions)
            job = self.submit(self.corpus_id)
            answers = self.client.corpus(self.corpus_id)["unlabeled"]  # before others upload to it
            job = self.follow(job["id"])
            return {
                "uploads": uploads,
                "job": job,
                "categories": self.client.categories(job["id"]),
                "answers": answers,
            }
        except BaseException:
            self.abandon()
            raise

    def find_corpus(self) -> str:
        """The id of the corpus that the files go to: a new one."""
        return str(self.client.create_corpus(self.name)["id"])

    def upload(self, corpus_id: str) -> dict[str, Json]:
        """Add all files; returns what became of each, by its path."""
        reading, labels = given(self.parsed, *READING), given(self.parsed, *LABELS)
        answers: dict[str, Json] = {}
        for path, options in [
            *((file, {**reading, **labels}) for file in self.parsed.files),
            *((file, {**reading, "label": ""}) for file in self.parsed.no_labels),
        ]:
            self.told.print(f"Uploading {escape(str(path))}")
            try:
                answers[str(path)] = self.client.upload(corpus_id, path, **options, **self.storing)
            except Refused as error:
                raise refused_file(path, error) from error
            self.warn(path, answers[str(path)])
        return answers

    def descriptions(self) -> list[Json] | None:
        """What the file of descriptions says, if there is one. Raises CommandFailed."""
        path = self.parsed.descriptions
        try:
            return None if path is None else read_descriptions(path)
        except ValueError as error:
            raise CommandFailed(f"{path}: {error}") from error

    def describe(self, corpus_id: str, descriptions: list[Json] | None) -> None:
        """Say what categories are about, in the place of what the corpus had. Raises CommandFailed."""
        if descriptions is None:
            return
        try:
            self.client.describe(corpus_id, descriptions)
        except Refused as error:
            raise refused_file(self.parsed.descriptions, error) from error

    def warn(self, path: Path, answer: Json) -> None:
        """Say what may be wrong with an upload."""
        for warning in answer["warnings"]:
            say(f"warning: {path}: {warning}")
        warn_of_rows(path, answer["rejected"], answer["errors"])

    def submit(self, corpus_id: str) -> Json:
        """Queue the job; whether or not its answer comes, it can be found again by its key."""
        self.submission = self.submission_over(corpus_id)
        try:
            job = self.submission()
        except Refused as error:
            self.submission = None
            raise CommandFailed(in_options(str(error))) from error
        for warning in job["warnings"]:
            say(f"warning: {warning}")
        return job

    def submission_over(self, corpus_id: str) -> Callable[[], Json]:
        """What queues the job, under a key of its own."""
        settings = {name: value for name, value in given(self.parsed, *SETTINGS).items() if value is not None}
        settings["discover"] = self.parsed.discover
        return partial(self.client.submit, corpus_id, **self.facts(), **settings)

    def facts(self) -> Json:
        """What the job is called, and a new key."""
        parsed = self.parsed
        return {"name": self.name, "tags": parsed.tag, "note": parsed.note, "idempotency_key": uuid.uuid4().hex}

    def follow(self, job_id: str) -> Json:
        """The job once it has succeeded; a bar shows how far it is."""
        with JobBar(self.told, is_shown=not self.told.quiet) as bar:
            for job in self.client.follow(job_id, LOOK_SECONDS):
                if self.supervisor is not None:
                    self.supervisor.check()
                bar.show(job)
        if job["status"] != "succeeded":
            raise JobNotSucceeded(job)
        return job

    def abandon(self) -> None:
        """Leave nothing behind in a service that continues: neither a live job nor a corpus without one."""
        is_temporary = self.supervisor is not None and self.parsed.data_folder is None
        if self.corpus_id is None or is_temporary:
            return
        self.client.connection.timeout = ABANDON_SECONDS
        with suppress(NewfoundError):
            if self.submission is None:
                self.abandon_corpus(self.corpus_id)
            else:
                job = self.submission()
                self.client.cancel(job["id"])
                say(f"job {job['id']} is cancelled")

    def abandon_corpus(self, corpus_id: str) -> None:
        """Leave no corpus without a job behind."""
        self.client.delete_corpus(corpus_id)


class Continuation(Categorization):
    """Files that are added to the corpus of a job, and a job that continues that one."""

    storing: Mapping[str, Any] = {"on_conflict": "replace"}  # a document that comes again is a correction

    def find_corpus(self) -> str:
        """The id of the job's corpus. Raises CommandFailed, before anything is uploaded, if there is no going on."""
        source = self.client.job(self.parsed.continued)
        if source["status"] in ("failed", "cancelled"):
            raise CommandFailed(f"job {source['id']} is {source['status']}; resume it, and continue it then")
        return str(source["corpus_id"])

    def submission_over(self, corpus_id: str) -> Callable[[], Json]:
        """What queues the job that continues, under a key of its own."""
        given = {"sweeps": self.parsed.sweeps, "wait": True, **self.facts()}
        return partial(self.client.continue_job, self.parsed.continued, **given)

    def abandon_corpus(self, corpus_id: str) -> None:
        """Leave the corpus, which is that of another job, and say so."""
        say(f"what has been uploaded so far stays in corpus {corpus_id}")


def check_format(client: Client, out: Path) -> None:
    """Raise Refused, before there is a job, if the service does not write files of this format."""
    try:
        client.export(NO_JOB, io.BytesIO(), TABLE_FORMATS[out.suffix.lower()])
    except Refused as error:
        if error.kind != "job-not-found":
            raise


def write_answers(client: Client, job_id: str, file: BinaryIO, out: Path) -> None:
    """Write a job's answers to the file that is to be `out`.

    Answers that its format has no room for, such as long texts in a workbook, go to a CSV beside it instead. Raises
    CommandFailed then.
    """
    chosen = TABLE_FORMATS[out.suffix.lower()]
    try:
        client.export(job_id, file, chosen, **options_of(chosen))
    except Refused as error:
        if error.kind != "export-too-large":
            raise
        instead = out.with_name(f"{out.name}.csv")
        with replacing(instead) as other:
            client.export(job_id, other, "csv", **options_of("csv"))
        raise CommandFailed(f"{out}: {error}\nThe answers are in {instead} instead") from error


def options_of(chosen: str) -> Json:
    """How a file is to be written: a CSV with the mark by which spreadsheets know UTF-8."""
    return {"bom": True} if chosen == "csv" else {}
