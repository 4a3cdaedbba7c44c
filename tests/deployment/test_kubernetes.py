"""The Kubernetes manifests: each keeps to the cluster's own schema, and together they fit the service."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.core.settings import Settings, secrets
from tests.deployment.image import ROOT, image_environment, last, tool

FOLDER = ROOT / "deploy" / "kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))
OBJECTS: list[dict[str, Any]] = [part for path in FILES for part in yaml.safe_load_all(path.read_text())]
PAGE = (ROOT / "docs" / "kubernetes.md").read_text()
WORKLOADS = ("migrate", "api", "worker")


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    """The objects of a kind by their names."""
    return {part["metadata"]["name"]: part for part in OBJECTS if part["kind"] == kind}


def pod(component: str) -> dict[str, Any]:
    """The pod of a workload."""
    workloads = of_kind("Deployment") | of_kind("Job")
    return dict(workloads[f"newfound-{component}"]["spec"]["template"]["spec"])


def container(component: str) -> dict[str, Any]:
    """The one container of a pod."""
    [found] = pod(component)["containers"]
    return dict(found)


def variables(component: str) -> dict[str, str]:
    """What a container's environment says: the image, the ConfigMap, and what is its own."""
    own = {entry["name"]: entry["value"] for entry in container(component).get("env", [])}
    return image_environment() | of_kind("ConfigMap")["newfound"]["data"] | own


def are_valid(*paths: Path) -> bool:
    """Whether files keep to the schema of Kubernetes, with no field that it does not know. One call takes seconds."""
    command = [tool("kubernetes-validate"), "--strict", *map(str, paths)]
    answer = subprocess.run(command, capture_output=True, text=True)
    print(answer.stdout, answer.stderr)
    return answer.returncode == 0


def test_each_manifest_keeps_to_the_schema_of_kubernetes() -> None:
    assert len(FILES) == 8
    assert are_valid(*FILES)


