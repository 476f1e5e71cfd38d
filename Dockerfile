# docker build -t tessera . && docker run --rm -v "$PWD:/work" tessera map -a tpu-v4i -w matmuls
FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends make dpkg-dev git ca-certificates
WORKDIR /src
COPY packages.txt Makefile ./
COPY tools tools
RUN make deps
COPY . .
RUN make deb BUILD=/build

FROM debian:bookworm-slim
COPY --from=build /build/tessera_*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/tessera_*.deb \
    && rm -rf /tmp/tessera_*.deb /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["tessera"]
CMD ["--help"]
