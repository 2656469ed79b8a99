"""Files as kernels, on the executor: what is right, what is wrong, and what takes the process down."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from runs import (
    HANGS,
    RUNNER,
    is_running,
    needs_runner,
    ran,
    run_nvcc_on_all,
    run_runner,
    run_with_time_limit,
    started,
    wait_until,
)
from tools import testing, wrong_kernels

pytestmark = needs_runner

LAUNCH = "// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)\n"
KERNEL = """
__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    C[row * N + column] = beta == 0 ? alpha * sum : alpha * sum + beta * C[row * N + column];
  }
}
"""
RIGHT = LAUNCH + KERNEL
CHECK_HINT = "; --check names the line of a forbidden access"


def host_function(before: str) -> str:
    """A host function for small sizes, and what it does before it launches KERNEL."""
    return f"""void f(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {{
  {before}
  sgemm<<<dim3(2, 2), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C);
}}
"""


def write_compiler(path: Path, commands: str) -> None:
    path.write_text(f"#!/bin/sh\n{commands}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def run(tmp_path):
    """Runs the runner on files, given by name and text, on the CPU."""

    def run(files: dict[str, str], *arguments: str, kernels: str | None = None, sizes: str = "20"):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        chosen = kernels or ",".join(files)
        return run_runner(tmp_path, "--kernel", chosen, "--device", "cpu", "--sizes", sizes, *arguments)

    return run


# ---- What works ----


def test_a_file_is_a_kernel_beside_chapters(run):
    done = run({"my.cu": RIGHT}, kernels="1,my.cu,cpu_naive", sizes="20,33x17x9")
    assert done.status == 0, done.stderr
    assert [case["outcome"] for case in done.cases] == ["measured", "executed", "executed"] * 2
    case = done.cases[2]
    assert (case["kernel"], case["path"], case["number"], case["verified"]) == ("my.cu", "my.cu", -1, True)
    assert re.fullmatch("[0-9a-f]{64}", case["source_hash"])
    assert "g++" in case["compile_command"] or "c++" in case["compile_command"]
    assert str(RUNNER.parent.parent) not in case["compile_command"]  # folders of the machine say nothing
    assert "path" not in done.cases[1]
    assert done.results  # by its schema


def test_errors_of_a_file_are_compared_on_kinds_of_operands(run):
    assert run({"my.cu": RIGHT}, "--accuracy", "--data", "uniform,cancelling").outcomes == {"my.cu": "compared"}


def test_counts_name_the_lines_of_a_file(run):
    done = run({"my.cu": RIGHT}, "--count")
    assert done.outcomes == {"my.cu": "counted"}, done.stderr
    counts = done.cases[0]["counts"]
    assert ("my.cu", "global_load") in {(line["file"], line["kind"]) for line in counts["lines"]}
    assert counts["flops"] > 2 * 20**3
    assert "my.cu" in done.stdout


def test_the_new_kernel_is_right_and_is_never_overwritten(tmp_path, run):
    new = [RUNNER, "--new-kernel", "new.cu"]
    assert ran(*new, cwd=tmp_path).returncode == 0
    text = (tmp_path / "new.cu").read_text(encoding="utf-8")
    for options in ((), ("--alpha", "-2", "--beta", "0.5")):
        done = run({}, "--check", *options, kernels="new.cu", sizes="33x17x9,1,64")
        assert done.status == 0, done.stdout
        assert [case["outcome"] for case in done.cases] == ["executed"] * 3
    again = ran(*new, cwd=tmp_path)
    assert again.returncode == 2
    assert "there is a file new.cu already" in again.stderr
    assert (tmp_path / "new.cu").read_text(encoding="utf-8") == text


SPLIT = """
__global__ void part(int M, int N, int K, const float* A, const float* B, float* sums) {
  const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y, half = blockIdx.z;
  if (column >= N) return;
  float sum = 0;
  for (int k = half; k < K; k += 2) sum += A[row * K + k] * B[k * N + column];
  sums[(half * M + row) * N + column] += sum;
}
__global__ void add(int M, int N, float* sums, float* C) {
  const int i = blockIdx.x * 16 + threadIdx.x;
  if (i >= M * N) return;
  C[i] = sums[i] + sums[M * N + i];
  sums[i] = sums[M * N + i] = 0;  // as the next launch expects it
}
void split(int M, int N, int K, const float* A, const float* B, float* C, float* sums) {
  part<<<dim3((N + 15) / 16, M, 2), 16>>>(M, N, K, A, B, sums);
  add<<<(M * N + 15) / 16, 16>>>(M, N, sums, C);
}
// launch: split(M, N, K, A, B, C, (float*)workspace)
// requires: alpha == 1 && beta == 0
"""


def test_a_workspace_holds_zeros_and_has_bounds(run):
    done = run({"split.cu": SPLIT + "// workspace: 2 * M * N * 4\n"}, "--check", sizes="20,33x17x9")
    assert done.status == 0, done.stdout
    assert [case["workspace_bytes"] for case in done.cases] == [2 * 20 * 20 * 4, 2 * 33 * 17 * 4]
    done = run({"split.cu": SPLIT}, "--check", "--workspace", "2 * M * N * 4 - 4", kernels="split.cu")
    assert done.status == 1
    assert "byte 3196 of workspace, which has 3196 bytes: outside of all arrays" in done.cases[0]["reason"]
    assert run({}, "--workspace", "-4", kernels="split.cu").cases[0]["reason"] == "asks for a workspace of -4 bytes"
    beyond_int = "M * 214748365 - 4294967300 + 2 * M * N * 4"
    assert run({}, "--workspace", beyond_int, "--check", kernels="split.cu").status == 0
    unsaid = run({}, kernels="split.cu")
    assert unsaid.status == 2
    assert 'add a comment "// workspace: 4 * M * N" to the file, or give --workspace' in unsaid.stderr


HALF = """
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void sums(int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.x, column = threadIdx.x;
  __half sum = __float2half(0.0f);
  for (int k = 0; k < K; ++k) sum = __hfma(__float2half(A[row * K + k]), __float2half(B[k * N + column]), sum);
  C[row * N + column] = __half2float(sum);
}
__global__ void tiles(int N, int K, const float* A, const float* B, float* C) {
  __shared__ __half a[256], b[256];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a_tile;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b_tile;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c_tile;
  wmma::fill_fragment(c_tile, 0.0f);
  const int row = blockIdx.y * 16, column = blockIdx.x * 16;
  for (int k = 0; k < K; k += 16) {
    for (int i = threadIdx.x; i < 256; i += 32) {
      a[i] = __float2half(A[(row + i / 16) * K + k + i % 16]);
      b[i] = __float2half(B[(k + i / 16) * N + column + i % 16]);
    }
    __syncwarp();
    wmma::load_matrix_sync(a_tile, a, 16);
    wmma::load_matrix_sync(b_tile, b, 16);
    wmma::mma_sync(c_tile, a_tile, b_tile, c_tile);
    __syncwarp();
  }
  wmma::store_matrix_sync(C + row * N + column, c_tile, N, wmma::mem_row_major);
}
// launch: sums<<<M, N>>>(N, K, A, B, C)
// launch: tiles<<<dim3(N / 16, M / 16), 32>>>(N, K, A, B, C)
"""


def test_counts_have_operations_of_halves_and_of_tensor_cores(run):
    done = run({"half.cu": HALF}, "--count", "--no-verify", kernels="half.cu:sums,half.cu:tiles", sizes="32")
    assert done.status == 0, done.stdout + done.stderr
    sums, tiles = (case["counts"] for case in done.cases)
    assert (sums["flops"], "tensor_flops" in sums) == (2 * 32**3, False)
    assert (tiles["flops"], tiles["tensor_flops"]) == (0, 2 * 32**3)
    assert "on tensor cores    65.5 k FLOPs, 64 per element of C" in done.stdout


def test_the_preprocessor_gets_its_flags_on_the_cpu_too(run):
    files = {"my.cu": RIGHT.replace("16", "TILE"), "tile.h": "#define TILE WIDTH\n"}
    done = run(files, "--nvcc-flags", "-lineinfo -DWIDTH=8 -include tile.h", kernels="my.cu")
    assert done.status == 0, done.stdout + done.stderr
    assert "-DWIDTH=8 -include tile.h" in done.cases[0]["compile_command"]
    assert "-lineinfo" not in done.cases[0]["compile_command"]
    files["tile.h"] = "#define TILE (WIDTH + nothing)\n"
    done = run(files, "--nvcc-flags", "-DWIDTH=8 -include tile.h", kernels="my.cu")
    assert done.status == 2, "the file that is included first has changed, and the library came from the cache"
    assert "'nothing' was not declared" in done.stderr.replace("‘", "'").replace("’", "'")


def test_the_command_line_launches(run):
    swapped = KERNEL.replace("int M, int N, int K", "int K, int N, int M").replace("sgemm", "mine")
    launch = "mine<<<dim3(CEIL_DIV(N, 16), CEIL_DIV(M, 16)), dim3(16, 16)>>>(K, N, M, alpha, A, B, beta, C)"
    done = run({"my.cu": "namespace {" + swapped + "}\n"}, "--launch", launch, "--requires", "M <= 30", sizes="20,33")
    assert done.status == 0, done.stdout
    assert [case["outcome"] for case in done.cases] == ["executed", "not_supported"]
    assert done.cases[1]["reason"] == "requires M <= 30"


STEPS = """
__global__ void scale(float* C, int count, float beta) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < count) C[i] = beta == 0 ? 0 : beta * C[i];
}
__global__ void add(int M, int N, int K, float alpha, const float* A, const float* B, float* C) {
  __shared__ int row, column;
  if (threadIdx.x == 0) row = blockIdx.x / N, column = blockIdx.x % N;
  __syncthreads();
  float sum = 0;
  for (int k = threadIdx.x; k < K; k += 32) sum += A[row * K + k] * B[k * N + column];
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0U, sum, lanes);
  if (threadIdx.x == 0) C[row * N + column] += alpha * sum;
}
"""


@pytest.mark.parametrize(
    "launch",
    [
        "scale<<<ceil_div(M * N, 64), 64>>>(C, M * N, beta); add<<<M * N, 32>>>(M, N, K, alpha, A, B, C)",
        "const int count = M * N; scale<<<ceil_div(count, 64), 64>>>(C, count, beta);"
        " add<<<count, 32>>>(M, N, K, alpha, A, B, C);",
        "scale<<<ceil_div(M * N, 64), 64, 50000>>>(C, M * N, beta);"
        "add<<<M * N, 32, 60000 + N>>>(M, N, K, alpha, A, B, C)",
        "if (M > 0) { scale<<<ceil_div(M * N, 64), 64>>>(C, M * N, beta); }"
        " add<<<M * N, 32>>>(M, N, K, alpha, A, B, C)",
    ],
)
def test_a_launch_of_several_statements_runs_each_of_them_once(run, launch):
    for mode in ([], ["--check"], ["--count"]):
        done = run({"my.cu": f"// launch: {launch}\n{STEPS}"}, "--beta", "2", *mode, sizes="9x7x40")
        assert done.status == 0, done.stdout + done.stderr
        assert len(done.cases[0].get("counts", {}).get("launches", [1, 2])) == 2


@pytest.mark.parametrize("words", ["cluster(2)", "cluster(2, 2)", "cooperative()"])
def test_a_launch_line_fills_memory_and_says_how_blocks_run(run, words):
    """The first launch adds parts of sums by two blocks, which wait for each other."""
    group = "grid" if words == "cooperative()" else "cluster"
    launches = "part<<<dim3(2, M), N>>>(M, N, K, A, B, workspace); store<<<M, N>>>(N, workspace, C)"
    source = f"""
