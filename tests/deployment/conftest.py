"""The deployed stack without containers: the image's files, its processes, and the servers beside them."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import guard
from tests.deployment import kernels
from tests.deployment.image import ROOT, copied, image_environment
from tests.deployment.processes import Process
from tests.deployment.servers import Postgres, Redis, service, stop_all
from tests.waits import free_port

# As compose runs a container: no capability, so that even root is bound by the permissions of files.
UNPRIVILEGED = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
LEFT_TO_THE_WORKER = "sampler/answers"  # whose kernels are few
FAST_RECOVERY = {"LEASE_SECONDS": "5", "HEARTBEAT_SECONDS": "1", "REAP_SECONDS": "1", "SAVE_SECONDS": "0.2"}


class Image:
    """What the Dockerfile makes, as a folder: the installed packages, and the folders that are written to."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, folder / "opt"
        self.writable = {path: folder / path.strip("/") for path in ("/data", "/cache", "/tmp")}
        self.launcher = UNPRIVILEGED if os.geteuid() == 0 else []
        for path in self.writable.values():
            path.mkdir()
        self.install()
        kernels.lay_in(self.site, self.writable["/cache"], all_but=LEFT_TO_THE_WORKER)
        self.laid_in = set(self.writable["/cache"].rglob("*.nbi"))
        self.make_read_only()

    def install(self) -> None:
        """Do the Dockerfile's last pip install, out of nothing but what it copies."""
        source = self.folder / "source"
        for path in copied():
            target = source / path
            target.parent.mkdir(parents=True, exist_ok=True)
            ignored = shutil.ignore_patterns("__pycache__")
            if (ROOT / path).is_dir():
                shutil.copytree(ROOT / path, target, ignore=ignored)
            else:
                shutil.copy(ROOT / path, target)
        options = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation"]
        pip = [sys.executable, "-m", "pip", "install", *options, "--target", str(self.site), str(source)]
        subprocess.run(pip, check=True)
        shutil.rmtree(source)

    def make_read_only(self) -> None:
        """Take the right to write away from everything installed, and see that it is gone."""
        for path in [self.site, *self.site.rglob("*")]:
            path.chmod(path.stat().st_mode & ~0o222)
        attempt = subprocess.run([*self.launcher, "touch", str(self.site / "mark")], capture_output=True, text=True)
        assert "Permission denied" in attempt.stderr, "the installed files can be written to"

    def files(self) -> set[Path]:
        """All that is installed."""
        return set(self.site.rglob("*"))

    def environment(self, name: str, database: str, broker: str, port: int) -> dict[str, str]:
        """The environment that image and compose file give a service, at other places."""
        variables: dict[str, str] = image_environment() | service(name)["environment"]
        places = {
            "NEWFOUND_DATABASE_URL": database,
            "NEWFOUND_BROKER_URL": broker,
            "NEWFOUND_HOST": "127.0.0.1",
            "NEWFOUND_PORT": str(port),
            "PATH": f"{self.site / 'bin'}:{Path(sys.executable).parent}:{os.defpath}",
            "PYTHONPATH": str(self.site),  # before the packages of the test environment
            "TMPDIR": str(self.writable["/tmp"]),
            "HOME": "/nonexistent",
        }
        folders = {
            key: str(self.folder / value.strip("/"))
            for key, value in variables.items()
            if value.startswith(tuple(self.writable))
        }
        return variables | places | folders

    def program(self) -> str:
        """The entry point."""
        return str(self.site / "bin" / "newfound")


class Deployment:
    """The services of docker-compose.yml as processes."""

    def __init__(self, image: Image, postgres: Postgres, redis: Redis) -> None:
        self.image, self.postgres, self.redis = image, postgres, redis
        self.port = free_port()
        self.processes: list[Process] = []

    def environment(self, name: str) -> dict[str, str]:
        """The environment of a service, with recovery in seconds."""
        fast = {f"NEWFOUND_{key}": value for key, value in FAST_RECOVERY.items()}
        return self.image.environment(name, self.postgres.url(), self.redis.url(), self.port) | fast

    def start(self, name: str) -> Process:
        """Run a service's command with its environment."""
        return self.run(name, [self.image.program(), *service(name)["command"]])

    def run(self, name: str, command: list[str]) -> Process:
        """Run a command as a service would."""
        label = f"{name}-{len(self.processes)}"
        process = Process(label, [*self.image.launcher, *command], self.environment(name), self.image.folder)
        self.processes.append(process)
        return process

    def is_well(self, name: str, test: list[str]) -> bool:
        """Whether a health check says that the service is well."""
        kind, *command = test
        assert kind == "CMD"
        command = [re.sub(r"\b8000\b", str(self.port), word) for word in command]
        return self.run(name, command).wait() == 0

    def stop(self) -> None:
        """End every process."""
        for process in self.processes:
            process.kill()


@pytest.fixture(scope="session")
def image() -> Iterator[Image]:
    """The image's files."""
    folder = guard.make_folder("image")
    folder.chmod(0o755)
    try:
        yield Image(folder)
    finally:
        guard.remove(folder)


@pytest.fixture(scope="session")
def deployment(image: Image) -> Iterator[Deployment]:
    """Database and broker, and nothing else yet."""
    folder = guard.make_folder("servers")
    postgres = redis = deployment = None
    try:
        for name in ("postgres", "redis"):
            (folder / name).mkdir()
        folder.chmod(0o755)
        postgres = Postgres(folder / "postgres", "127.0.0.1", free_port())
        redis = Redis(folder / "redis", "127.0.0.1", free_port())
        deployment = Deployment(image, postgres, redis)
        yield deployment
    finally:
        stop_all(deployment, redis, postgres)
        shutil.rmtree(folder)
