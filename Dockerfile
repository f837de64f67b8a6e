# gdlnn serve in a container: see docs/server.md. The first stage builds the wheel as `make wheel` does.
FROM python:3.12-slim-bookworm AS build
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends g++ make && rm -rf /var/lib/apt/lists/*
WORKDIR /gdlnn
COPY . .
RUN make wheel PYTHON=python

FROM python:3.12-slim-bookworm
RUN useradd --create-home --uid 1000 gdlnn
WORKDIR /gdlnn
COPY --from=build /gdlnn/dist dist
COPY constraints.txt constraints.txt
RUN pip install --no-cache-dir -c constraints.txt "$(ls dist/gdlnn-*-abi3-*.whl)[chem,server]" && rm -r dist
USER 1000
WORKDIR /models
EXPOSE 8000
HEALTHCHECK --start-period=60s --interval=30s --timeout=5s \
  CMD ["python", "-I", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["gdlnn"]
CMD ["serve", "model.gdlnn", "--host", "0.0.0.0"]
