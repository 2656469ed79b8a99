"""The suite as tests of ReFrame, on one machine or on the partitions of a cluster: docs/fleet.md.

    reframe -c scripts/reframe -r

A test is one run of the runner. It passes if the runner verified every case, and if no case is slower than committed
results of the same device allow. Whatever the runner wrote is kept, of failed runs as well.
"""

import contextlib
import functools
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import fixture, parameter, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import ReframeError, SanityError

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.check_results import difference  # noqa: E402
from tools.fleet import folder_name, references  # noqa: E402
from tools.results import ResultsError, parse_size, read_json, rows_of, shape_of, size_text  # noqa: E402

BUILD = os.environ.get("SGEMM_BUILD")  # a folder with a built runner
CHAPTERS = sorted(path.stem for path in (ROOT / "docs").glob("[0-9][0-9]_*.md") if path.stem != "00_gpu")
RESULTS = "results.json"  # of a run, in its stage folder
# Jobs of the local scheduler run side by side, and would disturb each other's times.
LOCK = Path(tempfile.gettempdir()) / f"sgemm-reframe-{os.getuid()}.lock"


class BadInput(ReframeError):
    """What ReFrame reports by its message, as "bad input: ..."; other errors come with a traceback."""


@contextlib.contextmanager
def as_bad_input():
    try:
        yield
    except ResultsError as error:
        raise BadInput(error) from None


@functools.cache
def gpu_is_here() -> bool:
    """Whether this machine has a GPU. ReFrame asks for it where no configuration describes the machine."""
    return bool(shutil.which("nvidia-smi")) and not subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode


class Runner(rfm.CompileOnlyRegressionTest):
    """A link `runner` to the one in the folder SGEMM_BUILD, or to one built from this checkout."""

    sourcesdir = None
    build_system = "CustomBuild"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]

    @run_before("compile")
    def link_or_build(self):
        options = f"-S {ROOT} -B build -DCMAKE_BUILD_TYPE=Release -DSGEMM_BUILD_TESTS=OFF"
        build = [f"cmake {options}", "cmake --build build --target runner --parallel", "ln -sf build/runner runner"]
        program = Path(BUILD or "").resolve() / "runner"
        self.build_system.commands = [f"test -x {program}", f"ln -sf {program} runner"] if BUILD else build


