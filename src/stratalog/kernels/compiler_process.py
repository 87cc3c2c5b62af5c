"""A process that compiles kernels for another one, and ends with it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from stratalog.kernels.cache import CHOSEN_FOLDER, cache_folder

if TYPE_CHECKING:
    from stratalog.kernels.compiling import Unfinished

_READY = "compiled\n"


class CompilerProcess:
    """The process, as seen by the one that started it."""

    def __init__(self) -> None:
        """Start it: in the same environment, but deaf to Ctrl-C, which comes here."""
        path = os.pathsep.join(each for each in sys.path if each)
        chosen = {"PYTHONPATH": path, CHOSEN_FOLDER: str(cache_folder())}
        self._process: subprocess.Popen[str] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603  # our own module
                [sys.executable, "-P", "-m", __name__],
                env=os.environ | chosen,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )

    def compile_all(self, unfinished: Unfinished) -> None:
        """Let it compile kernels, one after the other, until none is left or it has ended."""
        while (place := unfinished.take()) is not None:
            if not self._compile(*place):
                unfinished.give_back(place)
                return
            unfinished.finish(place)

    def end(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def _compile(self, module: str, name: str) -> bool:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return False
        try:
            process.stdin.write(f"{module} {name}\n")
            process.stdin.flush()
            return process.stdout.readline() == _READY
        except (OSError, ValueError):  # it has ended
            return False


def main() -> None:
    """Compile what is asked for on stdin, until that is closed."""
    asked: SimpleQueue[str] = SimpleQueue()
    Thread(target=_listen, args=(asked,), daemon=True).start()
    from stratalog.kernels.every import import_all
    from stratalog.kernels.versions import compile_versions

    import_all()
    while True:
        module, name = asked.get().split()
        compile_versions((module, name))
        sys.stdout.write(_READY)
        sys.stdout.flush()


def _listen(asked: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        asked.put(line)
    os._exit(0)  # also amid a kernel: whoever asked is gone


if __name__ == "__main__":
    main()
