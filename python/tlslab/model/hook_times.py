"""What a command that configures a running server may take, by default, in seconds."""

# The command itself: an ssh connection, and the end of a server in good order.
TIMEOUT_S = 60.0

# How long the server may take to be there again.
READY_S = 60.0

# A server that reads its configuration anew goes on with the old one for a moment.
SETTLE_S = 1.0
