#!/bin/sh
# The perl that configures the built-in OpenSSL (.cargo/config.toml names it as OPENSSL_SRC_PERL): leaves out
# what no TLS connection uses, an eighth of OpenSSL's compile time (docs/adr/0053).
set -eu
if [ "${1:-}" != ./Configure ]; then
    exec perl "$@"
fi
perl "$@" no-quic no-cms no-ts no-cmp no-ct no-srp no-engine no-gost no-rfc3779 no-ssl-trace \
    no-ec2m no-slh-dsa no-lms no-argon2 no-scrypt no-siphash no-siv no-ocb no-blake2 no-whirlpool no-mdc2 \
    no-md2 no-rc5 no-md4 no-rmd160 no-bf no-cast no-apps no-aria no-sm2 no-sm3 no-sm4 no-integrity-only-ciphers \
    no-makedepend
# Its make takes as many processors as there are, whatever cargo does beside it: the last third of the crates
# waits for OpenSSL, and cargo's own compilers would leave it one processor until nothing else is left.
printf '#!/bin/sh\nexec env -u MAKEFLAGS make -j%s "$@"\n' "${NUM_JOBS:-1}" >make-beside-cargo
chmod +x make-beside-cargo
echo 'MAKE = ./make-beside-cargo' >>Makefile
