"""Laws 1 and 2 of docs/architecture.md, read from the imports."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = (
    "app",
    "worker",
    "sampler",
    "baselines",
    "embedding",
    "newfound_client",
    "migrations",
    "supply",
    "tests",
    "benchmarks",
)

# What each room may take from the others, by the beginning of the module's name.
ALLOWED = {
    "app": (
        "app",
        "baselines.settings",
        "embedding",
        "newfound_client",
        "migrations",
        "sampler.answers.metrics",
        "sampler.archive",
        "sampler.corpus",
        "sampler.frozen.answering",
        "sampler.frozen.model",
        "sampler.hyperparameters",
        "sampler.text",
    ),
    "worker": (
        "worker",
        "app.core",
        "app.broker",
        "app.observation.tracing",
        "app.review.clamped",
        "sampler",
        "baselines",
        "embedding",
    ),
    "sampler": ("sampler",),
    "baselines": ("baselines", "sampler"),
    "embedding": ("embedding",),
    "newfound_client": ("newfound_client",),
    "migrations": ("migrations", "app.core.tables"),
    "supply": ("supply",),
}

PURE = ("sampler", "baselines")
MATHEMATICS = {"numpy", "numba", "llvmlite", "scipy", "sklearn"}
STRINGS = {"regex", "snowballstemmer", "stopwordsiso"}  # in sampler/text alone
# Of the standard library: what touches files, the network, the clock, the environment or other processes.
IMPURE = {
    "asyncio",
    "datetime",
    "http",
    "logging",
    "multiprocessing",
    "os",
    "pathlib",
    "random",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "subprocess",
    "tempfile",
    "time",
    "urllib",
    "uuid",
}


def files(*rooms: str) -> list[Path]:
    """All source files of some rooms."""
    return [path for room in rooms for path in sorted((ROOT / room).rglob("*.py"))]


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports, `from a import b` as a.b."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def is_within(module: str, parents: tuple[str, ...]) -> bool:
    """Whether a module is one of the parents, or in one."""
    return any(module == parent or module.startswith(f"{parent}.") for parent in parents)


@pytest.mark.parametrize("path", files(*ALLOWED), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    for module in imports(path):
        if module.partition(".")[0] in ROOMS:
            assert is_within(module, ALLOWED[room]), f"{room} may not import {module}"


IN_LBPL_NTM = tuple(f"sampler.lbpl_ntm.{path.stem}" for path in (ROOT / "sampler" / "lbpl_ntm").glob("*.py"))
GROUND = tuple(f"sampler.{part}" for part in ("corpus", "hyperparameters", "text", "archive", "digest", "vectors"))
SHARED = (*GROUND, "sampler.numerics", "sampler.copies", "sampler.carried", "sampler.answers")

# What each part of the sampler may take from the others: the first that a module is in counts.
PARTS = {
    **dict.fromkeys(GROUND, GROUND),
    "sampler.numerics": ("sampler.corpus", "sampler.numerics"),
    "sampler.copies": ("sampler.corpus", "sampler.numerics"),
    "sampler.carried": ("sampler.corpus",),
    "sampler.answers": ("sampler.corpus", "sampler.numerics", "sampler.copies", "sampler.vectors", "sampler.answers"),
    "sampler.lbpl_ntm.collapsed": (*SHARED, *IN_LBPL_NTM, "sampler.lbpl_ntm.collapsed"),
    "sampler.lbpl_ntm.blocked": (*SHARED, *IN_LBPL_NTM, "sampler.lbpl_ntm.blocked"),
    "sampler.lbpl_ntm": (*SHARED, "sampler.lbpl_ntm"),
    "sampler.calibrated": (*SHARED, "sampler.calibrated"),
    "sampler.frozen.model": (*GROUND, "sampler.frozen"),
    "sampler.frozen.answering": (*GROUND, "sampler.answers.others", "sampler.frozen"),
    "sampler.frozen": (*SHARED, "sampler.calibrated", "sampler.frozen"),
    "sampler": ("sampler",),  # its face
}


@pytest.mark.parametrize("path", files("sampler"), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_models_know_the_ground_and_not_each_other(path: Path) -> None:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    allowed = next(taken for part, taken in PARTS.items() if is_within(name, (part,)))
    for module in imports(path):
        if module.partition(".")[0] == "sampler":
            assert is_within(module, allowed), f"{name} may not import {module}"


def test_what_the_api_takes_from_the_sampler_loads_no_numba() -> None:
    taken = ", ".join(module for module in ALLOWED["app"] if module.startswith("sampler."))
    code = f"import sys; import {taken}; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


# The same for the parts of the app: what is not named here may take all of them.
APP_PARTS = {
    "app.core.settings": (),
    "app.core": ("app.core", "embedding", "migrations"),
    "app.access": ("app.core", "app.access"),
    "app.broker": ("app.core", "app.broker"),
    "app.observation": ("app.core", "app.observation"),
    "app.schemas": ("app.core", "app.schemas", "baselines.settings", "sampler"),
    "app.uploads": ("app.core", "app.uploads", "sampler.text.normal_forms"),
    "app.search": ("app.core", "app.search", "app.uploads", "sampler.text.normal_forms"),
    "app.exports": ("app.core", "app.exports"),
    "app.forecasts": ("app.core", "app.schemas", "app.forecasts", "baselines.settings", "sampler"),
    "app.scores": ("app.core", "app.review", "app.schemas", "app.scores", "app.uploads", "sampler"),
    "app.review": ("app.core", "app.schemas", "app.review"),
    "app.frozen": ("app.core", "embedding", "app.exports", "app.uploads", "app.frozen", "sampler"),
    "app.webhooks": ("app.core", "app.webhooks"),
    "app.plots": ("app.plots",),
    "app.upkeep": ("app.core", "app.uploads.removal", "app.upkeep"),
    "app.processes": ("app.core", "app.processes"),
    "app.http": (
        "app.access",
        "app.core",
        "app.broker",
        "app.observation",
        "app.schemas",
        "app.uploads",
        "app.search",
        "app.exports",
        "app.forecasts",
        "app.scores",
        "app.frozen",
        "app.plots",
        "app.review",
        "app.webhooks",
        "app.upkeep",
        "app.page",
        "app.http",
        "sampler",
    ),
    "app.page": ("app.core", "app.plots", "app.page"),
    "app.commands": ("app.access", "app.core", "app.processes", "app.upkeep", "app.commands", "newfound_client"),
    "app": ("app", "embedding.folder"),  # the command line, which starts the worker by name
}


@pytest.mark.parametrize("path", files("app"), ids=lambda path: str(path.relative_to(ROOT)))
def test_each_part_of_the_app_knows_only_what_it_stands_on(path: Path) -> None:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    allowed = next(taken for part, taken in APP_PARTS.items() if is_within(name, (part,)))
    for module in imports(path):
        if module.partition(".")[0] in ROOMS:
            assert is_within(module, allowed), f"{name} may not import {module}"


@pytest.mark.parametrize("path", files(*PURE), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_sampler_is_pure(path: Path) -> None:
    """Mathematics and the harmless part of the standard library; only sampler/text knows strings."""
    allowed = MATHEMATICS | set(PURE) | (set(sys.stdlib_module_names) - IMPURE)
    if path.parent == ROOT / "sampler" / "text":
        allowed |= STRINGS
    for module in imports(path):
        assert module.partition(".")[0] in allowed, f"the sampler may not import {module}"


@pytest.mark.parametrize("path", files(*PURE), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_sampler_opens_no_file_and_keeps_no_global_random_state(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("open", "print", "input")
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np.random", "numpy.random"):
            assert node.attr in ("Generator", "BitGenerator", "PCG64", "Philox", "SeedSequence", "default_rng")


def test_sums_are_regrouped_in_the_regression_alone() -> None:
    """Decision 17: elsewhere answers do not depend on the width of a processor's vectors."""
    allowed = {ROOT / "sampler" / "calibrated" / f"logistic_{name}.py" for name in ("loss", "regression")}
    assert {path for path in files(*PURE) if "fastmath=" in path.read_text()} == allowed


