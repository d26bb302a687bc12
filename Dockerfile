# The service, with the versions it was tested with: docs/how-to/deploy-the-service.md
FROM python:3.13-slim AS build
WORKDIR /build
RUN python -m venv /opt/surehold
COPY requirements/serve.txt requirements/serve.txt
RUN /opt/surehold/bin/python -m pip install --no-cache-dir --require-hashes -r requirements/serve.txt
COPY LICENSE README.md pyproject.toml ./
COPY src src
RUN /opt/surehold/bin/python -m pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.13-slim
# A user that nobody logs in as. Whoever can read /data can read the records.
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin surehold \
    && install --directory --owner=surehold --group=surehold --mode=0700 /data
COPY --from=build /opt/surehold /opt/surehold
ENV PATH=/opt/surehold/bin:$PATH
USER surehold
WORKDIR /data
VOLUME /data
EXPOSE 8750
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import http.client, sys; c = http.client.HTTPConnection('127.0.0.1', 8750, timeout=5); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["surehold"]
# Inside a container only its network reaches it; it refuses to start before there are tokens.
CMD ["serve", "/data/dataset", "--host", "0.0.0.0", "--expose"]
