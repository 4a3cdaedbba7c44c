"""The arguments of `newfound categorize`. Loads nothing: every command makes them."""

import argparse
from pathlib import Path

DESCRIPTION = """\
Give each unlabeled document of some files a category, a known one or a new one, and write the answers to a file.
With --with, no job is run: the documents of a file are categorized by what an earlier job has learned.
With --continue, the files are added to the documents of an earlier job, and a job continues that one.

Labels are read from the column `label`, texts from `text`. Any file that uploads read will do: CSV, XLSX, JSON,
NDJSON, Parquet, text files in a ZIP. Without --url a service is started for the time of the job, on this machine.
"""
EXAMPLES = """\
examples:
  newfound categorize tickets.csv --out answers.xlsx
  newfound categorize export.csv --charset windows-1252 --text Betreff --text Inhalt --label Kategorie --out answers.csv
  newfound categorize labeled.csv --label Topic --no-labels inbox.xlsx --text Body --out answers.ndjson
  newfound categorize tickets.csv --url http://127.0.0.1:8000 --name "Tickets of autumn" --tag tickets --out answers.csv
  newfound categorize tickets.csv --descriptions categories.ndjson --out answers.csv    # names without labels
  newfound categorize notes.txt --discover --out answers.csv      # no label at all: all categories are new

  # once, and then for new documents every hour: the model as a file, or a job of a running service
  newfound categorize tickets.csv --out answers.csv --save-model tickets.newfound-model
  newfound categorize new.csv --with tickets.newfound-model --out sorted.csv
  newfound categorize new.csv --with 7d9f2c3e-5a41-4b8e-9c1d-2f6a8b3e4d50 --url http://127.0.0.1:8000 --out sorted.csv

  # the documents of the second week, with what people have decided about the answer of the first
  newfound categorize week2.csv --continue 7d9f2c3e-5a41-4b8e-9c1d-2f6a8b3e4d50 --url http://127.0.0.1:8000 --out w2.csv

exit codes: 0 done; 1 refused, or the job failed; 2 wrong arguments; 130 interrupted, and the job is cancelled
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments to the command."""
    command.description, command.epilog = DESCRIPTION, EXAMPLES
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.set_defaults(refuse_usage=command.error)
    command.add_argument("files", nargs="+", type=existing_file, metavar="FILE", help="documents, labeled or not")
    command.add_argument(
        "--no-labels",
        action="append",
        default=[],
        type=existing_file,
        metavar="FILE",
        help="more documents, in a file without a column of labels; may be given several times",
    )
    command.add_argument(
        "--descriptions",
        type=existing_file,
        metavar="FILE",
        help="categories that need no labeled document, with a name and a text each, as JSON lines or JSON: new ones "
        "that fit are called so",
    )
    command.add_argument(
        "--out", required=True, type=Path, metavar="FILE", help="answers: .csv, .xlsx, .ndjson, .jsonl or .parquet"
    )
    earlier = command.add_mutually_exclusive_group()
    earlier.add_argument(
        "--with",
        dest="frozen",
        metavar="MODEL",
        help="run no job: categorize new documents by the file of a model, or by the id of a job or of a model in the "
        "service; answers are .csv, .ndjson or .jsonl",
    )
    earlier.add_argument(
        "--continue",
        dest="continued",
        metavar="JOB",
        help="add the documents to the corpus of a job of the service, correct those that are there already, and "
        "continue the job, with what was decided about it",
    )
    command.add_argument(
        "--save-model", type=Path, metavar="FILE", help="keep what the job has learned, for --with; no texts are in it"
    )
    add_service(command.add_argument_group("service"))
    add_reading(command.add_argument_group("how the files are read (docs/uploads.md)"))
    add_job(command.add_argument_group("job"))
    shown = command.add_argument_group("what is printed").add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="warnings and errors only")
    shown.add_argument("--json", action="store_true", help="the uploads, the job and its categories, as JSON")


def add_service(group: argparse._ArgumentGroup) -> None:
    """Which service."""
    choice = group.add_mutually_exclusive_group()
    choice.add_argument(
        "--url",
        help="of a running service, such as http://127.0.0.1:8000; if it asks for an API key, put that into the "
        "environment as NEWFOUND_KEY",
    )
    choice.add_argument(
        "--data-folder", type=Path, metavar="FOLDER", help="keep the data of the service that is started here"
    )


def add_reading(group: argparse._ArgumentGroup) -> None:
    """The options of uploads, for all files."""
    group.add_argument("--text", action="append", metavar="COLUMN", help="column of the text; several are joined")
    group.add_argument("--label", metavar="COLUMN", help="column of the label; '' for none")
    group.add_argument("--key", metavar="COLUMN", help="column of the key; '' for none")
    group.add_argument("--vector", metavar="COLUMN", help="column of vectors, which are lists of numbers; '' for none")
    group.add_argument(
        "--unlabeled", action="append", metavar="VALUE", help="value of the label's column that means no label"
    )
    group.add_argument("--charset", help="such as windows-1252")
    group.add_argument("--format", help="such as csv; found out by default")
    group.add_argument("--delimiter", help="one character, or tab, comma, semicolon, pipe")
    group.add_argument("--header", choices=("true", "false"), help="whether the first row names the columns")
    group.add_argument("--sheet", help="of a workbook")


def add_job(group: argparse._ArgumentGroup) -> None:
    """The settings of the job."""
    group.add_argument("--model", help="calibrated (the default), lbpl-ntm, dlda, sl, cosc, sskm, cluto or dpgm")
    group.add_argument("--n-categories", type=int, metavar="N", help="with known ones, for models that are told")
    group.add_argument("--seed", type=int, help="same seed, same answer")
    group.add_argument("--sweeps", type=int, help="of each chain")
    group.add_argument("--chains", type=int)
    group.add_argument("--discover", action="store_true", help="take files without any label, too")
    group.add_argument("--name", help="of the corpus and the job; by default that of the first file")
    group.add_argument(
        "--tag", action="append", default=[], metavar="TAG", help="of the job; may be given several times"
    )
    group.add_argument("--note", help="on the job")


def existing_file(path: str) -> Path:
    """The path of a file that can be read."""
    try:
        with Path(path).open("rb"):
            return Path(path)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {error.strerror}") from None