class Sweep(rfm.RunOnlyRegressionTest):
    """One kernel at several sizes. `sizes` names each size, separated by spaces: it tells which case is missing."""

    runner = fixture(Runner, scope="environment")
    sourcesdir = None
    valid_prog_environs = ["*"]
    executable = "./runner"  # relative, so that results hold no path of the machine
    results = variable(str, value=str(ROOT / "results"))  # folder of the committed and of the new results
    tolerance = variable(float, value=0.1)  # two boards of one model differ by 7 % where power limits them

    on_gpu = False  # whether each case has to be measured on a GPU
    options: tuple[str, ...] = ()

    @run_before("run")
    def prepare(self):
        self.prerun_cmds = [f"ln -sf {self.runner.stagedir}/runner runner"]
        with as_bad_input():
            sizes = ",".join(size_text(parse_size(size)) for size in self.sizes.split())
        self.executable_opts = ["--kernel", f"'{self.kernel}'", "--sizes", sizes, *self.options, "--out", RESULTS]
        if self.current_partition.scheduler.registered_name == "local":
            self.job.launcher.modifier, self.job.launcher.modifier_options = "flock", [str(LOCK)]

    @run_before("sanity")
    def keep(self):
        """Copies the results to results/<device>/runs/, under a name that no file has."""
        path = Path(self.stagedir) / RESULTS
        if not path.exists():
            return
        context = read_json(path)["context"]
        folder = Path(self.results) / folder_name(context, self.gpus) / "runs"
        folder.mkdir(parents=True, exist_ok=True)
        date = re.sub("[-:]", "", context["date"][:19]).replace("T", "-")
        kernel = re.sub("[^a-z0-9_]+", "-", self.kernel.lower())
        words = [date, kernel, *([context["protocol"]["l2"]] if self.on_gpu else [])]
        for copy in itertools.count(1):
            name = "-".join([*words, *([str(copy)] if copy > 1 else [])])
            with contextlib.suppress(FileExistsError), (folder / f"{name}.json").open("xb") as file:
                file.write(path.read_bytes())
                return

    @run_before("sanity")
    def skip_what_the_device_can_not_run(self):
        """A kernel for other GPUs is no failure."""
        with contextlib.suppress(ResultsError):
            records = read_json(Path(self.stagedir) / RESULTS)["benchmarks"]
            if records and all(record["outcome"] == "not_supported" for record in records):
                self.skip(records[0]["reason"])

    def problems(self) -> list[str]:
        """What is wrong or missing in the results."""
        try:
            document = read_json(Path(self.stagedir) / RESULTS)
        except ResultsError:
            return ["the runner left no results", *self.last_words()]
        if message := difference(document):
            return [f"{RESULTS} breaks its schema: {message}"]
        if self.on_gpu and not document["context"]["device"]:
            return [f"the node has no usable GPU: {document['context']['device_error']}"]
        records, sizes = document["benchmarks"], self.sizes.split()
        done = {"measured"} if self.on_gpu else {"measured", "executed"}
        found = [
            f"{record['name']} is {record['outcome']}: {record['reason'] or 'not verified'}"
            for record in records
            if (record["outcome"] not in done or not record["verified"]) and not self.leaves_layout_out(record)
        ]
        shapes = {shape_of(record) for record in records}
        if missing := [size for size in sizes if parse_size(size) not in shapes]:
            found += [f"{len(missing)} of {len(sizes)} sizes are missing: {', '.join(missing)}", *self.last_words()]
        return found

    @staticmethod
    def leaves_layout_out(record: dict) -> bool:
        """Whether the kernel does not take a case's transposed operands or batch. It has to take plain products."""
        return record["outcome"] == "not_supported" and shape_of(record) != (record["m"], record["n"], record["k"])

    def last_words(self) -> list[str]:
        """The end of what the job wrote to its error output."""
        path = Path(self.stagedir) / str(self.job.stderr)
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        return [f"the job's last words: {' / '.join(lines[-3:])}"] if lines else ["the job said nothing"]

    @sanity_function
    def every_case_is_verified(self):
        if problems := self.problems():
            raise SanityError("; ".join(problems))
        return True

    @run_before("performance")
    def compare_with_references(self):
        """Each case has a speed, and a ratio to cuBLAS where there is a GPU."""
        document = read_json(Path(self.stagedir) / RESULTS)
        folder = Path(self.results) / folder_name(document["context"], self.gpus)
        with as_bad_input():
            rows = references(folder, document["context"]["protocol"])
        expected = {(row.kernel, row.shape, row.gpus): row for row in rows_of(rows)}
        limits = {}
        for record in document["benchmarks"]:
            shape = shape_of(record)
            gpus = (record.get("spread") or {}).get("gpus", 1)
            reference = expected.get((record["kernel"], shape, gpus))
            for field, unit in (("gflops", "GFLOP/s"), ("vs_cublas", "of cuBLAS")):
                if field not in record:
                    continue
                name = f"{field}_{size_text(shape).replace(':', '_')}"  # a colon ends the name of a partition
                self.perf_variables[name] = sn.make_performance_function(sn.defer(record[field]), unit)
                if value := getattr(reference, field, None):
                    limits[name] = (value, -self.tolerance, None, unit)
        self.reference = {self.current_partition.fullname: limits}


@rfm.simple_test
class SgemmOnGpu(Sweep):
    """Kernels timed beside cuBLAS. A partition with GPUs has the feature `gpu`."""

    kernel = parameter(["cublas", *CHAPTERS], type=str)
    sizes = parameter(["256 512 1024 2048 4096 8192"], type=str)
    l2 = parameter(["cold", "warm"], type=str)
    gpus = parameter([1], type=int)
    on_gpu = True

    @run_after("init")
    def choose(self):
        self.skip_if(self.gpus > 1 and "many_gpus" not in self.kernel, "this kernel runs on one GPU")
        self.valid_systems = ["+gpu", *(["generic:default"] if gpu_is_here() else [])]
        self.num_gpus_per_node = self.gpus
        self.options = ("--l2", self.l2, "--benchmark_filter=-/cpu_blas/")  # a test is of one kernel
        if "many_gpus" in self.kernel:
            self.options += ("--gpus", str(self.gpus))


@rfm.simple_test
class SgemmOnCpu(Sweep):
    """Chapters on the executor, and the CPU's baselines, where there is no GPU."""

    kernel = parameter(["cpu_naive", "cpu_blas", *CHAPTERS], type=str)
    sizes = parameter(["96 250x130x77"], type=str)
    gpus = 1
    valid_systems = ["-gpu"]
    options = ("--device", "cpu")
