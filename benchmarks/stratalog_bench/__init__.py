"""Benchmarks: workloads, the systems that run them side by side, and what comes out."""
