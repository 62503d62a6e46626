# rushlight in a container: `docker build -t rushlight .`, for NVIDIA GPUs with `--build-arg EXTRAS=cli,cuda` and then `docker run --gpus all`.
# CUDA's libraries come with the extra, the driver is the host's: one base serves both.
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev binutils
COPY . /source
RUN pip wheel --no-deps --wheel-dir /wheels /source

FROM python:3.12-slim
ARG EXTRAS=cli
# OpenMP, which oneDNN's threads are
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
RUN --mount=from=build,source=/wheels,target=/wheels pip install --no-cache-dir "$(ls /wheels/*.whl)[$EXTRAS]"
RUN useradd --create-home user
USER user
WORKDIR /home/user
ENTRYPOINT ["rushlight"]
CMD ["doctor"]
