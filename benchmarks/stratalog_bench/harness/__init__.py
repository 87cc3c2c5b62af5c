"""One run, in a process of its own; all runs, their results and tables."""
