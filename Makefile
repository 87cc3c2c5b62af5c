.PHONY: check fast format warmup

check:  ## everything that must hold
	python -m tests

fast:  ## what takes a minute or two
	python -m tests --fast

format:
	python -m ruff format .
	python -m ruff check --fix .

warmup:  ## compile all kernels
	stratalog warmup
