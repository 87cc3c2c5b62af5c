"""What is run: benchmarks, their rules and facts."""
