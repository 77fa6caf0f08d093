"""The kind `benchmark`: processes that need no server, each trial a process of its own."""
