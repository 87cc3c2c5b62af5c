.PHONY: check fast spark format warmup

check:  ## everything that must hold
	python -m tests

fast:  ## what takes two minutes
	python -m tests --fast

spark:  ## the tests that need Spark
	python -m tests --spark

format:
	python -m ruff format .
	python -m ruff check --fix .

warmup:  ## compile all kernels
	stratalog warmup
