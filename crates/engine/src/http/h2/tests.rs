//! The client against nghttp2's own server, in memory, and against bytes that no server would send.
