"""What an operator may set, each by an environment variable NEWFOUND_<NAME>."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """The service's settings; times are in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(env_prefix="NEWFOUND_", frozen=True)

    data_folder: Path = Path("data")
    database_url: str | None = None  # default: an SQLite file in the data folder
    broker_url: str | None = None  # default: files in the data folder

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    workers: int = Field(default=2, ge=1)
    threads: int = Field(default=1, ge=1)  # of a worker, for the sweeps of its leg; no result depends on it

    lease_seconds: float = Field(default=60.0, gt=0)  # a unit without a sign of life for so long is taken over
    heartbeat_seconds: float = Field(default=15.0, gt=0)
    reap_seconds: float = Field(default=10.0, gt=0)
    leg_seconds: float = Field(default=60.0, gt=0)  # then a worker turns to the next unit in the queue
    save_seconds: float = Field(default=2.0, gt=0)

    encodings_folder: Path | None = None  # default: in the data folder; where workers map encoded corpora from
    max_encodings_bytes: int = Field(default=2**35, ge=0)  # there; the last one stays whatever its size

    max_live_jobs: int = Field(default=500, ge=1)  # queued or running at once, side runs included
    max_live_units: int = Field(default=10_000, ge=1)  # of work that these jobs still have to do
    max_job_seconds: float = Field(default=1e6, gt=0)  # of work of one worker, by the forecast
    max_job_bytes: int = Field(default=2**35, ge=1)  # memory of a worker, by the forecast

    max_upload_bytes: int = Field(default=2**30, ge=1)
    max_document_bytes: int = Field(default=2**20, ge=1)

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
    def broker_folder(self) -> Path:
        """Where the filesystem broker keeps its messages."""
        return self.data_folder.absolute() / "broker"
