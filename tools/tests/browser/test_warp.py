"""The page that `runner --count --trace` writes: its numbers are those of the counts."""

import json
import os
from pathlib import Path

import pytest

from helpers import ran
from opened import WIDTHS

RUNNER = Path(os.environ.get("SGEMM_BUILD", "."), "runner").resolve()
pytestmark = pytest.mark.skipif("SGEMM_BUILD" not in os.environ, reason="SGEMM_BUILD names the folder of a build")

# One warp computes C: its trace holds all that is counted.
ONE_WARP = """// launch: one_warp<<<1, 32>>>(M, N, K, A, B, C)
// requires: M == 32 && N == 32 && K % 4 == 0 && alpha == 1 && beta == 0
__global__ void one_warp(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float column[32 * 4];
  const int lane = threadIdx.x;
  float sum[32] = {};
  for (int k = 0; k < K; k += 4) {
    for (int i = 0; i < 4; ++i) {
      column[lane * 4 + i] = A[lane * K + k + i];  // 4 bank conflicts, 32 sectors
    }
    __syncwarp();
    for (int i = 0; i < 4; ++i) {
      const float b = B[(k + i) * N + lane];
      for (int row = 0; row < 32; ++row) {
        sum[row] += column[row * 4 + i] * b;
      }
    }
    __syncwarp();
  }
  for (int row = 0; row < 32; ++row) {
    C[row * N + lane] = sum[row];
  }
}
"""
# What the pictures draw has to have as many sectors and wavefronts as the executor has counted.
DRAWN_OTHERWISE = """() => trace.requests.filter(({ place, access, sectors, wavefronts }) =>
  access !== null && (isShared(place) ? wavefrontsOf(access, place.kind === "shared_load") !== wavefronts
                                      : unitsOf(access, SECTOR).length !== sectors)).length"""


def traced(folder: Path, kernel: str, *arguments: str) -> dict:
    """Writes folder/page.html and returns the record in the results file."""
    command = [RUNNER, "--count", "--kernel", kernel, "--trace", "page.html", "--out", "results.json", *arguments]
    ran(*command, folder=folder, status=0)
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))["benchmarks"][0]


@pytest.fixture(scope="module")
def chapter(tmp_path_factory) -> Path:
    """The page of a warp with bank conflicts."""
    folder = tmp_path_factory.mktemp("chapter")
    traced(folder, "02_smem_tiled:numba_mapping", "--sizes", "64")
    return folder / "page.html"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_holds_up(chapter, open_page, width, dark):
    opened = open_page(chapter, width=width, dark=dark)
    for _ in range(6):
        opened.page.click("#next")
    assert opened.too_wide() == opened.axe_violations() == []


def test_sums_are_the_counts(tmp_path, open_page):
    (tmp_path / "one_warp.cu").write_text(ONE_WARP, encoding="utf-8")
    counts = traced(tmp_path, "one_warp.cu", "--sizes", "32x32x64")["counts"]
    page = open_page(tmp_path / "page.html").page
    assert page.evaluate("trace.left_out") == 0
    for kind in ("global_load", "global_store", "shared_load", "shared_store"):
        sums = page.evaluate("kind => totalsOf(trace.requests.filter(({ place }) => place.kind === kind))", kind)
        assert sums["requests"] > 0
        assert {name: sums[name] for name in counts[f"{kind}s"]} == counts[f"{kind}s"]
    assert page.evaluate(DRAWN_OTHERWISE) == 0
    page.keyboard.press("End")
    cells = page.eval_on_selector_all("#counts tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.innerText))")
    store = "9|shared store|static shared memory|64|64||4.00|3.00|64||4.00|3.00"
    assert store in map("|".join, cells)
    assert all(row[3] == row[4] == row[8] for row in cells)


@pytest.mark.parametrize("kernel", ["03_smem_strip_tiled", "06_coarse_2d:vectorized", "07_warptile_hilbert"])
def test_pictures_have_what_was_counted(tmp_path, open_page, kernel):
    traced(tmp_path, kernel, "--sizes", "256x256x32", "--trace-warp", "1")
    page = open_page(tmp_path / "page.html").page
    assert page.evaluate("trace.requests.length") > 50
    assert page.evaluate(DRAWN_OTHERWISE) == 0


@pytest.mark.parametrize(("launch", "function"), [("0", "fp16x3_split_kernel"), ("1", "fp16x3_kernel")])
def test_a_page_of_one_launch_of_several_names_it(tmp_path, open_page, launch, function):
    traced(tmp_path, "12_fp16x3", "--sizes", "128x128x64", "--trace-launch", launch)
    page = open_page(tmp_path / "page.html").page
    assert f"This is launch {launch} of 2, {function}" in page.inner_text("#about")
    assert page.evaluate("trace.requests.length") > 0
    assert page.evaluate(DRAWN_OTHERWISE) == 0


def test_stepping_changes_what_is_shown(chapter, open_page):
    page = open_page(chapter).page

    def shown() -> tuple[str, ...]:
        texts = map(page.inner_text, ("#position", "#fact", "#source .current .number"))
        return *texts, page.inner_html("#memories")

    first = shown()
    assert first[0] == "Access 1 of 145"
    assert first[2] == "56" and first[1].startswith("Line 56: global load of A, 32 lanes, 4 bytes each.")
    assert "Sectors of 32 bytes: 16, and 4 would hold what it wants." in first[1]
    page.keyboard.press("ArrowRight")
    second = shown()
    assert all(before != after for before, after in zip(first, second, strict=True))
    page.keyboard.press("ArrowLeft")
    assert shown() == first
    page.keyboard.press("ArrowDown")
    assert page.inner_text("#source .current .number") == "56" and page.inner_text("#position") != first[0]
    page.keyboard.press("End")
    assert page.inner_text("#position") == "Access 145 of 145" and page.is_disabled("#next")
    page.fill("#step", "3")
    assert "with 7 bank conflicts" in page.inner_text("#fact")
    assert page.locator("#memories .conflict").count() == 32
    page.click("#source button.number >> nth=-1")
    assert "global store of C" in page.inner_text("#fact")
    page.keyboard.press("Home")
    page.select_option("#speed", "20")
    page.click("#play")
    page.wait_for_function("Number(document.getElementById('position').textContent.split(' ')[1]) >= 4")


def test_a_long_trace_says_what_it_leaves_out(tmp_path, open_page):
    traced(tmp_path, "1", "--sizes", "16x16x4096")
    page = open_page(tmp_path / "page.html").page
    assert page.inner_text("#cut").startswith("The warp makes 8,193 accesses. This page has the first 3,000")
    page.fill("#step", "3001")
    assert page.inner_text("#position") == "Access 3,001 of 4,000, behind 4,193 that are left out"


def test_odd_sources_and_idle_warps_make_pages_too(tmp_path, open_page):
    text = ONE_WARP.replace("<<<1, 32>>>", "<<<1, 64>>>").replace(
        "  __shared__", "  if (threadIdx.x >= 32) return;\n  __shared__"
    )
    (tmp_path / "odd.cu").write_bytes(b"// </script><b>\xff\n" + text.encode())
    traced(tmp_path, "odd.cu", "--sizes", "32x32x4")
    page = open_page(tmp_path / "page.html").page
    assert "// </script><b>" in page.inner_text("#source li >> nth=0")
    traced(tmp_path, "odd.cu", "--sizes", "32x32x4", "--trace-warp", "1")
    idle = open_page(tmp_path / "page.html")
    assert "makes no access" in idle.page.inner_text("#fact") and idle.page.is_disabled("#next")
    assert idle.axe_violations() == []
