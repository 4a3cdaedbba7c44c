"""Chromium is brought along, or its absence is told; it is never passed over."""

import os
import shutil
from pathlib import Path

import pytest

from tests.browser import chromium

# Stands for apt-get: notes what it is asked for, and installs a program.
APT = """#!{shell}
echo "$@" >> {folder}/asked
[ "{said}" ] && echo "{said}" && exit 100
case "$*" in *install*) {touch} {folder}/chromium; {chmod} +x {folder}/chromium; esac
"""


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH, with nothing in it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(chromium, "LOCK", tmp_path / "lock")
    return folder


def put_apt(folder: Path, said: str = "") -> None:
    """Put a program there that stands for apt-get; if it says something, it fails."""
    shell, touch, chmod = (shutil.which(name, path=os.defpath) for name in ("sh", "touch", "chmod"))
    apt = folder / "apt-get"
    apt.write_text(APT.format(shell=shell, touch=touch, chmod=chmod, folder=folder, said=said), encoding="utf-8")
    apt.chmod(0o755)


def test_root_of_a_bare_machine_gets_chromium_from_apt_once(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    put_apt(bare)
    assert chromium.bring() == chromium.bring() == bare / "chromium"
    asked = (bare / "asked").read_text(encoding="utf-8").splitlines()
    assert [line.split(" ", 3)[3] for line in asked] == [
        "update",
        "install --yes --no-install-recommends chromium",
    ]


def test_who_is_not_root_is_told_what_to_install(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    put_apt(bare)
    assert chromium.main() == 1
    assert "sudo apt-get install chromium" in capsys.readouterr().err
    assert not (bare / "asked").exists()


def test_an_installation_that_fails_says_why(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    put_apt(bare, said="no space is left")
    with pytest.raises(chromium.ChromiumMissing, match=r"-qq .*update failed: no space is left"):
        chromium.bring()
