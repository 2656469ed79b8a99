"""Stands for an older glibc at link time: `python3 tools/glibc_stubs.py 2.28 FOLDER COMPILER`.

A program that is linked on this system asks for this system's versions of glibc's symbols, and does not start where
glibc is older. glibc still has the older versions of each symbol. FOLDER gets a `libc.so` that has none but those up to
the version given, so that `-L FOLDER` makes the linker choose among these. Nothing of it is loaded when a program runs.
"""

import argparse
import re
import subprocess
from pathlib import Path

DATA = set("BDRV")  # nm's letters


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def symbols_up_to(newest: str, library: str) -> dict[str, tuple[str, bool]]:
    """Of each symbol that there was: its latest version, and whether it is data. What programs can no longer be linked
    to, as it has no version with two @, is left out."""
    found: dict[str, tuple[str, bool]] = {}
    listing = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    symbols = re.findall(r"^\S+ (\w) (\w+)(@@?)GLIBC_([\d.]+)$", listing, re.MULTILINE)
    current = {name for _, name, at, _ in symbols if at == "@@"}
    for kind, name, _, version in symbols:
        known = found.get(name)
        is_old_enough = name in current and number(version) <= number(newest)
        if is_old_enough and (known is None or number(known[0]) < number(version)):
            found[name] = (version, kind.upper() in DATA)
    return found


def assembly(symbols: dict[str, tuple[str, bool]]) -> str:
    lines = []
    for index, (name, (version, is_data)) in enumerate(sorted(symbols.items())):
        lines.append(f".globl s{index}\n.type s{index},{'@object' if is_data else '@function'}\n.size s{index},8")
        lines.append(f"s{index}: .quad 0\n.symver s{index},{name}@@GLIBC_{version}")
    return ".data\n" + "\n".join(lines) + '\n.section .note.GNU-stack,"",%progbits\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version")
    parser.add_argument("folder", type=Path)
    parser.add_argument("compiler")
    args = parser.parse_args()

    def file_of_the_system(name: str) -> str:
        command = [args.compiler, f"-print-file-name={name}"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    args.folder.mkdir(parents=True, exist_ok=True)
    symbols = symbols_up_to(args.version, file_of_the_system("libc.so.6"))
    source, versions, stub = (args.folder / name for name in ("libc.s", "libc.map", "libc.so.6"))
    source.write_text(assembly(symbols))
    nodes = sorted({version for version, _ in symbols.values()}, key=number)
    versions.write_text("".join(f"GLIBC_{node} {{ }};\n" for node in nodes))
    flags = ["-shared", "-nostdlib", "-Wl,-soname,libc.so.6", f"-Wl,--version-script={versions}"]
    subprocess.run([args.compiler, *flags, "-o", stub, source], check=True)
    loader = next(Path(file_of_the_system("libc.so.6")).parent.glob("ld-linux*.so.*"))
    nonshared = file_of_the_system("libc_nonshared.a")
    (args.folder / "libc.so").write_text(f"GROUP ( {stub.resolve()} {nonshared} AS_NEEDED ( {loader} ) )\n")


if __name__ == "__main__":
    main()
