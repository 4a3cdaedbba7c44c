"""Data are data: no code of ours makes objects or commands out of what it reads."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler.archive import CheckpointError, unpack
from tests.test_architecture import ROOT, files, imports

ROOMS = ("app", "worker", "sampler", "baselines", "embedding", "newfound_client", "migrations")
# Modules that make objects of bytes, or run what a text says.
DANGEROUS = {"cloudpickle", "code", "dill", "joblib", "marshal", "pickle", "pty", "shelve", "xmlrpc", "yaml"}
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "np.load", "numpy.load"}

every_file = pytest.mark.parametrize("path", files(*ROOMS), ids=lambda path: str(path.relative_to(ROOT)))


def dangers(source: str) -> Iterator[str]:
    """What a file would do that turns data into code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            if ast.unparse(node.func) in CALLS and not refuses_pickles(node):
                yield ast.unparse(node)
            yield from (ast.unparse(node) for word in node.keywords if word.arg == "shell")
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
            yield ast.unparse(node)


def refuses_pickles(call: ast.Call) -> bool:
    """Whether a call says itself that nothing is to be unpickled."""
    return any(word.arg == "allow_pickle" and ast.unparse(word.value) == "False" for word in call.keywords)


@every_file
def test_no_file_can_make_code_of_data(path: Path) -> None:
    assert not [module for module in imports(path) if module.partition(".")[0] in DANGEROUS]
    assert not list(dangers(path.read_text()))


@pytest.mark.parametrize(
    "source",
    ["eval(x)", "np.load(f)", "np.load(f, allow_pickle=True)", "run(x, shell=True)", "os.system(x)", "exec(x, {})"],
)
def test_what_would_make_code_of_data_is_noticed(source: str) -> None:
    assert list(dangers(source))
    assert not list(dangers("np.load(f, allow_pickle=False)"))


def test_a_pickle_in_place_of_a_checkpoint_is_refused(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    attack = f"cio\nopen\n(V{mark}\nVw\ntR.".encode()  # as pickles were written at first
    with pytest.raises(CheckpointError):
        unpack(attack)
    assert not mark.exists()
