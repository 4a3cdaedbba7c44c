"""Hosts are cut off in mid-job and joined again; the job ends once, as an undisturbed one."""

import time
from dataclasses import dataclass

import pytest

from app.core.leases import CALL_SECONDS
from tests.cluster.cluster import LEASE, LEG, REAP, WORKERS, Cluster
from tests.waits import slowness, wait_for

pytestmark = pytest.mark.cluster

SWEEPS = 1_500
DEAD_CONNECTION = 25.0  # seconds until PostgreSQL gives a silent client up, by docker-compose.yml
RECONNECT = 60.0  # seconds until Celery gives a silent Redis connection up and opens another
GRACE = 60.0  # seconds, the stop_grace_period of docker-compose.yml
SLACK = 15.0 * slowness()  # seconds beyond what lease, reaper and leg explain: the machine is shared


@dataclass(frozen=True)
class Calm:
    """An undisturbed job: its corpus, and what it came to."""

    corpus_id: str
    digests: list[str]
    results: bytes


@pytest.fixture(scope="module")
def calm(opened_cluster: Cluster) -> Calm:
    """A job that nothing happens to; the first one, so it pays for the compiler."""
    client = opened_cluster.client
    corpus_id = client.upload_sample()
    job_id = client.submit(corpus_id, SWEEPS)
    client.wait_until_succeeded(job_id)
    return Calm(corpus_id, client.digests(job_id), client.results(job_id))


def in_mid_job(cluster: Cluster, calm: Calm, victim: str) -> tuple[str, int]:
    """A job with a chain at work on each host; returns its id and the victim's chain."""
    job_id = cluster.client.submit(calm.corpus_id, SWEEPS)

    def both_at_work() -> dict[str, int]:
        chains = cluster.at_work(job_id)
        return chains if chains.keys() == set(WORKERS) else {}

    chains = wait_for(both_at_work, "both hosts are at work", every=0.02)
    return job_id, chains[victim]


def seconds_until_taken_over(cluster: Cluster, job_id: str, chain: int, victim: str, seconds: float) -> float:
    """How long it takes until another host claims the victim's chain."""
    began = time.monotonic()

    def holder() -> str:
        return [host for claimed, host in cluster.claims(job_id) if claimed == chain][-1]

    wait_for(lambda: holder() != victim, "another host takes over", seconds, every=0.02)
    return time.monotonic() - began


def assert_ended_as(calm: Calm, cluster: Cluster, job_id: str) -> None:
    """The job ended once, each sweep is in the trace once, and all bytes are those of the undisturbed job."""
    cluster.client.wait_until_succeeded(job_id)
    time.sleep(LEASE + 2 * REAP)  # whoever was cut off has had time to do harm
    assert cluster.ends(job_id) == ["succeeded"]
    sweeps = [(draw["chain"], draw["sweep"]) for draw in cluster.client.trace(job_id)]
    assert sweeps == [(chain, sweep) for chain in range(2) for sweep in range(1, SWEEPS + 1)]
    assert cluster.client.digests(job_id) == calm.digests
    assert cluster.client.results(job_id) == calm.results


def assert_works_again(cluster: Cluster, calm: Calm, host: str) -> None:
    """The host takes part in jobs again, soon after it was joined."""

    def takes_part() -> bool:
        job_id = cluster.client.submit(calm.corpus_id, sweeps=60, chains=4)
        cluster.client.wait_until_succeeded(job_id)
        return host in [claimant for _, claimant in cluster.claims(job_id)]

    wait_for(takes_part, f"{host} works again", RECONNECT + SLACK)


def test_a_host_cut_off_for_longer_than_a_lease_writes_nothing_more(cluster: Cluster, calm: Calm) -> None:
    assert cluster.network is not None
    job_id, chain = in_mid_job(cluster, calm, "one")
    cluster.network.unplug("one", "data", "broker")
    try:
        took = seconds_until_taken_over(cluster, job_id, chain, "one", LEASE + REAP + LEG + SLACK)
        print(f"\na host cut off: taken over after {took:.1f} s (lease {LEASE} s)")
        time.sleep(LEASE)
    finally:
        cluster.network.plug("one", "data", "broker")
    assert_ended_as(calm, cluster, job_id)
    assert_works_again(cluster, calm, "one")


def test_a_host_that_loses_only_redis_saves_its_leg_and_hands_over(cluster: Cluster, calm: Calm) -> None:
    assert cluster.network is not None
    job_id, chain = in_mid_job(cluster, calm, "two")
    cluster.network.unplug("two", "broker")
    try:
        took = seconds_until_taken_over(cluster, job_id, chain, "two", LEG + CALL_SECONDS + REAP + SLACK)
        print(f"\na host that lost Redis: its chain went on elsewhere after {took:.1f} s (call {CALL_SECONDS} s)")
        cluster.client.wait_until_succeeded(job_id)
    finally:
        cluster.network.plug("two", "broker")
    assert_ended_as(calm, cluster, job_id)
    assert_works_again(cluster, calm, "two")


def test_the_locks_of_a_host_cut_off_in_mid_transaction_hold_up_nobody_for_long(cluster: Cluster, calm: Calm) -> None:
    """The worst moment: a save has locked its unit's row, and neither commit nor end ever comes."""
    assert cluster.network is not None
    job_id, chain = in_mid_job(cluster, calm, "one")
    locker = cluster.lock_units("one", job_id)
    cluster.network.unplug("one", "data", "broker")
    try:
        bound = DEAD_CONNECTION + LEASE + REAP + LEG + SLACK
        took = seconds_until_taken_over(cluster, job_id, chain, "one", bound)
        print(f"\na host cut off in mid-transaction: taken over after {took:.1f} s (keepalive {DEAD_CONNECTION} s)")
    finally:
        cluster.network.plug("one", "data", "broker")
        locker.kill()
    assert took > LEASE + REAP, "the locks held nobody up"
    assert_ended_as(calm, cluster, job_id)
    assert_works_again(cluster, calm, "one")


def test_a_worker_that_is_cut_off_for_good_ends_when_asked_to(cluster: Cluster, calm: Calm) -> None:
    """Within the grace period, and with no error: a deployment waits for nobody whose network is gone. Comes last."""
    assert cluster.network is not None
    job_id, _ = in_mid_job(cluster, calm, "one")
    cluster.network.unplug("one", "data", "broker")
    try:
        time.sleep(1.0)
        code, seconds = cluster.processes["one-worker"].terminate(GRACE)
        print(f"\na worker cut off for good: ended {seconds:.1f} s after SIGTERM")
    finally:
        cluster.network.plug("one", "data", "broker")
    assert code == 0
    assert_ended_as(calm, cluster, job_id)