def test_a_status_changes_in_lifecycle_alone() -> None:
    """Law 4. Leases are its lower half, ends what both share; no other file gives a status to a row."""
    changing = {ROOT / "app" / "core" / name for name in ("lifecycle.py", "leases.py", "ends.py")}
    found = {path for path in files("app", "worker") if any(changes_a_status(ast.parse(path.read_text())))}
    assert found == changing


def changes_a_status(tree: ast.Module) -> Iterator[bool]:
    """Whether a piece of a file is `values(status=...)`, `values({"status": ...})` or `row.status = ...`.

    The HTTP status that is kept with a repeatable request, `status=answer.status`, is none of a job.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "values":
            yield from (word.arg == "status" and not is_of_an_answer(word.value) for word in node.keywords)
            yield from (
                isinstance(key, ast.Constant) and key.value == "status"
                for argument in node.args
                if isinstance(argument, ast.Dict)
                for key in argument.keys
            )
        if isinstance(node, ast.Assign):
            yield from (isinstance(target, ast.Attribute) and target.attr == "status" for target in node.targets)


def is_of_an_answer(value: ast.expr) -> bool:
    """Whether a value is the status of an HTTP answer."""
    return ast.unparse(value) == "answer.status"


def test_nobody_calls_commit() -> None:
    """A transaction is a with block (law 3)."""
    for path in files("app", "worker"):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)]
        assert not [node for node in calls if node.attr == "commit"], f"{path} calls commit()"
