"""`python -m stratalog` is the command `stratalog`."""

from __future__ import annotations

from stratalog.cli.main import run

if __name__ == "__main__":
    run()
