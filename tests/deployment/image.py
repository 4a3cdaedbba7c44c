"""What the Dockerfile, .dockerignore and docker-compose.yml say."""

import fnmatch
import json
import os
import re
import shlex
import subprocess
import sysconfig
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PASSWORDS = {"POSTGRES_PASSWORD": "b0a1c5", "REDIS_PASSWORD": "9fe4d2"}
OURS = ("migrate", "api", "worker")  # services that run our image


def tool(name: str) -> str:
    """The path of a program that came with a package of the test requirements."""
    return str(Path(sysconfig.get_path("scripts")) / name)


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions in their order: the word, and what follows it."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def last(word: str) -> str:
    """What the last instruction of a kind says: it is the one that counts."""
    return [rest for instruction, rest in instructions() if instruction == word][-1]


def copied() -> list[str]:
    """The paths of the repository that go into the image."""
    arguments = [shlex.split(rest) for word, rest in instructions() if word == "COPY"]
    return [path for paths in arguments if not paths[0].startswith("--from") for path in paths[:-1]]


def image_environment() -> dict[str, str]:
    """What the image puts into the environment of its processes: the ENV of its final stage."""
    everything = instructions()
    final = max(i for i, (word, _) in enumerate(everything) if word == "FROM")
    pairs = [pair for word, rest in everything[final:] if word == "ENV" for pair in shlex.split(rest)]
    return dict(pair.split("=", 1) for pair in pairs)


def reaches_the_builder(path: str) -> bool:
    """Whether .dockerignore lets a path pass: the last pattern that fits it or a folder of it decides."""
    passes = True
    parents = [path, *map(str, Path(path).parents)]
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.lstrip("!").removeprefix("**/")
        if not line or line.startswith("#"):
            continue
        candidates = [Path(name).name for name in parents] if "**/" in line else parents
        if any(fnmatch.fnmatchcase(name, pattern) for name in candidates):
            passes = line.startswith("!")
    return passes


def compose(environment: Mapping[str, str] = PASSWORDS, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Let Docker Compose itself read the file; for that it needs no engine."""
    return subprocess.run(
        [tool("docker-compose"), "--file", str(ROOT / "docker-compose.yml"), "config", *arguments],
        capture_output=True,
        text=True,
        env={"PATH": os.defpath, "HOME": "/nonexistent"} | dict(environment),
    )


@cache
def read(*arguments: str) -> dict[str, Any]:
    """The file as Docker Compose gives it out."""
    answer = compose(PASSWORDS, "--format", "json", *arguments)
    assert answer.returncode == 0, answer.stderr
    return dict(json.loads(answer.stdout))


def model() -> dict[str, Any]:
    """The file as Docker Compose understands it, with the passwords put in."""
    return read()


def source() -> dict[str, Any]:
    """The file as it is written: nothing put in."""
    return read("--no-interpolate")