#include <cooperative_groups.h>
__global__ void part(int M, int N, int K, const float* A, const float* B, void* sums) {{
  cooperative_groups::this_{group}().sync();
  float sum = 0;
  for (int k = blockIdx.x % 2; k < K; k += 2) sum += A[blockIdx.y * K + k] * B[k * N + threadIdx.x];
  atomicAdd((float*)sums + blockIdx.y * N + threadIdx.x, sum);
}}
__global__ void store(int N, const void* sums, float* C) {{
  C[blockIdx.x * N + threadIdx.x] = ((const float*)sums)[blockIdx.x * N + threadIdx.x];
}}
// launch: cudaMemsetAsync(workspace, 0, 4 * M * N, stream); {words}; {launches}
// workspace: 4 * M * N
// requires: alpha == 1 && beta == 0
"""
    for mode in ([], ["--check"]):
        done = run({"my.cu": source}, *mode, sizes="8,10x17x9")
        assert done.outcomes == {"my.cu": "executed"}, done.stdout


def test_all_functions_of_a_file(run):
    lines = """
__global__ void zero(float* C) { C[0] = 0; }
// launch: zero<<<1, 1>>>(C)
void host(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  sgemm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C);
}
"""
    done = run({"my.cu": RIGHT + lines}, kernels="my.cu:host,my.cu:*")
    outcomes = {case["variant"]: case["outcome"] for case in done.cases}
    assert outcomes == {"host": "executed", "sgemm": "executed", "zero": "incorrect"}
    assert len(done.cases) == 3
    done = run({"my.cu": KERNEL}, kernels="my.cu:*")
    assert (done.status, "it is not known how to launch its kernel" in done.stderr) == (2, True)
    done = run({"my.cu": RIGHT}, "--launch", "sgemm()", kernels="my.cu:*")
    assert done.status == 2
    assert "--launch starts one kernel, and my.cu:* is all of a file" in done.stderr


def test_files_are_kept_apart(run):
    """Two files with functions, variables and templates of the same names, one of them wrong."""
    template = "template <int T> __device__ float factor() { static const float value = T; return value; }\n"
    template += "__device__ float sgemm_(float x) { return x * factor<1>(); }\n"
    right = RIGHT.replace("\n__global__", "\n" + template + "\n__global__", 1)
    right = right.replace("sum +=", "sum += sgemm_(1) *")
    wrong = right.replace("value = T;", "value = T + 1;")
    done = run({"a/same.cu": right, "b/same.cu": wrong})
    assert done.outcomes == {"a-same.cu": "executed", "b-same.cu": "incorrect"}


def test_included_files_are_found_and_their_changes_too(run, tmp_path):
    source = '#include "sub/helper.cuh"\n' + RIGHT.replace("sum +=", "sum += FACTOR *")
    files = {"my.cu": source, "include/sub/helper.cuh": "#define FACTOR 1.0f\n"}
    assert run(files, "--include", "include", kernels="my.cu").status == 0
    files["include/sub/helper.cuh"] = "#define FACTOR 2.0f\n"
    assert run(files, "--include", "include", kernels="my.cu").status == 1
    assert run(files, kernels="my.cu").status == 2


def test_the_second_run_compiles_nothing(run, monkeypatch, tmp_path):
    log = tmp_path / "log"
    compiler = tmp_path / "compiler"
    write_compiler(compiler, f'echo "$@" >>{log}\nexec c++ "$@"')

    def compilations():
        lines = log.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if " -o " in line and " -E " not in line]  # files are read each time

    monkeypatch.setenv("CXX", str(compiler))
    assert run({"my.cu": RIGHT}).status == 0
    first = compilations()
    assert first
    assert run({"my.cu": RIGHT}).status == 0
    assert compilations() == first
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / "my.cu").write_text(RIGHT, encoding="utf-8")
    assert run_runner(elsewhere, "--kernel", "my.cu", "--device", "cpu", "--sizes", "20").status == 0
    assert compilations() == first  # another folder, and the same text
    assert run({"my.cu": RIGHT + "// another text\n"}).status == 0
    assert len(compilations()) > len(first)
    monkeypatch.setenv("CXX", "false")  # another compiler
    assert run({"my.cu": RIGHT}).status == 2


# ---- What is wrong with a kernel ----


@pytest.mark.parametrize(
    ("access", "place"),
    [("float sum = A[-1];", "row -1, column 19 of A"), ("float sum = 0; C[M * N + 1] = 7;", "row 20, column 1 of C")],
)
def test_check_names_the_row_and_the_column(run, access, place):
    done = run({"my.cu": RIGHT.replace("float sum = 0;", access)}, "--check")
    assert f" 4 bytes at {place}, which has 20 rows of 20: outside of all arrays" in done.cases[0]["reason"]


def test_what_fails_at_the_estimates_size_says_nothing_of_another(run):
    lines = RIGHT.replace("ceil_div(N, 16)", "K == 64 ? 0 : ceil_div(N, 16)")
    done = run({"my.cu": lines}, sizes="400x400x320")
    assert (done.status, done.cases[0]["outcome"]) == (0, "executed"), done.stdout


def test_c_is_told_to_be_read_where_beta_is_0(run):
    done = run({"reads.cu": RIGHT.replace("beta == 0 ? alpha * sum : ", "")})
    assert done.outcomes == {"reads.cu": "incorrect"}
    assert "as beta is 0, C held NaN before" in done.cases[0]["reason"]


@pytest.mark.parametrize(
    ("write", "arguments", "where"),
    [
        ("const_cast<float*>(A)[row * K] = 7;", [], "to A, which is an input"),
        ("C[M * N] = 7;", [], "outside of A, B and C"),
        ("C[M * N] = 7;", ["--count"], "outside of A, B and C"),
    ],
)
def test_a_write_to_an_input_or_beside_it_is_found_without_checks(run, write, arguments, where):
    writes = RIGHT.replace("float sum = 0;", f"float sum = 0; {write}")
    done = run({"writes.cu": writes, "right.cu": RIGHT}, *arguments)
    assert [case["outcome"] for case in done.cases] == ["failed", "counted" if arguments else "executed"]
    assert done.cases[0]["reason"] == f"writes {where}{CHECK_HINT}"
    assert "counts" not in done.cases[0]


def test_nobody_answers_a_kernel(tmp_path):
    asks = "#include <cstdio>\n" + KERNEL + host_function("if (getchar() == EOF)")
    (tmp_path / "asks.cu").write_text(asks, encoding="utf-8")
    reading, writing = os.pipe()  # as from a terminal at which nobody types
    command = [RUNNER, "--kernel", "asks.cu", "--device", "cpu", "--sizes", "20", "--out", "results.json"]
    done = ran(*command, cwd=tmp_path, stdin=reading)
    os.close(reading)
    os.close(writing)
    assert done.returncode == 0, done.stdout


# ---- What ends the process of a case ----

LARGE_ARRAY = "volatile float all[100000]; for (int i = 99999; i >= 0; --i) all[i] = 0; sum += all[M];"
CRASHES = {
    "null.cu": ("sum = *(volatile float*)nullptr;", rf"crashed: Segmentation fault \(signal 11\){CHECK_HINT}$"),
    "stack.cu": (LARGE_ARRAY, r"a thread's stack overflowed: the executor has 64 KB"),
    "exit.cu": ("exit(0);", r"called exit\(0\)"),
    "abort.cu": ("abort();", rf"crashed: Aborted \(signal 6\){CHECK_HINT}$"),
    "hang.cu": ("for (volatile int on = 1; on;) on = 1;", r"took longer than \d+ s, which --timeout"),
    "tell.cu": (
        'for (;; usleep(1000)) write(3, "{\\"progress\\": \\"soon\\"}\\n", 21);',
        r"took longer than \d+ s, which --timeout",
    ),
}


def test_what_crashes_hangs_or_leaves_costs_its_case_alone(run):
    begin = "#include <unistd.h>\n#include <cstdlib>\n" + RIGHT
    files = {name: begin.replace("sum = 0;", f"sum = 0; {text}") for name, (text, _) in CRASHES.items()}
    kernels = ",".join(["1", *files, "right.cu"])
    files["right.cu"] = RIGHT
    done, _ = run_with_time_limit(
        lambda seconds: run(files, "--timeout", seconds, "--no-verify", kernels=kernels, sizes="20,24"),
        lambda case: case["kernel"] in ("hang.cu", "tell.cu"),
    )
    assert done.status == 1, done.stderr
    assert done.results["interrupted"] is False
    assert len(done.cases) == 2 * (len(files) + 1)
    for case in done.cases:
        if case["kernel"] in CRASHES:
            assert case["outcome"] == "failed"
            assert re.search(CRASHES[case["kernel"]][1], case["reason"]), case["reason"]
        else:
            assert case["outcome"] == "executed"


@pytest.mark.parametrize("changed", ["my.cu", "part.cuh"])
def test_a_file_that_changes_is_not_measured_as_what_it_was(run, changed):
    """It changes itself and crashes, so that the next case has a process that reads it anew."""
    change = f'if (M == 20) {{ fputs("// more\\n", fopen("{changed}", "a")); fflush(nullptr); raise(SIGKILL); }}'
    changes = '#include <csignal>\n#include <cstdio>\n#include "part.cuh"\n' + KERNEL + host_function(change)
    done = run({"my.cu": changes, "part.cuh": "// nothing yet\n"}, kernels="my.cu", sizes="20,24")
    assert [case["reason"] for case in done.cases] == [
        "crashed: Killed (signal 9)",
        "my.cu has been changed since the run began",
    ]


def test_a_checked_kernel_may_call_exit(run):
    done = run(
        {"exit.cu": "#include <cstdlib>\n" + RIGHT.replace("sum = 0;", "sum = 0; exit(3);"), "my.cu": RIGHT}, "--check"
    )
    assert [case["outcome"] for case in done.cases] == ["failed", "executed"]
    assert done.cases[0]["reason"] == "called exit(3)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_compiler_ends_with_the_runner_and_leaves_no_files(tmp_path, monkeypatch, number):
    """The compiler is one that never ends, nor does what it starts in a session of its own."""
    (tmp_path / "my.cu").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    (tmp_path / "cache").mkdir()
    compiler = tmp_path / "compiler"
    write_compiler(compiler, 'touch "$TMPDIR/left"\nsetsid sleep 600 &\necho $$ $! >"$0.began"\nexec sleep 600')
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("SGEMM_COMPILED_FILES", str(tmp_path / "cache"))
    began = tmp_path / "compiler.began"
    with started(RUNNER, "--kernel", "my.cu", "--device", "cpu", "--sizes", "20", cwd=tmp_path) as process:
        wait_until(lambda: began.exists() and began.read_text(encoding="utf-8").endswith("\n"), process)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)
    killed = number == signal.SIGKILL
    assert (process.returncode, stderr) == ((-number, "") if killed else (130, "runner: interrupted\n"))
    assert [name for name in began.read_text(encoding="utf-8").split() if is_running(name)] == []
    assert list((tmp_path / "cache").glob("sgemm-*")) == []
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_compiler_that_is_no_gcc_is_told_so(run, tmp_path, monkeypatch):
    compiler = tmp_path / "compiler"
    write_compiler(compiler, "echo unknown argument\nexit 1")
    monkeypatch.setenv("CXX", str(compiler))
    done = run({"my.cu": RIGHT})
    assert done.status == 2
    assert done.stderr == (
        f"unknown argument\nrunner: my.cu does not compile for the CPU by $CXX ({compiler}), which has to be a GCC\n"
    )


def test_errors_are_those_of_the_file_and_the_launch(run):
    """Templates of the executor fill few lines, and a file's errors are all there."""
    done = run({"my.cu": KERNEL}, "--launch", "zz<<<1, 32>>>(A, B, C)")
    assert done.status == 2
    assert re.search("^--launch:1:\\d+: error: \u2018zz\u2019 was not declared", done.stderr, re.MULTILINE)
    assert done.stderr.count("\n") <= 10, done.stderr
    done = run({"my.cu": RIGHT}, "--launch", "sgemm<<<1, 2>>>(M, N, K, alpha, A, N, beta, C)")
    first = next(line for line in done.stderr.splitlines() if "error: " in line)
    assert first.startswith("--launch:1:")
    assert not re.search("In instantiation of|required from", done.stderr[: done.stderr.index(first)])
    done = run({"my.cu": RIGHT.replace("sum = 0", "sum = zero").replace("beta * C", "beta * D")})
    assert done.stderr.count("error: ") == 2, done.stderr


