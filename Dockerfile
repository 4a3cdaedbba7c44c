# One image for every process of Newfound: serve (the default), api, worker, migrate.
# The Python of the test suite: with another one the lock file brings another numpy, and maybe other bytes.
FROM python:3.11-slim-bookworm AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/newfound
WORKDIR /source

# What is locked changes seldom and is large: a layer of its own. Wheels alone, as there is no compiler.
COPY requirements.lock ./
RUN /opt/newfound/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY app ./app
# For the page's button that loads the sample corpus.
COPY examples/labeled.ndjson examples/unlabeled.ndjson ./app/page/sample/
COPY baselines ./baselines
COPY embedding ./embedding
COPY migrations ./migrations
COPY newfound_client ./newfound_client
COPY sampler ./sampler
COPY worker ./worker
# pip and setuptools have done their work; what is not there cannot be misused.
RUN /opt/newfound/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
    && /opt/newfound/bin/pip uninstall --yes setuptools pip


FROM python:3.11-slim-bookworm

# docker build --build-arg REVISION=$(git rev-parse HEAD)
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="newfound" \
    org.opencontainers.image.description="Open-set document categorization: known categories, and the new ones nobody named yet" \
    org.opencontainers.image.licenses="MIT" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"

# A fixed uid, so that volumes keep their owner, and no program that lends another one. These two folders and /tmp are
# all that is ever written: /data by the embedded service, /cache by numba. A new volume takes their owner over.
RUN groupadd --system --gid 10001 newfound \
    && useradd --system --uid 10001 --gid newfound --no-create-home --home-dir /nonexistent newfound \
    && install --directory --owner newfound --group newfound --mode 0750 /data /cache \
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +

COPY --from=build /opt/newfound /opt/newfound

# One thread a process for linear algebra: chains run beside each other, in processes. Whether keys are asked for is no
# secret, whatever the variable's name looks like.
# hadolint ignore=DL3064
ENV PATH=/opt/newfound/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/cache \
    NUMBA_NUM_THREADS=1 \
    OMP_NUM_THREADS=1 \
    OPENBLAS_NUM_THREADS=1 \
    NEWFOUND_DATA_FOLDER=/data \
    NEWFOUND_LOG_FORMAT=json \
    NEWFOUND_HOST=0.0.0.0 \
    NEWFOUND_API_KEYS=required \
    NEWFOUND_PORT=8000

# Celery puts the working directory on the import path: it must be one that nobody writes to.
WORKDIR /opt/newfound
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM

# Of `serve` and `api`; docker-compose.yml has another one for workers.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=5)"]

ENTRYPOINT ["newfound"]
CMD ["serve"]
