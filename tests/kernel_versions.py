"""Writes down for which types of arguments kernels are compiled, in `kernels/versions.txt`.

    python -m tests.kernel_versions --write

runs something of everything that kernels do, and writes the versions that it needed. Without
`--write` it prints those that are missing and those that it did not need. Run it after a kernel was
added, or is called with other types. It takes a minute or two: nothing compiled is used.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from stratalog.kernels import compiling
from stratalog.kernels.cache import CHOSEN_FOLDER, file_prefix
from stratalog.kernels.every import all_kernels
from tests.every_kernel import exercise


def used_versions() -> dict[str, set[str]]:
    """Run every kernel; return the versions that were compiled, by kernel."""
    from stratalog.kernels.compiled import COMPILED
    from stratalog.kernels.versions import write_type

    compiling.compile_kernels = lambda _: True  # by no process, but when they are called
    with tempfile.TemporaryDirectory() as folder:
        exercise(Path(folder))
    found = {}
    for place in all_kernels():
        signatures = COMPILED.kernel(place).signatures
        found[file_prefix(place)] = {"; ".join(map(write_type, each)) for each in signatures}
    return found


def lines(versions: dict[str, set[str]]) -> set[str]:
    return {f"{name} {version}".rstrip() for name in versions for version in versions[name]}


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as empty:
        os.environ |= {CHOSEN_FOLDER: empty, "STRATALOG_KERNELS": "compiled"}
        return report(lines(used_versions()), write="--write" in arguments)


def report(used: set[str], *, write: bool) -> int:
    from stratalog.kernels.versions import FILE, written_versions

    written = lines({name: set(each) for name, each in written_versions().items()})
    for line in sorted(used ^ written):
        print(  # noqa: T201  # the answer
            "missing" if line in used else "not used", line
        )
    if write:
        FILE.write_text("".join(f"{line}\n" for line in sorted(used)))
    return 0 if write or used == written else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
