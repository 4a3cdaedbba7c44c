"""Dockerfile and docker-compose.yml: read by the programs that will read them, and held against the code."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app import cli
from app.core.settings import Settings
from tests.deployment.image import (
    OURS,
    PASSWORDS,
    ROOT,
    compose,
    copied,
    image_environment,
    instructions,
    last,
    model,
    reaches_the_builder,
    source,
    tool,
)

SCHEMA = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """The services as Docker Compose understands them."""
    return dict(model()["services"])


def succeeds(*command: str | Path) -> bool:
    """Whether a program is content; what it says is shown if the test fails."""
    answer = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    print(answer.stdout, answer.stderr)
    return answer.returncode == 0


def test_the_compose_file_keeps_to_the_compose_specification(tmp_path: Path) -> None:
    assert succeeds(*SCHEMA, ROOT / "docker-compose.yml")
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text((ROOT / "docker-compose.yml").read_text().replace("read_only:", "readonly:"))
    assert not succeeds(*SCHEMA, wrong)


def test_docker_compose_reads_the_compose_file() -> None:
    assert compose(PASSWORDS, "--quiet").returncode == 0


@pytest.mark.parametrize("missing", PASSWORDS)
def test_a_missing_password_is_refused_by_name(missing: str) -> None:
    answer = compose({name: value for name, value in PASSWORDS.items() if name != missing}, "--quiet")
    assert answer.returncode != 0
    assert f"required variable {missing} is missing a value" in answer.stderr


def test_no_secret_is_written_into_the_compose_file() -> None:
    for service in source()["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD|AUTH|SECRET|TOKEN", name):
                assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), f"{name} is written out"
            assert not re.search(r"://[^$/]*:[^$/]+@", str(value)), f"{name} holds a password"


def test_the_dockerfile_pleases_its_linter(tmp_path: Path) -> None:
    assert succeeds(tool("hadolint"), ROOT / "Dockerfile")
    wrong = tmp_path / "Dockerfile"
    wrong.write_text("FROM python\nRUN cd /tmp\n")
    assert not succeeds(tool("hadolint"), wrong)


def test_both_stages_stand_on_the_same_pinned_python_that_the_project_supports() -> None:
    bases = {rest.split()[0] for word, rest in instructions() if word == "FROM"}
    [base] = bases
    version = re.fullmatch(r"python:(3\.\d+)[\w.]*-slim-\w+", base)
    assert version is not None
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    low, high = (tuple(map(int, part.split("."))) for part in re.findall(r"3\.\d+", required))
    assert low <= tuple(map(int, version[1].split("."))) < high


def test_the_image_runs_as_a_fixed_user_without_privileges_and_is_asked_to_end() -> None:
    user, group = last("USER").split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert last("STOPSIGNAL") == "SIGTERM"
    assert last("ENTRYPOINT") == '["newfound"]'


def test_all_that_the_dockerfile_copies_is_in_git_and_reaches_the_builder() -> None:
    assert copied()
    for path in copied():
        assert succeeds("git", "-C", ROOT, "ls-files", "--error-unmatch", path), f"{path} is not in git"
        assert reaches_the_builder(path), f"{path} is held back by .dockerignore"
    for path in (".git", ".venv", "data", "tests", "app/__pycache__", ".env"):
        assert not reaches_the_builder(path), f"{path} goes to the builder"


def test_every_package_of_the_project_is_copied() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]["include"]
    assert {package.rstrip("*") for package in packages} <= set(copied())


@pytest.mark.parametrize("service", OURS)
def test_the_commands_are_commands_of_ours(service: str, services: dict[str, Any]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([*services[service]["command"], "--help"])
    assert ended.value.code == 0


@pytest.mark.parametrize("service", OURS)
def test_every_variable_that_is_set_is_a_setting(service: str, services: dict[str, Any]) -> None:
    environment = image_environment() | services[service]["environment"]
    ours = {name.removeprefix("NEWFOUND_").lower(): value for name, value in environment.items() if "NEWFOUND_" in name}
    assert {"database_url", "broker_url", "data_folder", "host", "port"} <= ours.keys() <= Settings.model_fields.keys()
    assert {name: str(getattr(Settings(**ours), name)) for name in ours} == ours  # and each of a value it can have


@pytest.mark.parametrize("service", OURS)
def test_what_the_image_writes_to_is_what_compose_mounts(service: str, services: dict[str, Any]) -> None:
    environment = image_environment()
    written = {environment["NEWFOUND_DATA_FOLDER"], environment["NUMBA_CACHE_DIR"], "/tmp"}
    made = {path for word, rest in instructions() if word == "RUN" for path in owned_folders(rest)}
    mounts = [mount["target"] for mount in services[service]["volumes"]]
    mounts += [mount.partition(":")[0] for mount in services[service]["tmpfs"]]
    assert services[service]["read_only"] is True
    assert made == written - {"/tmp"}
    assert sorted(mounts) == sorted(written)


def owned_folders(command: str) -> list[str]:
    """The folders that a RUN gives to the image's user."""
    installs = re.findall(r"install --directory --owner newfound[^&]*", command)
    return [word for install in installs for word in shlex.split(install) if word.startswith("/")]


