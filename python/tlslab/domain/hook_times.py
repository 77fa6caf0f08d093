"""Default time limits of a command that configures a running server, in seconds."""

# The command itself: an ssh connection, and an orderly shutdown of the server.
TIMEOUT_S = 60.0

# The time within which the server must be reachable again.
READY_S = 60.0

# A server that reloads its configuration serves with the old one for a moment.
SETTLE_S = 1.0
