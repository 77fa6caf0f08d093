#!/usr/bin/env bash
# Builds the signing node (signing/) into a cache folder outside of the project, once for each state
# of its sources; prints where it is. Needs Go 1.24.6 or later. The first time it downloads Go modules.
set -euo pipefail
cd "$(dirname "$0")/../signing"

stamp=$(cat go.mod go.sum ./*.go $(find absent -name "*.go" -o -name go.mod | LC_ALL=C sort) | sha256sum | cut -c 1-16)
cache="${XDG_CACHE_HOME:-$HOME/.cache}/tlslab/signer"
program="$cache/$stamp/tlslab-signer"

if [ ! -x "$program" ]; then
    command -v go >/dev/null || {
        echo "the signing node needs Go 1.24.6 or later: install it, or name a built one with TLSLAB_SIGNER" >&2
        exit 3
    }
    ../scripts/announce.sh $$ begin "signing node (Go; about 2 minutes the first time)" >&2
    mkdir -p "$cache/$stamp"
    # OpenBao publishes a commit of this release without an entry in the checksum database; go.sum
    # holds what it is.
    GOFLAGS="-mod=readonly -buildvcs=false" GONOSUMDB='github.com/openbao/*' \
        go build -trimpath -ldflags "-s -w -X github.com/openbao/openbao/version.fullVersion=2.4.0" \
        -o "$program.new" .
    mv "$program.new" "$program"
    ../scripts/announce.sh $$ end "signing node" >&2
fi
ln -sfn "$stamp" "$cache/current"
echo "$program"
