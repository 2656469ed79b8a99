"""Files as kernels on a GPU: what is right is measured, and what crashes or hangs costs its case alone."""

from __future__ import annotations

import re
import signal

import pytest

from runs import Run, interrupt_runner, needs_runner, run_runner, run_with_time_limit
from tools import wrong_kernels

pytestmark = needs_runner

TEXTS = wrong_kernels.kernels()
RIGHT = TEXTS["right_naive.cu"]
NULL = "float sum = *static_cast<const volatile float*>(nullptr);"
ENDLESS = "float sum = 0.0f;\n    while (*(volatile float*)A != 1234.5f);"


@pytest.fixture(scope="module", autouse=True)
def _gpu(tmp_path_factory):
    done = run_runner(tmp_path_factory.mktemp("gpu"), "--kernel", "1", "--sizes", "16")
    if done.outcomes.get("01_naive") != "measured":
        pytest.skip(done.stderr.strip() or "there is no GPU")


@pytest.fixture
def run(tmp_path):
    """Runs the runner with these options on files, given by name and text, and on chapter 1 before them."""

    def run(files: dict[str, str], *arguments: str) -> Run:
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        return run_runner(tmp_path, "--kernel", ",".join(["1", *files]), *arguments)

    return run


@pytest.mark.parametrize("options", [(), ("--alpha", "-1.5", "--beta", "0.5")])
def test_a_right_file_is_measured(run, options):
    done = run({"my.cu": RIGHT}, "--sizes", "100,257x130x9", *options)
    assert done.status == 0, done.stdout + done.stderr
    assert [case["outcome"] for case in done.cases] == ["measured"] * 4
    assert all(case["verified"] for case in done.cases)
    assert "nvcc" in done.cases[1]["compile_command"]


@pytest.mark.parametrize("name", ["right_ring", "right_mma", "right_wmma", "right_pipeline", "right_mbarriers"])
def test_what_the_executor_finds_right_is_right(run, name):
    done = run({f"{name}.cu": TEXTS[f"{name}.cu"]}, "--sizes", "33x17x10,200")
    assert [case["outcome"] for case in done.cases] == ["measured"] * 4, done.stdout + done.stderr


PARAMETERS = (
    "int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C, cudaStream_t stream"
)
GRID = "dim3((N + 15) / 16, (rows + 15) / 16), dim3(16, 16)"
HONEST = {
    "graph": """
  static cudaGraph_t graph; static cudaGraphNode_t node; static cudaGraphExec_t made;
  int rows = M, lda = K, ldb = N, ldc = N;
  void* arguments[] = {&rows, &N, &K, &alpha, &A, &lda, &B, &ldb, &beta, &C, &ldc};
  cudaKernelNodeParams product{};
  product.func = (void*)sgemm; product.kernelParams = arguments;
  product.gridDim = dim3((N + 15) / 16, (M + 15) / 16); product.blockDim = dim3(16, 16);
  if (!graph) {
    cudaGraphCreate(&graph, 0); cudaGraphAddKernelNode(&node, graph, nullptr, 0, &product);
    cudaGraphInstantiate(&made, graph, 0);
  }
  cudaGraphExecKernelNodeSetParams(made, node, &product);
  cudaGraphLaunch(made, stream);""",
    "cublas": """
  static cublasHandle_t handle;
  if (!handle) cublasCreate(&handle);
  cublasSetStream(handle, stream);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &alpha, B, N, A, K, &beta, C, N);""",
    "streams": f"""
  static cudaStream_t second; static cudaEvent_t forked, joined;
  if (!second) {{ cudaStreamCreate(&second); cudaEventCreate(&forked); cudaEventCreate(&joined); }}
  cudaEventRecord(forked, stream); cudaStreamWaitEvent(second, forked, 0);
  const int upper = M / 2, rows = M - upper;
  sgemm<<<{GRID}, 0, second>>>(rows, N, K, alpha, A + upper * K, K, B, N, beta, C + upper * N, N);
  if (upper) sgemm<<<{GRID}, 0, stream>>>(upper, N, K, alpha, A, K, B, N, beta, C, N);
  cudaEventRecord(joined, second); cudaStreamWaitEvent(stream, joined, 0);""",
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_host_code_is_measured(run, name):
    kernel = RIGHT[RIGHT.index("__global__") :]
    text = f"#include <cublas_v2.h>\n{kernel}\nvoid product({PARAMETERS}) {{{HONEST[name]}\n}}\n"
    text += "// launch: product(M, N, K, alpha, A, B, beta, C, stream)\n"
    done = run({"my.cu": text}, "--sizes", "100,257x130x9")
    assert [case["outcome"] for case in done.cases] == ["measured"] * 4, done.stdout + done.stderr
    assert done.cases[1]["host_code"]


def test_what_crashes_or_hangs_costs_its_case_alone(run):
    null, endless = (RIGHT.replace("float sum = 0.0f;", text) for text in (NULL, ENDLESS))
    files = {"null.cu": null, "endless.cu": endless, "right.cu": RIGHT}
    done, seconds = run_with_time_limit(
        lambda seconds: run(files, "--timeout", seconds, "--sizes", "100,130"),
        lambda case: case["kernel"] == "endless.cu",
    )
    assert done.status == 1, done.stdout + done.stderr
    assert [case["outcome"] for case in done.cases] == ["measured", "failed", "failed", "measured"] * 2
    for first in (0, 4):
        assert "illegal memory access" in done.cases[first + 1]["reason"]
        assert done.cases[first + 2]["reason"] == f"took longer than {seconds} s, which --timeout changes"
    assert done.results["interrupted"] is False


def test_the_first_interrupt_stops_a_case_that_hangs(tmp_path):
    (tmp_path / "endless.cu").write_text(RIGHT.replace("float sum = 0.0f;", ENDLESS), encoding="utf-8")
    done = interrupt_runner(tmp_path, "--kernel", "1,endless.cu", "--sizes", "100", cases=1, number=signal.SIGINT)
    assert done.status == 130, done.stderr
    assert [case["outcome"] for case in done.cases] == ["measured", "skipped"]


@pytest.mark.parametrize(
    ("name", "outcome", "reason"),
    [
        ("keeps_a_counter", "incorrect", "rows of C wrong"),  # which the executor can not see
        ("block_too_large", "failed", "invalid (configuration )?argument"),
        ("launch_bounds_exceeded", "failed", "invalid argument|too many resources|invalid configuration"),
        ("mbarrier_expects_one", "incorrect|failed", "."),
    ],
)
def test_a_wrong_kernel_is_found(run, name, outcome, reason):
    done = run({f"{name}.cu": TEXTS[f"{name}.cu"]}, "--sizes", "100", "--timeout", "10")
    assert done.status == 1, done.stdout + done.stderr
    assert re.fullmatch(outcome, done.cases[1]["outcome"]), done.cases[1]
    assert re.search(reason, done.cases[1]["reason"]), done.cases[1]


def test_too_much_static_shared_memory_does_not_compile(run):
    name = "shared_memory_too_large.cu"
    too_large = TEXTS[name].replace("TILE * 48", "TILE * 256")  # nvcc 13 takes 48 KiB and more for an H100
    done = run({name: too_large}, "--sizes", "100")
    assert done.status == 2
    assert "too much shared data" in done.stderr
