"""What an operator may set, each by an environment variable NEWFOUND_<NAME>; `app.processes.environment` reads them."""

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

PREFIX = "NEWFOUND_"
DRIVERS = {"sqlite": "pysqlite", "postgresql": "psycopg"}  # of databases
TRANSPORTS = ("filesystem", "redis", "rediss")  # of brokers

# Lists with commas: `*`, names, `*.` before a name, addresses (IPv6 with or without brackets), networks.
HOST = r"(\*|(\*\.)?[\w-]+(\.[\w-]+)*|\[?[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\]?)"
HOSTS = rf"^ *({HOST}( *, *{HOST})*)? *$"
ADDRESS = r"(\*|[0-9A-Fa-f:.]+(/[0-9]+)?)"
ADDRESSES = rf"^ *({ADDRESS}( *, *{ADDRESS})*)? *$"
# With commas: `*`, or schemes with hosts and ports, as browsers write them.
ORIGIN = r"(\*|https?://(\[[0-9a-f:.]+\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*)(:[0-9]{1,5})?)"
ORIGINS = rf"^ *({ORIGIN}( *, *{ORIGIN})*)? *$"
RATES = r"^(none|[0-9]+/[0-9]*(second|minute|hour|day)(;[0-9]+/[0-9]*(second|minute|hour|day))*)$"
NO_LIMIT = "none"  # of a rate


