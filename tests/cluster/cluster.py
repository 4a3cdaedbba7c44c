"""Newfound on three hosts: database, broker and API on one, a worker on each of the others."""

import os
import shutil
import sys
import sysconfig
from typing import Any

from tests import guard
from tests.client import Client
from tests.cluster.network import Network
from tests.deployment.image import ROOT
from tests.deployment.processes import Process
from tests.deployment.servers import Postgres, Redis, stop_all
from tests.waits import wait_for

LEASE, REAP, LEG = 4.0, 1.0, 2.0  # seconds
SETTINGS = {
    "LEASE_SECONDS": str(LEASE),
    "HEARTBEAT_SECONDS": "1",
    "REAP_SECONDS": str(REAP),
    "LEG_SECONDS": str(LEG),
    "SAVE_SECONDS": "0.2",
    "API_KEYS": "off",
}
WORKERS = ("one", "two")
API_PORT = 8000

# The database itself writes down every end of a job and every claim of a unit, so that none goes unseen.
WATCH = """
CREATE TABLE job_ends (job_id text, status text);
CREATE FUNCTION note_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO job_ends VALUES (NEW.id, NEW.status);
    RETURN NEW;
END $$;
CREATE TRIGGER note_end AFTER UPDATE OF status ON jobs FOR EACH ROW
WHEN (OLD.status <> NEW.status AND NEW.status IN ('succeeded', 'failed', 'cancelled'))
EXECUTE FUNCTION note_end();

CREATE TABLE claims (number bigserial, job_id text, chain integer, address text, token text);
CREATE FUNCTION note_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO claims (job_id, chain, address, token)
    VALUES (NEW.job_id, NEW.chain, host(inet_client_addr()), NEW.token);
    RETURN NEW;
END $$;
CREATE TRIGGER note_claim AFTER UPDATE OF token ON units FOR EACH ROW
WHEN (NEW.token IS NOT NULL AND NEW.token IS DISTINCT FROM OLD.token)
EXECUTE FUNCTION note_claim();
"""

# A client that locks a job's units and never says another word.
LOCK = """
import sys, time, psycopg
connection = psycopg.connect(sys.argv[1])
connection.execute("UPDATE units SET error = error WHERE job_id = %s", (sys.argv[2],))
print("locked", flush=True)
time.sleep(3600)
"""


class RemoteClient(Client):
    """A client on one of the hosts."""

    def __init__(self, network: Network, host: str, address: str) -> None:
        super().__init__(address)
        self.network, self.host = network, host

    def request(self, method: str, path: str, **options: Any) -> Any:
        """One request, from the host."""
        with self.network.on(self.host):
            return super().request(method, path, **options)


class Cluster:
    """Starts everything; `close` ends everything, however far the start came."""

    def __init__(self) -> None:
        self.network: Network | None = None
        self.processes: dict[str, Process] = {}
        self.servers: list[Any] = []
        self.folder = guard.make_folder("cluster")
        self.folder.chmod(0o755)

    def open(self) -> None:
        """Hosts, servers, API, workers."""
        self.network = network = Network(["base", *WORKERS])
        for name in ("postgres", "redis", "cache"):
            (self.folder / name).mkdir()
        base = network.launcher("base")
        self.postgres = Postgres(self.folder / "postgres", network.address("base", "data"), 5432, base)
        self.servers.append(self.postgres)
        self.redis = Redis(self.folder / "redis", network.address("base", "broker"), 6379, base)
        self.servers.append(self.redis)
        migrate = self.start("base", "migrate")
        assert migrate.wait() == 0, migrate.tail()
        with self.postgres.connect() as connection:
            connection.execute(WATCH)
        api = self.start("base", "api")
        self.client = RemoteClient(network, "base", f"http://{network.address('base', 'data')}:{API_PORT}")
        wait_for(lambda: self.client.is_up() or not api.is_running(), "the API is up")
        assert api.is_running(), api.tail()
        for host in WORKERS:
            self.start(host, "worker", "--name", host)

    def start(self, host: str, command: str, *arguments: str) -> Process:
        """Run a command of ours on a host."""
        assert self.network is not None
        environment = {f"NEWFOUND_{name}": value for name, value in SETTINGS.items()} | {
            "NEWFOUND_DATABASE_URL": self.postgres.url(),
            "NEWFOUND_BROKER_URL": self.redis.url(),
            "NEWFOUND_HOST": self.network.address("base", "data"),
            "NEWFOUND_PORT": str(API_PORT),
            "NUMBA_CACHE_DIR": str(self.folder / "cache"),
            "PYTHONPATH": str(ROOT),
            "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.defpath]),
            "PYTHONUNBUFFERED": "1",
        }
        program = [*self.network.launcher(host), sys.executable, "-m", "app", command, *arguments]
        process = Process(f"{host}-{command}", program, environment, self.folder)
        self.processes[process.name] = process
        return process

    def lock_units(self, host: str, job_id: str) -> Process:
        """From a host, lock all units of a job in a transaction that does not end."""
        assert self.network is not None
        url = self.postgres.url().replace("+psycopg", "")
        command = [*self.network.launcher(host), sys.executable, "-c", LOCK, url, job_id]
        process = Process(f"{host}-lock", command, {"PATH": os.defpath}, self.folder)
        self.processes[process.name] = process
        wait_for(lambda: "locked" in process.log(), "the units are locked", every=0.02)
        return process

    def claims(self, job_id: str) -> list[tuple[int, str]]:
        """Every claim of a chain of the job in its order: the chain, and the host that claimed it."""
        assert self.network is not None
        hosts = {self.network.address(host, "data"): host for host in WORKERS}
        with self.postgres.connect() as connection:
            rows = connection.execute(
                "SELECT chain, address FROM claims WHERE job_id = %s AND chain IS NOT NULL ORDER BY number", (job_id,)
            ).fetchall()
        return [(chain, hosts[address]) for chain, address in rows]

    def at_work(self, job_id: str) -> dict[str, int]:
        """The chain of the job that each host holds a lease on and has saved at least once."""
        assert self.network is not None
        with self.postgres.connect() as connection:
            rows = connection.execute(
                "SELECT claims.address, units.chain FROM units JOIN claims USING (job_id, chain, token) "
                "WHERE job_id = %s AND units.status = 'running' AND units.n_sweeps > 0",
                (job_id,),
            ).fetchall()
        chains = dict(rows)
        addresses = {host: self.network.address(host, "data") for host in WORKERS}
        return {host: chains[address] for host, address in addresses.items() if address in chains}

    def ends(self, job_id: str) -> list[str]:
        """Every end that the job has come to."""
        with self.postgres.connect() as connection:
            rows = connection.execute("SELECT status FROM job_ends WHERE job_id = %s", (job_id,)).fetchall()
        return [status for (status,) in rows]

    def tails(self) -> str:
        """The ends of all logs."""
        return "\n".join(process.tail() for process in self.processes.values())

    def close(self) -> None:
        """End all processes, take the network away, delete the files."""
        for process in self.processes.values():
            process.kill()
        if hasattr(self, "client"):
            self.client.http.close()
        stop_all(*reversed(self.servers))
        if self.network is not None:
            self.network.close()
        shutil.rmtree(self.folder)
