# The quick start in a container, for machines without the packages or without the CUDA Toolkit.
#
#   docker build -t sgemm .
#   docker run -v "$PWD/measurements:/sgemm/build/measurements" sgemm    # executes the chapters on the CPU
#   docker run -it --entrypoint bash -w /sgemm/build sgemm               # a shell beside ./runner
#
# For a GPU take a base that has nvcc. Each new container compiles for the GPU that it finds, which takes some minutes:
#
#   docker build -t sgemm-cuda --build-arg BASE=nvidia/cuda:13.0.1-devel-ubuntu24.04 .
#   docker run --gpus all -v "$PWD/measurements:/sgemm/build/measurements" sgemm-cuda
ARG BASE=debian:12
FROM ${BASE}
WORKDIR /sgemm
COPY . .
# Installs the packages and builds; the runner only prints its kernels.
RUN scripts/quickstart.sh --list
ENTRYPOINT ["scripts/quickstart.sh"]