FORKS = """#include <cstdio>
#include <unistd.h>
static void leave_a_descendant() {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      FILE* const file = fopen("descendant.new", "w");
      fprintf(file, "%d\\n", getpid());
      fclose(file);
      rename("descendant.new", "descendant");
      sleep(600);
    }
    _exit(0);
  }
  while (access("descendant", F_OK) != 0) usleep(1000);
}
"""


def forking(then: str) -> str:
    """A file whose host function leaves a process behind, in a session of its own, and goes on."""
    return FORKS + KERNEL + host_function(f"leave_a_descendant();\n  {then}")


@pytest.mark.parametrize(
    ("then", "outcome", "reason"),
    [
        ("", "executed", ""),
        ("*(volatile int*)nullptr = 1;", "failed", f"crashed: Segmentation fault (signal 11){CHECK_HINT}"),
        ("exit(3);", "failed", "called exit(3)"),
    ],
)
def test_a_case_ends_with_all_its_descendants(run, tmp_path, then, outcome, reason):
    done = run({"fork.cu": forking(then)}, "--timeout", "30")
    assert (done.cases[0]["outcome"], done.cases[0]["reason"]) == (outcome, reason)
    assert not is_running((tmp_path / "descendant").read_text(encoding="utf-8").strip())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_ends_a_case_that_hangs_with_its_descendants(tmp_path, number):
    (tmp_path / "hang.cu").write_text(forking("while (true) {}"), encoding="utf-8")
    command = [RUNNER, "--kernel", "1,hang.cu", "--device", "cpu", "--sizes", "20", "--out", "results.json"]
    with started(*command, cwd=tmp_path) as process:
        descendant = tmp_path / "descendant"
        wait_until(lambda: descendant.exists() and descendant.read_text(encoding="utf-8").endswith("\n"), process)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    ended = [(case["outcome"], case["reason"]) for case in results["benchmarks"]]
    assert ended == [("executed", ""), ("skipped", "interrupted")][: 2 if number == signal.SIGINT else 1]
    assert results["interrupted"]
    assert not is_running(descendant.read_text(encoding="utf-8").strip())