class Settings(BaseSettings):
    """The service's settings; times are in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, allow_inf_nan=False)

    secrets_folder: Path | None = None  # of files named as variables are, which may hold any of these settings
    data_folder: Path = Path("data")
    database_url: str | None = None  # default: an SQLite file in the data folder
    broker_url: str | None = None  # default: files in the data folder

    log_format: Literal["text", "json"] = "text"
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    otel: bool = False  # traces by OpenTelemetry, to where its own OTEL_EXPORTER_OTLP_* variables say

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=1, le=65535)
    api_keys: Literal["auto", "required", "off"] = "auto"  # whether requests need one; auto: once any was made
    trusted_hosts: str = Field(default="", pattern=HOSTS)  # besides localhost and the host above; `app.http.hosts`
    root_path: str = Field(default="", pattern=r"^(/[\w.~-]+)*$")  # of the service behind a proxy, such as /newfound
    forwarded_allow_ips: str = Field(default="", pattern=ADDRESSES)  # proxies whose X-Forwarded-* headers are trusted
    cors_origins: str = Field(default="", pattern=ORIGINS)  # of pages elsewhere that may read answers in a browser
    client_seconds: float = Field(default=30.0, gt=0)  # a client that is silent for this long is cut off
    max_connections: int = Field(default=1_000, ge=1)
    max_event_streams: int = Field(default=500, ge=1)  # each holds one of these connections for as long as its job runs
    webhook_networks: str = ""  # beside public addresses, networks that webhooks may go to, with commas; also by http
    workers: int = Field(default=2, ge=1)
    worker_niceness: int = Field(default=5, ge=0, le=19)  # with which a worker gives way to the API on its host
    threads: int = Field(default=1, ge=1)  # of a worker, for the sweeps of its leg; no result depends on it

    lease_seconds: float = Field(default=60.0, gt=0)  # a unit without a sign of life for this long is taken over
    heartbeat_seconds: float = Field(default=15.0, gt=0)
    reap_seconds: float = Field(default=10.0, gt=0)
    leg_seconds: float = Field(default=60.0, gt=0)  # then a worker turns to the next unit
    save_seconds: float = Field(default=2.0, gt=0)

    encodings_folder: Path | None = None  # default: in the data folder; where workers map encoded corpora from
    max_encodings_bytes: int = Field(default=2**35, ge=0)  # there; the last one stays whatever its size
    embedding_model_folder: Path | None = None  # default: no vectors are made; `embedding.folder`

    rate_limit: str = Field(default="100/second;3000/minute", pattern=RATES)  # of requests, for each API key
    failed_keys_limit: str = Field(default="30/minute", pattern=RATES)  # of keys that are no good, for each address
    owner_documents: int | None = Field(default=None, ge=0)  # of an owner, stored: `app.core.quotas`
    owner_bytes: int | None = Field(default=None, ge=0)  # stored texts, fields and vectors
    owner_tokens: int | None = Field(default=None, ge=0)  # of the corpora of live jobs, by the forecast
    owner_live_jobs: int | None = Field(default=None, ge=0)  # as max_live_jobs
    owner_live_chains: int | None = Field(default=None, ge=0)  # of these jobs

    max_live_jobs: int = Field(default=500, ge=1)  # queued or running at once, side runs included
    max_live_units: int = Field(default=10_000, ge=1)  # of work that these jobs still have to do
    max_job_seconds: float = Field(default=1e6, gt=0)  # of work of one worker, by the forecast
    max_job_bytes: int = Field(default=2**35, ge=1)  # memory of a worker, by the forecast

    uploads_folder: Path | None = None  # default: in the data folder; where files lie while they are read
    max_upload_bytes: int = Field(default=2**30, ge=1)  # as sent, and as unpacked
    max_document_bytes: int = Field(default=2**20, ge=1)  # of a text, in UTF-8
    max_line_bytes: int = Field(default=2**22, ge=1)  # of a line, a record over several lines, or a JSON object
    max_fields_bytes: int = Field(default=2**16, ge=1)  # of all that a document has besides text, label and key
    max_columns: int = Field(default=1_000, ge=1)
    max_files: int = Field(default=1_000_000, ge=1)  # in a ZIP
    max_cells: int = Field(default=5_000_000, ge=1)  # of a workbook, which is held in memory as a whole
    max_document_tokens: int = Field(default=1_000_000, ge=1)  # of a ready bag of words
    max_documents: int = Field(default=10_000_000, ge=1)  # of a corpus
    max_open_models_bytes: int = Field(default=2**29, ge=1)  # of models that the API keeps ready to answer
    max_model_bytes: int = Field(default=2**32, ge=1)  # of a model that is imported
    keep_jobs_days: float | None = Field(
        default=None, gt=0
    )  # of a job that has ended, since its last use; `app.upkeep`
    keep_checkpoints_days: float | None = Field(default=None, gt=0)  # of such a job: without them it is only read
    min_free_bytes: int = Field(default=2**28, ge=0)  # on the disk of an embedded database, and of encoded corpora

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What is given in code counts first, then the environment, then the secrets folder."""
        folder = (env_settings() | init_settings()).get("secrets_folder")
        known = {name: text for name, text in secrets(folder).items() if name in cls.model_fields}
        return init_settings, env_settings, InitSettingsSource(settings_cls, known)

    @field_validator("webhook_networks")
    @classmethod
    def check_networks(cls, value: str) -> str:
        """Refuse what is no list of networks."""
        for part in filter(None, map(str.strip, value.split(","))):
            try:
                ip_network(part)
            except ValueError:
                raise ValueError(f"{part} is not a network such as 10.1.0.0/16 or fd00:1::/64") from None
        return value

    @field_validator("database_url")
    @classmethod
    def check_database_url(cls, value: str | None) -> str | None:
        """Refuse what is no URL of a database that Newfound runs on. No message shows it: it may hold a secret."""
        if value is None:
            return None
        try:
            url = make_url(value)
        except (ArgumentError, ValueError):
            raise ValueError("it is not a URL such as postgresql+psycopg://USER:SECRET@HOST/DATABASE") from None
        if url.get_backend_name() not in DRIVERS:
            raise ValueError(f"it names {url.drivername}; Newfound runs on postgresql+psycopg:// and sqlite:///")
        driver = DRIVERS[url.get_backend_name()]
        if "+" in url.drivername and url.get_driver_name() != driver:
            raise ValueError(f"it names {url.drivername}; the driver must be {url.get_backend_name()}+{driver}")
        if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
            raise ValueError(
                "it names no file: the processes of the service must share one, as in sqlite:////path/to/file"
            )
        if url.get_backend_name() == "sqlite" and url.query:
            raise ValueError(f"SQLite takes no parameters here: {', '.join(url.query)}")
        return value

    @field_validator("broker_url")
    @classmethod
    def check_broker_url(cls, value: str | None) -> str | None:
        """Refuse what is no URL of a broker that Newfound runs on. No message shows it: it may hold a secret."""
        if value is None:
            return None
        scheme = value.partition(":")[0]
        if scheme not in TRANSPORTS:
            known = ", ".join(f"{transport}://" for transport in TRANSPORTS)
            raise ValueError(f"its transport must be one of {known}")
        try:
            url = urlsplit(value)
            is_well_formed = url.port is None or url.port > 0
            is_well_formed &= re.fullmatch(r"/?\d*", url.path) is not None and value.startswith(f"{scheme}://")
        except ValueError:  # a port that is no number
            is_well_formed = False
        if not is_well_formed:
            raise ValueError(
                "it is not a URL such as redis://:SECRET@HOST:6379/0, or filesystem:// for the data folder"
            )
        return value

    @model_validator(mode="after")
    def check_times(self) -> Self:
        """A lease must outlast what renews it, or workers take each other's units away all the time."""
        for name in ("heartbeat_seconds", "save_seconds"):
            seconds = getattr(self, name)
            if seconds >= self.lease_seconds:
                raise ValueError(
                    f"{PREFIX}{name.upper()}: {seconds:g} should be less than {PREFIX}LEASE_SECONDS, "
                    f"which is {self.lease_seconds:g}"
                )
        return self

    @property
    def database(self) -> str:
        """URL of the database."""
        return self.database_url or f"sqlite:///{self.data_folder.absolute() / 'newfound.db'}"

    @property
    def broker(self) -> str:
        """URL of the broker."""
        return self.broker_url or "filesystem://"

    @property
    def encodings(self) -> Path:
        """Where a host keeps the encoded corpora that its workers use."""
        return (self.encodings_folder or self.data_folder / "encodings").absolute()

    @property
    def uploads(self) -> Path:
        """Where files lie while they are read; they have no names there, and go with the process that reads them."""
        folder = (self.uploads_folder or self.data_folder / "uploads").absolute()
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def broker_folder(self) -> Path:
        """Where the filesystem broker keeps its messages."""
        return self.data_folder.absolute() / "broker"


def secrets(folder: Path | str | None) -> dict[str, str]:
    """What the files of a secrets folder say, by the names of settings; an empty file says nothing.

    Names are those of the variables, in capitals or not; other files are somebody else's. Raises OSError, or
    UnicodeDecodeError.
    """
    if not folder:
        return {}
    files = [path for path in Path(folder).iterdir() if path.name.upper().startswith(PREFIX)]
    found = {path.name.upper().removeprefix(PREFIX).lower(): path.read_text("utf-8").strip() for path in files}
    return {name: text for name, text in found.items() if text}
