"""Samples of servers' call stacks by perf, in runs of their own after the measured ones."""
