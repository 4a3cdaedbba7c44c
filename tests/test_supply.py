"""What Newfound is made of: pinned and hashed, licensed, listed, and asked about."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

import fastapi_offline  # type: ignore[import-untyped]
import pytest
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation import make_schemabased_validator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply import bill_of_materials, licences
from supply.lock import LOCK, ROOT, Pinned, locked

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = [LOCK, ROOT / "requirements-test.lock"]
COPYLEFT = re.compile("GPL|MPL|EPL|CDDL|EUPL|OSL|CC-BY-SA")
UNREACHABLE = "http://127.0.0.1:9"

every_lock = pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)


@every_lock
def test_every_requirement_is_pinned_by_hashes_and_comes_from_no_other_place(path: Path) -> None:
    found = locked(path)
    assert len(found) > 50
    assert not [pinned.name for pinned in found if not pinned.hashes]
    assert "://" not in path.read_text()
    assert not re.search(r"^\s*-[a-z]|^--|@", path.read_text(), re.MULTILINE)


def test_a_requirement_that_is_not_pinned_would_be_noticed(tmp_path: Path) -> None:
    for line in ("numpy>=2", "--index-url x", "numpy @ file:///numpy.whl", "numpy==2.4.6 extra"):
        (tmp_path / "wrong.lock").write_text(f"{line}\n")
        with pytest.raises(ValueError, match="no pinned requirement"):
            locked(tmp_path / "wrong.lock")


@pytest.mark.parametrize(("path", "extras"), [(LOCKS[0], ("build",)), (LOCKS[1], ("build", "test"))])
def test_the_lock_satisfies_what_the_project_requires(path: Path, extras: tuple[str, ...]) -> None:
    versions: dict[str, list[Pinned]] = {}
    for pinned in locked(path):
        versions.setdefault(pinned.name, []).append(pinned)
    wanted = PROJECT["project"]["dependencies"] + PROJECT["build-system"]["requires"]
    wanted += [line for extra in extras for line in PROJECT["project"]["optional-dependencies"][extra]]
    for line in wanted:
        requirement = Requirement(line)
        found = versions[canonicalize_name(requirement.name)]
        assert all(requirement.specifier.contains(pinned.version) for pinned in found), line


def test_what_is_installed_here_is_what_is_locked() -> None:
    for pinned in locked():
        assert not pinned.is_here or version(pinned.name) == pinned.version


def test_nothing_is_installed_without_its_hash_but_the_project_itself() -> None:
    """Builds included: `--no-build-isolation` takes setuptools from what the lock file brought."""
    for file in ("Makefile", "Dockerfile"):
        text = (ROOT / file).read_text().replace("\\\n", " ")
        installs = [line for line in text.splitlines() if re.search(r"\$\(PIP\) |bin/pip install", line)]
        assert len(installs) >= 2, file
        for line in installs:
            is_locked = "--require-hashes" in line and "requirements" in line
            assert is_locked or ("--no-deps" in line and "--no-build-isolation" in line), line


def test_the_page_of_licences_is_that_of_the_lock_file() -> None:
    assert licences.PAGE.read_text() == licences.page(), "run `make licences`"


def test_every_copyleft_licence_has_a_reason_and_none_is_stronger_than_lgpl_or_mpl() -> None:
    found = {pinned.name: licences.licence_of(pinned.name) for pinned in locked()}
    copyleft = {name for name, licence in found.items() if COPYLEFT.search(licence)}
    assert copyleft == licences.REASONS.keys()
    assert all(re.search("LGPL|MPL", found[name]) for name in copyleft)


def test_licences_that_were_read_agree_with_the_texts_that_the_packages_bring() -> None:
    for pinned in locked():
        if not pinned.is_here:
            continue
        expected, texts = licences.licence_of(pinned.name), licence_texts(pinned.name)
        if texts and expected in ("BSD-2-Clause", "BSD-3-Clause"):
            assert ("Redistributions of source code" in texts) or "Redistribution and use" in texts, pinned.name
            has_third = "endorse or promote" in texts
            assert has_third == (expected == "BSD-3-Clause") or pinned.name in ("scipy", "numba"), pinned.name
        if texts and expected == "MIT":
            assert "Permission is hereby granted, free of charge" in texts, pinned.name


def licence_texts(name: str) -> str:
    """The licence files of an installed package, on one line."""
    files = [
        file for file in distribution(name).files or [] if re.search("licen[cs]e|copying", file.name, re.IGNORECASE)
    ]
    texts = [Path(str(file.locate())).read_text(errors="replace") for file in files if ".dist-info" in str(file)]
    return " ".join(" ".join(texts).split())


def test_every_library_inside_a_wheel_is_listed() -> None:
    site = Path(sysconfig.get_path("purelib"))
    listed = {start for libraries in licences.BUNDLED.values() for start in libraries}
    folders = [site / f"{name}.libs" for name in ("numpy", "scipy", "scikit_learn", "psycopg_binary")]
    found = {file.name for folder in folders for file in folder.iterdir()}
    assert found
    assert not {name for name in found if re.split(r"[-.]|64_", name)[0] not in listed}
    others = set(site.glob("*.libs")) - set(folders)
    ours = {pinned.name.replace("-", "_") for pinned in locked()}
    assert not {folder.name for folder in others if folder.stem in ours}


def test_every_file_of_others_that_a_browser_gets_is_listed() -> None:
    served = {(what, licence) for _, what, licence in licences.SERVED}
    vendored = (ROOT / "app" / "page" / "static" / "vendor" / "VERSIONS").read_text().splitlines()[1:]
    for line in vendored:
        _, package, _, licence, _ = line.split()
        assert (package, licence) in {(what.lower(), licence) for what, licence in served}
    static = Path(fastapi_offline.__file__).parent / "static"
    names = {file.name.partition(".")[0].removesuffix("-ui-bundle").removesuffix("-ui") for file in static.iterdir()}
    assert names == {"swagger", "redoc", "favicon"}


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The bill of materials."""
    file = tmp_path_factory.mktemp("bill") / "sbom.json"
    bill_of_materials.write(file)
    return file.read_text()


