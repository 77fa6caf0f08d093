#!/bin/sh
# The perl that configures the built-in OpenSSL (.cargo/config.toml names it as OPENSSL_SRC_PERL):
# leaves out what no TLS connection uses, an eighth of OpenSSL's compile time (docs/adr/0052).
set -eu
if [ "${1:-}" = ./Configure ]; then
    set -- "$@" no-quic no-cms no-ts no-cmp no-ct no-srp no-engine no-gost no-rfc3779 no-ssl-trace \
        no-ec2m no-slh-dsa no-lms no-argon2 no-scrypt no-siphash no-siv no-ocb no-blake2 \
        no-whirlpool no-mdc2 no-md2 no-rc5 no-md4 no-rmd160 no-bf no-cast no-apps no-aria \
        no-sm2 no-sm3 no-sm4 no-integrity-only-ciphers no-makedepend
fi
exec perl "$@"
