"""Steps of a run, some of which go on beside others. Nothing of them goes on when the run ends, however it does."""

import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import copyfileobj

from tools import testing


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Steps:
    """A step is a function that tells whether it passed. `wanted` are words: where there are any, the steps alone are
    taken whose names have one. With `recorded`, steps that have passed at this commit are not taken again."""

    def __init__(self, wanted: Sequence[str] = (), recorded: bool = False):
        self.wanted, self.recorded = wanted, recorded
        self.passed, self.failed, self.skipped = 0, [], 0
        self._times = [" wall  processor"]
        self._running: dict[str, tuple[int, Path, float]] = {}  # the process of each, what it prints, and since when
        self._began = time.monotonic()

    def __enter__(self) -> "Steps":
        self._folder = tempfile.TemporaryDirectory()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
                signal.signal(number, lambda number, _: sys.exit(128 + number))
        return self

    def __exit__(self, *_: object) -> None:
        for process, *_ in self._running.values():
            os.killpg(process, signal.SIGTERM)
        self._folder.cleanup()

    def _has_passed(self, name: str) -> bool:
        return self.recorded and testing.has_passed(name)

    def start(self, name: str, work: Callable[..., bool], *arguments: object, lacks: str = "") -> None:
        """Beside what follows, up to finish(name). A process group of its own gets the signal that ends it. A step that
        `lacks` something is skipped and says what."""
        if self.wanted and not any(word in name for word in self.wanted):
            return
        if lacks or self._has_passed(name):
            say(f"\n== {name}: {f'skipped, {lacks}' if lacks else 'it has passed before'}")
            self.skipped += bool(lacks)
            self.passed += not lacks
            return
        path = Path(self._folder.name) / name
        path.touch()
        began = path.stat().st_mtime
        sys.stdout.flush()
        if (process := os.fork()) == 0:
            os.setpgid(0, 0)
            for stream, file in ((0, os.devnull), (1, path), (2, path)):
                os.dup2(os.open(file, os.O_RDONLY if stream == 0 else os.O_WRONLY | os.O_APPEND), stream)
            passed = False
            try:
                passed = work(*arguments)
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            os.utime(path)  # the end, which finish() may come to much later
            os._exit(not passed)
        os.setpgid(process, process)  # whichever of the two comes first
        self._running[name] = process, path, began

    def finish(self, name: str) -> None:
        """Tells what a started step prints, as it does, and whether it passed."""
        if name not in self._running:
            return
        say(f"\n== {name}")
        process, path, began = self._running[name]
        with path.open("rb") as output:
            ended = 0
            while not ended:
                ended, status, used = os.wait4(process, os.WNOHANG)
                copyfileobj(output, sys.stderr.buffer)
                sys.stderr.flush()
                time.sleep(0 if ended else 0.1)
        del self._running[name]
        wall, processor = path.stat().st_mtime - began, used.ru_utime + used.ru_stime
        self._times.append(f"{wall:5.0f} s  {processor:5.0f} s  {name}")
        if status:
            self.failed.append(name)
            return
        self.passed += 1
        if self.recorded:
            testing.note(name, wall, processor)

    def step(self, name: str, work: Callable[..., bool], *arguments: object, lacks: str = "") -> None:
        self.start(name, work, *arguments, lacks=lacks)
        self.finish(name)

    def report(self) -> bool:
        """Tells the times and the outcome of all steps; returns whether none failed."""
        say("\n" + "\n".join([*self._times, f"{time.monotonic() - self._began:5.0f} s           in all\n"]))
        for name in self.failed:
            say(f"FAILED: {name}")
        say(f"{self.passed} passed, {len(self.failed)} failed, {self.skipped} skipped")
        return not self.failed