# ---- Kernels that are wrong in one way ----


@pytest.mark.parametrize("file", testing.sample(list(wrong_kernels.kernels()), 8))
def test_the_table_of_wrong_kernels_is_true_for(file, monkeypatch):
    monkeypatch.setattr(wrong_kernels, "TIMEOUT", str(HANGS))  # none of these hangs
    page = wrong_kernels.PAGE.read_text(encoding="utf-8")
    for row in wrong_kernels.rows(RUNNER, [file]):
        assert row in page


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_nvcc_takes_them(tmp_path):
    headers = ["cooperative_groups.h", "cooperative_groups/reduce.h", "cuda/pipeline", "cuda_fp16.h", "mma.h"]
    refused = tmp_path / "shared_memory_too_large.cu"
    names = sorted({refused.name, *testing.sample(list(wrong_kernels.kernels()), 25)})
    wrong_kernels.write(tmp_path, names)
    files = [tmp_path / name for name in names if name != refused.name]
    options = ("-arch=sm_90", "-cubin", "-o", "cubin")
    run_nvcc_on_all(tmp_path, files, headers, *options)
    done = ran("nvcc", *options, refused, cwd=tmp_path)
    assert "too much shared data" in done.stderr


# ---- Bad input ----

NAMES = ['dou"ble.cu', "back\\slash.cu", "k\u00e4r nel.cu", "it's.cu", "a" * 250 + ".cu"]


def test_a_file_may_have_any_name(run):
    done = run({'folder "x"/my.cu': RIGHT} | dict.fromkeys(NAMES, RIGHT), "--check")
    assert done.status == 0, done.stdout + done.stderr
    assert [case["path"] for case in done.cases] == ['folder "x"/my.cu', *NAMES]
    done = run({NAMES[0]: RIGHT.replace("k < K", "k <= K")}, "--check")
    assert f"{NAMES[0]}:7 in" in done.cases[0]["reason"]


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.cu")
    done = run_runner(tmp_path, "--kernel", "pipe.cu", "--device", "cpu", "--sizes", "20")
    assert done.status == 2
    assert "can not read pipe.cu: it is no regular file" in done.stderr


def test_status_2_of_missing_files_and_functions(run):
    done = run({}, kernels="missing.cu")
    assert done.status == 2
    assert f"there is no file missing.cu; {RUNNER} --new-kernel missing.cu writes one" in done.stderr
    assert "there is no file dir/mine" in run({}, kernels="dir/mine").stderr
    done = run({"my.cu": RIGHT}, kernels="my.cu:other")
    assert done.status == 2
    assert "there is no function 'other' in it" in done.stderr
