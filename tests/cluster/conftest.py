"""The cluster of this test run. `make test-cluster` alone runs these tests: they need root and iproute2."""

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.cluster.cluster import Cluster

NEEDED = {"ip": "iproute2", "setpriv": "util-linux"}  # programs, and Debian's packages of them


@pytest.fixture(scope="session")
def opened_cluster() -> Iterator[Cluster]:
    """Three hosts with everything on them, and an undisturbed job done; tests take turns with it."""
    if os.geteuid() != 0:
        pytest.fail("make test-cluster makes network namespaces: only root may do that")
    for program, package in NEEDED.items():
        if shutil.which(program) is None:
            pytest.fail(f"make test-cluster needs the program {program}, of the package {package}")
    cluster = Cluster()
    try:
        cluster.open()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def cluster(opened_cluster: Cluster) -> Cluster:
    """The cluster, whole."""
    return opened_cluster


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failed test shows the ends of the logs."""
    report = yield
    cluster = getattr(item, "funcargs", {}).get("opened_cluster")
    if cluster is not None and report.failed:  # type: ignore[attr-defined]
        report.sections.append(("logs of the cluster", cluster.tails()))  # type: ignore[attr-defined]
    return report