def test_every_service_is_hardened_and_limited(services: dict[str, Any]) -> None:
    assert services.keys() == {"db", "redis", *OURS}
    for name, service in services.items():
        assert (service["read_only"], service["init"]) == (True, True), name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["deploy"]["resources"]["limits"].keys() >= {"cpus", "memory", "pids"}, name
        assert service["stop_grace_period"] == "1m0s", name
        assert service["restart"] == ("no" if name == "migrate" else "unless-stopped"), name
        assert name in OURS or service["user"] != "0", name


def test_every_service_that_stays_says_whether_it_is_well(services: dict[str, Any]) -> None:
    assert services["migrate"]["healthcheck"] == {"disable": True}
    assert "healthcheck" not in services["api"]  # so it has the image's
    assert "/health" in last("HEALTHCHECK")
    for name in ("db", "redis", "worker"):
        assert services[name]["healthcheck"]["test"], name


def test_only_the_api_is_published_and_on_loopback_unless_told_otherwise(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert [(name, port["host_ip"]) for name, ports in published.items() for port in ports] == [("api", "127.0.0.1")]
    assert str(published["api"][0]["target"]) == image_environment()["NEWFOUND_PORT"]
    networks = {name: set(service["networks"]) for name, service in services.items()}
    assert networks == {name: {"inside"} for name in networks} | {"api": {"inside", "outside"}}
    assert model()["networks"]["inside"]["internal"] is True


def test_nothing_starts_before_what_it_needs(services: dict[str, Any]) -> None:
    for name in ("api", "worker"):
        conditions = {other: needs["condition"] for other, needs in services[name]["depends_on"].items()}
        assert conditions == {
            "db": "service_healthy",
            "redis": "service_healthy",
            "migrate": "service_completed_successfully",
        }
    assert services["worker"]["deploy"]["replicas"] == 2


def test_redis_keeps_what_it_has_and_refuses_what_it_cannot_hold(services: dict[str, Any]) -> None:
    command = " ".join(services["redis"]["command"])
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command
    assert "exec redis-server - " in command  # its configuration comes by standard input, and signals reach it


def test_no_secret_is_an_argument_of_a_process(services: dict[str, Any]) -> None:
    for name, service in services.items():
        words = [*service.get("command", []), *service.get("healthcheck", {}).get("test", [])]
        assert not [word for word in words for secret in PASSWORDS.values() if secret in word], name
    assert services["redis"]["environment"]["REDISCLI_AUTH"] == PASSWORDS["REDIS_PASSWORD"]


def test_the_api_shares_no_folder_with_the_workers_who_run_compiled_kernels(services: dict[str, Any]) -> None:
    volumes = {name: {mount["source"] for mount in services[name]["volumes"]} for name in ("api", "worker")}
    assert volumes == {"api": {"uploads"}, "worker": {"numba-cache"}}


def test_the_image_says_what_it_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    arguments = dict(rest.split("=") for word, rest in instructions() if word == "ARG")
    assert arguments == {"VERSION": project["version"], "REVISION": "unknown"}
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', last("LABEL")))
    assert labels == {
        "title": project["name"],
        "description": project["description"],
        "licenses": project["license"],
        "version": "${VERSION}",
        "revision": "${REVISION}",
    }


def test_the_image_needs_no_shell_and_lends_nobody_another_user() -> None:
    for word in ("ENTRYPOINT", "CMD"):
        assert last(word).startswith('["'), word
    assert last("HEALTHCHECK").rsplit("CMD", 1)[1].strip().startswith('["python"')
    final = last("RUN")
    assert "-perm /6000 -exec chmod a-s" in final


def test_workers_in_containers_have_names_unlike_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In containers process ids are alike, host names are not; the health check asks for the host name."""
    names = []
    for host in ("1f0e", "2a7c"):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        monkeypatch.setitem(sys.modules, "worker.tasks", SimpleNamespace(run=lambda name: names.append(name) or 0))
        monkeypatch.setattr(cli, "check_schema", lambda _: None)
        monkeypatch.setattr(cli, "kernels_are_compiled", lambda _: True)
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
        assert cli.main(["worker"]) == 0
    first, second = names
    assert first.startswith("1f0e-")
    assert second.startswith("2a7c-")
