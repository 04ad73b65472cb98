# The builder for CPU nodes: reading, embedding with the int8 encoder, the coarse filter, packing and signing.
# Build from the repository's root:  docker build -f infra/docker/builder-cpu.Dockerfile -t prefdex-builder:cpu .
FROM python:3.12.11-slim-bookworm AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY builder builder
COPY client client
COPY shared shared
RUN pip install --no-cache-dir build==1.3.0 && python -m build --wheel --outdir /wheels .

FROM python:3.12.11-slim-bookworm
ENV PYTHONUNBUFFERED=1 RAY_USAGE_STATS_ENABLED=0 OMP_NUM_THREADS=1
# Ray's launcher and its probes use wget and procps.
RUN apt-get update && apt-get install --yes --no-install-recommends procps wget && rm -rf /var/lib/apt/lists/*
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[builder]" "ray[data,default]==2.60.0" && rm -rf /wheels
RUN useradd --create-home --uid 1000 ray
USER 1000
WORKDIR /home/ray
