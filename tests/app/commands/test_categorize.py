"""newfound categorize against a server without workers: what it refuses, what it leaves behind, and its exit codes."""

import json
import shlex
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from python_calamine import CalamineWorkbook
from sqlalchemy import update

from app import cli
from app.commands.usage import check_usage
from app.core.db import Database
from app.core.tables import Job
from app.exports import workbook
from app.exports.errors import FormatNotInstalled
from app.http.routers import exports
from newfound_client import Client
from tests.app import rows
from tests.app.commands.shell import refused_usage, run
from tests.waits import free_port, wait_for

LINES = "text;label;Größe\n" + "".join(f"galaxy star {n};{'sky' if n < 6 else ''};{n}\n" for n in range(12))
OTHER_COLUMNS = "Inhalt;Kategorie\ngalaxy;sky\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of labeled and unlabeled documents."""
    file = tmp_path / "files" / "Fälle.csv"
    file.parent.mkdir()
    file.write_text(LINES, encoding="utf-8")
    return file


def test_wrong_arguments_end_with_2_before_anything_is_done(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.csv"
    missing = tmp_path / "missing.csv"
    assert refused_usage(capsys, missing, "--out", out) == f"argument FILE: {missing}: No such file or directory"
    assert refused_usage(capsys, tmp_path, "--out", out) == f"argument FILE: {tmp_path}: Is a directory"
    assert refused_usage(capsys, file) == "the following arguments are required: --out"
    endings = "should end with one of .csv, .xlsx, .ndjson, .jsonl, .parquet"
    assert endings in refused_usage(capsys, file, "--out", tmp_path / "out.doc")
    assert "no file can be written there" in refused_usage(capsys, file, "--out", tmp_path / "no" / "out.csv")
    assert "it is one of the files to be read" in refused_usage(capsys, file, "--out", file)
    model = ["--out", out, "--save-model"]
    assert "no file can be written there" in refused_usage(capsys, file, *model, tmp_path / "no" / "model")
    assert "it is one of the files to be read" in refused_usage(capsys, file, *model, file)
    assert "the answers go there" in refused_usage(capsys, file, *model, out)
    assert "'nowhere' is not an address" in refused_usage(capsys, file, "--out", out, "--url", "nowhere")
    assert "not allowed with" in refused_usage(capsys, file, "--out", out, "--url", "http://a", "--data-folder", "b")
    assert "invalid int value: 'many'" in refused_usage(capsys, file, "--out", out, "--sweeps", "many")
    assert sorted(tmp_path.iterdir()) == [file.parent]


@pytest.mark.parametrize(
    ("content", "options", "told"),
    [
        (OTHER_COLUMNS, [], "did you mean --text Inhalt and --label Kategorie?"),
        (LINES, ["--label", "Kategorie"], "A file without labels is given as --no-labels FILE"),
        (LINES, ["--charset", "klingon"], "klingon"),
        (LINES, ["--sheet", "2"], "sheet"),
        (LINES, ["--label", ""], "say --discover for a job"),
        (LINES, ["--sweeps", "0"], "body.sweeps: Input should be greater than or equal to 1"),
        (LINES, ["--model", "oracle"], "body.model"),
        (LINES, ["--model", "sskm"], "give n_categories"),
        (LINES, ["--model", "sskm", "--n-categories", "0"], "body.n_categories: give a number from 1 to 10000"),
        ("", [], "newfound: "),
    ],
)
def test_what_the_service_refuses_ends_with_1_in_plain_words_and_leaves_nothing(
    url: str, file: Path, capsys: pytest.CaptureFixture[str], content: str, options: list[str], told: str
) -> None:
    file.write_text(content)
    out = file.parent / "out.csv"
    out.write_text("an older file")
    assert run(file, "--out", out, "--url", url, *options) == 1
    output = capsys.readouterr()
    assert told in output.err
    assert output.out == "" and "Traceback" not in output.err and "{" not in output.err
    assert list(Client(url).corpora()) == []
    assert sorted(path.name for path in file.parent.iterdir()) == ["Fälle.csv", "out.csv"]
    assert out.read_text() == "an older file"


def test_a_service_that_is_not_there_ends_with_1(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = file.parent / "out.csv"
    assert run(file, "--out", out, "--url", f"http://127.0.0.1:{free_port()}") == 1
    assert "was not answered by http://127.0.0.1:" in capsys.readouterr().err
    assert not out.exists()


def meanwhile(url: str, act: Callable[[str], None]) -> threading.Thread:
    """Do something with the job that is about to come."""

    def wait_and_act() -> None:
        act(wait_for(lambda: [job["id"] for job in Client(url).jobs()], "a job comes")[0])

    thread = threading.Thread(target=wait_and_act, daemon=True)  # no job may come in a test that fails
    thread.start()
    return thread


def test_a_job_that_fails_ends_with_1_and_its_reason(
    url: str, file: Path, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: str) -> None:
        with database.sessions.begin() as session:
            session.execute(update(Job).values(status="failed", error="the disk burns"))

    thread = meanwhile(url, fail)
    text = ["--discover", "--quiet"]
    assert run(file, "--out", file.parent / "out.csv", "--url", url, *text) == 1
    thread.join()
    assert capsys.readouterr().err.splitlines()[-1] == "newfound: the job failed: the disk burns"
    assert len(list(Client(url).jobs(status="failed"))) == 1, "it is there for whoever looks for the reason"


def succeed(database: Database) -> Callable[[str], None]:
    """Let a job succeed with answers for the documents without a label."""

    def act(job_id: str) -> None:
        with database.sessions.begin() as session:
            corpus_id = session.get_one(Job, job_id).corpus_id
        rows.add_results(database, job_id, corpus_id)
        with database.sessions.begin() as session:
            session.execute(update(Job).values(status="succeeded"))

    return act


def test_the_whole_thing_prints_what_was_found_and_writes_the_answers(
    url: str, file: Path, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    more = file.parent / "more.ndjson"
    more.write_text('{"text": "=cmd()", "year": 2024, "key": "k"}\n{"text": 7}\nno json\n')
    out = file.parent / "out.csv"
    thread = meanwhile(url, succeed(database))
    facts = ["--name", "Ärger", "--tag", "a", "--tag", "b", "--note", "n", "--seed", "5", "--sweeps", "9"]
    assert run(file, "--no-labels", more, "--out", out, "--url", url, *facts) == 0
    thread.join()
    output = capsys.readouterr()
    assert f"warning: {more}: line 3: " in output.err
    assert "1 known category and 1 new one" in output.out
    assert "physics" in output.out and "8 answers are in " in output.out
    [job] = Client(url).jobs()
    assert (job["name"], job["tags"], job["note"], job["seed"], job["sweeps"]) == ("Ärger", ["a", "b"], "n", 5, 9)
    [corpus] = Client(url).corpora()
    assert (corpus["name"], corpus["documents"], corpus["labeled"]) == ("Ärger", 14, 6)
    header, *lines = out.read_text(encoding="utf-8-sig").splitlines()
    assert header.startswith("key,text,label,category,known,probability,") and header.endswith(",Größe,year")
    assert lines[0].split(",")[1:5] == ["galaxy star 6", "", "physics", "true"]
    assert lines[6].startswith("k,'=cmd(),,physics,"), "no spreadsheet takes it for a formula"
    assert len(lines) == 8


def test_categories_are_described_before_the_job_is_queued(
    url: str, file: Path, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    described = file.parent / "categories.ndjson"
    described.write_text('{"name": "earth", "text": "land"}\n\n{"name": "sea"}\n')
    thread = meanwhile(url, succeed(database))
    assert run(file, "--descriptions", described, "--out", file.parent / "out.csv", "--url", url) == 0
    thread.join()
    client = Client(url)
    [job], [corpus] = client.jobs(), client.corpora()
    found = {each["name"]: (each["text"], each["version"]) for each in client.descriptions(corpus["id"])}
    assert found == {"earth": ("land", 2), "sea": ("", 2)}
    assert job["corpus_version"] == corpus["version"] == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"name": "a"}\nno json\n', "line 2 is not JSON"),
        ('["a"]', "an object with name and text on each line"),
        ('[{"name": "a"}, {"name": "A"}]', "names must differ in more than case"),
        ('[{"name": ""}]', "descriptions.0.name"),
    ],
)
def test_a_file_of_descriptions_that_cannot_be_used_ends_with_1_and_leaves_nothing(
    url: str, file: Path, capsys: pytest.CaptureFixture[str], content: str, told: str
) -> None:
    described = file.parent / "categories.json"
    described.write_text(content)
    assert run(file, "--descriptions", described, "--out", file.parent / "out.csv", "--url", url) == 1
    output = capsys.readouterr()
    assert f"{described}: " in output.err and told in output.err
    assert list(Client(url).corpora()) == []


@pytest.mark.parametrize("ending", ["xlsx", "XLSX", "parquet", "jsonl"])
def test_the_ending_says_the_format(
    url: str, file: Path, database: Database, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    """What is written is read back with the libraries that uploads use."""
    out = file.parent / f"out.{ending}"
    thread = meanwhile(url, succeed(database))
    assert run(file, "--out", out, "--url", url, "--quiet") == 0
    thread.join()
    expected = [(f"galaxy star {n}", str(n)) for n in range(6, 12)]
    if ending == "parquet":
        table = pyarrow.parquet.read_table(out).to_pylist()
    elif ending == "jsonl":
        table = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    else:
        header, *lines = CalamineWorkbook.from_path(out).get_sheet_by_index(0).to_python()
        table = [dict(zip(header, line, strict=True)) for line in lines]
    assert [(row["text"], row["Größe"]) for row in table] == expected
    assert {row["category"] or None for row in table} == {"physics", "new-1", None}
    assert sorted(path.name for path in file.parent.iterdir()) == ["Fälle.csv", out.name]


def test_a_format_that_the_service_does_not_write_is_refused_before_there_is_a_corpus(
    url: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise FormatNotInstalled("Parquet is not written here")

    monkeypatch.setattr(exports, "check_installed", missing)
    assert run(file, "--out", file.parent / "out.parquet", "--url", url) == 1
    assert capsys.readouterr().err.endswith("newfound: Parquet is not written here\n")
    assert list(Client(url).corpora()) == []


def test_answers_that_a_workbook_has_no_room_for_are_not_lost(
    url: str, file: Path, database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(workbook, "MAX_ROWS", 4)
    monkeypatch.setattr(Client, "export_model", lambda _, job_id, target: target.write(b"learned"))
    out, model = file.parent / "out.xlsx", file.parent / "model"
    out.write_text("an older file")
    thread = meanwhile(url, succeed(database))
    assert run(file, "--out", out, "--save-model", model, "--url", url) == 1
    thread.join()
    instead = file.parent / "out.xlsx.csv"
    told = capsys.readouterr().err
    assert "a sheet has at most 4 rows" in told and f"newfound: The answers are in {instead} instead" in told
    assert (out.read_text(), len(instead.read_text(encoding="utf-8-sig").splitlines())) == ("an older file", 7)
    assert model.read_bytes() == b"learned"


def test_json_is_one_document_on_stdout_and_quiet_is_nothing(
    url: str, file: Path, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--json", "--quiet"):
        thread = meanwhile(url, succeed(database))
        out = file.parent / "out.ndjson"
        assert run(file, "--out", out, "--url", url, option) == 0
        thread.join()
        output = capsys.readouterr()
        written = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        assert [(row["text"], row["Größe"]) for row in written] == [(f"galaxy star {n}", str(n)) for n in range(6, 12)]
        assert [line for line in output.err.splitlines() if "warning" not in line] == []
        if option == "--json":
            told: dict[str, Any] = json.loads(output.out)
            assert (told["answers"], told["job"]["status"], told["out"]) == (6, "succeeded", str(out))
            assert told["uploads"][str(file)]["accepted"] == 12
            assert told["categories"]["new_categories"]["number"] == 1
        else:
            assert output.out == ""
        Client(url).delete_job(next(iter(Client(url).jobs()))["id"])


@pytest.mark.parametrize("is_job_known", [True, False])
def test_an_interrupt_cancels_the_job_of_a_running_service(
    url: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_job_known: bool
) -> None:
    """Also if it comes when the job is queued and the answer that says so is on its way."""
    interrupted: list[str] = []

    def interrupt(client: Client, *arguments: Any, **options: Any) -> Any:
        if interrupted:
            return submit(client, *arguments, **options)
        interrupted.append("once")
        if not is_job_known:
            submit(client, *arguments, **options)
        raise KeyboardInterrupt

    submit = Client.submit
    monkeypatch.setattr(Client, "follow" if is_job_known else "submit", interrupt)
    assert run(file, "--out", file.parent / "out.csv", "--url", url) == 130
    assert [job["status"] for job in Client(url).jobs()] == ["cancelled"]
    assert "is cancelled" in capsys.readouterr().err
    assert [path.name for path in file.parent.iterdir()] == ["Fälle.csv"]


def test_an_interrupt_before_there_is_a_job_leaves_no_corpus(
    url: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "upload", interrupt)
    assert run(file, "--out", file.parent / "out.csv", "--url", url) == 130
    assert list(Client(url).corpora()) == []


def test_the_help_has_examples_that_the_command_understands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run("--help")
    assert ended.value.code == 0
    text = capsys.readouterr().out
    examples = [line for line in text.splitlines() if line.startswith("  newfound categorize ")]
    assert len(examples) == 10
    monkeypatch.chdir(tmp_path)
    for example in examples:
        _, *words = shlex.split(example, comments=True)
        for name in words:
            if name.endswith((".csv", ".xlsx", ".txt", ".ndjson", ".newfound-model")):
                Path(name).touch()
        check_usage(cli.make_parser().parse_args(words))