def test_the_bill_of_materials_is_valid_and_lists_exactly_what_is_locked(bill: str) -> None:
    validator = make_schemabased_validator(OutputFormat.JSON, SchemaVersion.V1_6)
    assert validator.validate_str(bill) is None
    assert validator.validate_str(bill.replace('"components"', '"parts"', 1)) is not None
    told = json.loads(bill)
    assert (told["metadata"]["component"]["name"], told["specVersion"]) == ("newfound", "1.6")
    listed = sorted((canonicalize_name(part["name"]), part["version"]) for part in told["components"])
    assert listed == sorted((pinned.name, pinned.version) for pinned in locked())
    hashes = {value["content"] for part in told["components"] for value in part["externalReferences"][0]["hashes"]}
    assert hashes == {value.removeprefix("sha256:") for pinned in locked() for value in pinned.hashes}


def test_the_bill_of_materials_says_nothing_of_the_machine_that_wrote_it(bill: str) -> None:
    assert str(ROOT) not in bill
    parts = json.loads(bill)["components"]
    urls = {reference["url"] for part in parts for reference in part["externalReferences"]}
    assert urls == {f"https://pypi.org/simple/{pinned.name}/" for pinned in locked()}


def audit(*options: str) -> "subprocess.CompletedProcess[str]":
    """What `make audit` does."""
    [line] = [line for line in (ROOT / "Makefile").read_text().splitlines() if "/pip-audit " in line]
    arguments = line.split("/pip-audit ")[1].split()
    program = str(Path(sysconfig.get_path("scripts")) / "pip-audit")
    return subprocess.run(
        [sys.executable, program, *arguments, *options], cwd=ROOT, capture_output=True, text=True, env=quiet()
    )


def quiet() -> dict[str, str]:
    """The environment, in which warnings of the auditor's libraries are none of ours."""
    return os.environ | {"PYTHONWARNINGS": "ignore"}


def test_an_audit_that_gets_no_answer_fails() -> None:
    """Without --strict it would pass over what it could not ask about."""
    answer = audit("--vulnerability-service", "osv", "--osv-url", f"{UNREACHABLE}/v1/query", "--timeout", "2")
    assert answer.returncode != 0
    assert "No known vulnerabilities found" not in answer.stdout + answer.stderr


@pytest.mark.slow
def test_no_package_that_is_locked_has_a_known_vulnerability() -> None:
    """It needs PyPI. Where that cannot be asked it fails, and says so: what was not asked is not known to be sound."""
    answer = audit()
    told = answer.stdout + answer.stderr
    if "could not be audited" in told or "Traceback" in told or "Connection" in told:
        pytest.fail(f"PyPI could not be asked for vulnerabilities: {told.strip().splitlines()[-1]}", pytrace=False)
    assert answer.returncode == 0, told
