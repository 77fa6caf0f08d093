"""Samples of servers' call stacks by perf, in separate runs after the measured ones."""
