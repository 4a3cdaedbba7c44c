"""What a person types, and what is refused of it."""

import pytest

from app import cli


def run(*arguments: object) -> int:
    """The exit code of `newfound categorize`."""
    return cli.main(["categorize", *map(str, arguments)])


def refused_usage(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The line with which the command refuses its arguments."""
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()[-1].partition("error: ")[2]
