# The builder for GPU nodes: the `cluster` extra, with vLLM, faiss-gpu and sentence-transformers on CUDA 12.
# Build from the repository's root:  docker build -f infra/docker/builder-cuda.Dockerfile -t prefdex-builder:cuda .
FROM python:3.12.11-slim-bookworm AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY builder builder
COPY client client
COPY shared shared
RUN pip install --no-cache-dir build==1.3.0 && python -m build --wheel --outdir /wheels .

FROM nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04
ENV PYTHONUNBUFFERED=1 RAY_USAGE_STATS_ENABLED=0 PATH=/opt/prefdex/bin:$PATH
# Ubuntu 24.04 has Python 3.12, which the cluster extra resolves for. A compiler, since vLLM's kernels are tuned at start.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential procps python3.12-dev python3.12-venv wget \
    && rm -rf /var/lib/apt/lists/*
COPY --from=wheel /wheels /wheels
RUN python3.12 -m venv /opt/prefdex \
    && pip install --no-cache-dir "$(echo /wheels/*.whl)[cluster]" "ray[data,default,llm]==2.60.0" \
    && rm -rf /wheels
# The image's own user of that number is replaced.
RUN userdel --remove ubuntu && useradd --create-home --uid 1000 ray
USER 1000
WORKDIR /home/ray