def test_a_field_that_kubernetes_does_not_know_would_be_noticed(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text((FOLDER / "api.yaml").read_text().replace("readOnlyRootFilesystem", "readonlyRootFilesystem"))
    assert not are_valid(wrong)


def test_every_object_is_in_the_namespace_that_admits_confined_pods_alone() -> None:
    [namespace] = of_kind("Namespace").values()
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    others = [part for part in OBJECTS if part["kind"] != "Namespace"]
    assert {part["metadata"]["namespace"] for part in others} == {namespace["metadata"]["name"]}


@pytest.mark.parametrize("component", WORKLOADS)
def test_every_pod_is_confined_as_the_strictest_standard_demands(component: str) -> None:
    found, inner = pod(component), container(component)
    user, group = map(int, last("USER").split(":"))
    assert found["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": user,
        "runAsGroup": group,
        "fsGroup": group,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert inner["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert found["automountServiceAccountToken"] is False
    assert "memory" in inner["resources"]["limits"]
    assert inner["args"] == [component]
    assert "command" not in inner  # the image's entry point, without a shell


@pytest.mark.parametrize("component", WORKLOADS)
def test_kubernetes_puts_no_variables_of_its_own_among_the_settings(component: str) -> None:
    """For a Service newfound-api it would set NEWFOUND_API_PORT and others, which no command accepts."""
    assert any(name.startswith("newfound-") for name in of_kind("Service"))
    assert pod(component)["enableServiceLinks"] is False


@pytest.mark.parametrize("component", WORKLOADS)
def test_every_variable_and_every_secret_is_a_setting_of_a_value_it_can_have(
    component: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in of_kind("Secret")["newfound"]["stringData"].items():
        (tmp_path / name).write_text(text)
    for name, value in variables(component).items():
        if name.startswith("NEWFOUND_"):
            assert name.removeprefix("NEWFOUND_").lower() in Settings.model_fields, name
            monkeypatch.setenv(name, value)
    mounted = {mount["name"]: mount["mountPath"] for mount in container(component)["volumeMounts"]}
    assert variables(component)["NEWFOUND_SECRETS_FOLDER"] == mounted["secrets"]
    monkeypatch.setenv("NEWFOUND_SECRETS_FOLDER", str(tmp_path))
    settings = Settings()
    assert secrets(tmp_path).keys() == {"database_url", "broker_url"}
    assert settings.database.startswith("postgresql+psycopg://newfound:SECRET@postgres.databases.svc:5432/newfound?")
    assert settings.broker == "redis://:SECRET@redis.databases.svc:6379/0"


@pytest.mark.parametrize("component", WORKLOADS)
def test_all_that_a_process_writes_to_is_a_volume_with_a_limit(component: str) -> None:
    mounts = {mount["name"]: mount["mountPath"] for mount in container(component)["volumeMounts"]}
    for volume in pod(component)["volumes"]:
        assert "secret" in volume or volume["emptyDir"]["sizeLimit"], volume["name"]
    assert mounts.keys() == {volume["name"] for volume in pod(component)["volumes"]}
    folders = {"/tmp", variables(component)["NEWFOUND_DATA_FOLDER"]}
    if component == "worker":
        folders |= {variables(component)[name] for name in ("NUMBA_CACHE_DIR", "NEWFOUND_ENCODINGS_FOLDER")}
    if component == "api":
        folders.add(variables(component)["NEWFOUND_UPLOADS_FOLDER"])
    for folder in folders:
        assert any(Path(folder).is_relative_to(path) for path in mounts.values()), folder


def test_the_kernels_lie_below_a_folder_of_the_image_that_its_user_alone_can_enter() -> None:
    """Anybody may write to an emptyDir, and a worker refuses kernels that anybody could have written."""
    [cache] = [m["mountPath"] for m in container("worker")["volumeMounts"] if m["name"] == "cache"]
    dockerfile = (ROOT / "Dockerfile").read_text()
    made = re.search(r"install --directory --owner newfound --group newfound --mode 0750 ([/\w ]+)", dockerfile)
    assert made is not None
    assert str(Path(cache).parent) in made[1].split()


def test_ports_paths_and_labels_fit_together() -> None:
    api, service, ingress = container("api"), of_kind("Service")["newfound-api"], of_kind("Ingress")["newfound"]
    [port] = api["ports"]
    assert str(port["containerPort"]) == variables("api")["NEWFOUND_PORT"]
    labels = of_kind("Deployment")["newfound-api"]["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    [rule] = ingress["spec"]["rules"]
    [path] = rule["http"]["paths"]
    assert rule["host"] in variables("api")["NEWFOUND_TRUSTED_HOSTS"].split(",")
    assert path["path"] == variables("api")["NEWFOUND_ROOT_PATH"]
    assert path["backend"]["service"] == {"name": "newfound-api", "port": {"name": service["spec"]["ports"][0]["name"]}}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert api[probe]["httpGet"]["port"] == port["name"]
        assert api[probe]["httpGet"]["path"] in ("/livez", "/health")


def test_the_network_lets_out_only_to_names_the_database_and_the_broker() -> None:
    policies = of_kind("NetworkPolicy")
    everywhere = policies["newfound"]["spec"]
    assert everywhere["podSelector"] == {}
    assert set(everywhere["policyTypes"]) == {"Ingress", "Egress"}
    assert "ingress" not in everywhere
    assert {port["port"] for rule in everywhere["egress"] for port in rule["ports"]} == {53, 5432, 6379}
    assert all("namespaceSelector" in peer for rule in everywhere["egress"] for peer in rule["to"])
    opened = [name for name, policy in policies.items() if "ipBlock" in str(policy)]
    assert opened == ["newfound-webhooks"]


def test_the_page_names_every_manifest_and_the_version_is_the_projects() -> None:
    for path in FILES:
        assert f"{path.name}" in PAGE, path.name
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert {container(component)["image"] for component in WORKLOADS} == {f"newfound:{version[1]}"}
