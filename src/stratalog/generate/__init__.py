"""Data sets made by programs, seeded: the workloads of benchmarks."""
