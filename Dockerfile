# One image, three commands: `surehit serve`, `surehit review`, `surehit tune`.
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY service service
COPY index index
COPY evaluation evaluation
COPY review_ui review_ui
COPY migrations migrations
# portable machine code: the image may run on another processor than the one that built it
ENV HNSWLIB_NO_NATIVE=1
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir -c constraints.txt .
# the 8-bit model files are built and verified here, so that a container starts in seconds
RUN SUREHIT_DATA_DIR=/data /venv/bin/surehit doctor

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /data surehit
COPY --from=build /venv /venv
COPY --from=build --chown=surehit /data /data
USER surehit
ENV PATH=/venv/bin:$PATH SUREHIT_DATA_DIR=/data OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
VOLUME /data
EXPOSE 8080 8501
HEALTHCHECK --interval=10s --timeout=3s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
CMD ["surehit", "serve", "--host", "0.0.0.0", "--port", "8080"]
