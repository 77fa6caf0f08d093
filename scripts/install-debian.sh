#!/usr/bin/env bash
# Installs the Debian packages that tests need and that are missing; with "bench" those of the benches as
# well, with "fuzz" those of the fuzz targets only, with "java" those of Tomcat and tomcat-native only, with
# "only PROGRAM..." those that bring these programs.
set -euo pipefail

# program or file that shows that it is there : package that brings it
needed=(nginx:nginx-light setpriv:util-linux taskset:util-linux openssl:openssl tcpdump:tcpdump
    chromium:chromium node:nodejs ip:iproute2 softhsm2-util:softhsm2 pkcs11-tool:opensc
    valgrind:valgrind sslscan:sslscan man:man-db zsh:zsh fish:fish
    apache2:apache2-bin haproxy:haproxy caddy:caddy
    lighttpd:lighttpd /usr/lib/lighttpd/mod_openssl.so:lighttpd-mod-openssl h2o:h2o
    prometheus-node-exporter:prometheus-node-exporter prometheus:prometheus
    mvn:maven javac:openjdk-17-jdk-headless perf:linux-perf)
if [ "${1:-}" = fuzz ]; then
    needed=(c++:g++)
    # libFuzzer, compiled. Without it scripts/fuzz.sh takes longer.
    if ! compgen -G "/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-$(uname -m).a" &&
        apt-cache show libclang-rt-dev && { [ "$(id -u)" -eq 0 ] || command -v sudo; }; then
        needed+=(none:libclang-rt-dev)
    fi >/dev/null 2>&1
fi
if [ "${1:-}" = java ]; then
    needed=(mvn:maven javac:default-jdk-headless cc:gcc make:make apr-1-config:libapr1-dev
        /usr/include/openssl/ssl.h:libssl-dev)
fi
if [ "${1:-}" = bench ]; then
    needed+=(ab:apache2-utils wrk:wrk h2load:nghttp2-client httperf:httperf cyclictest:rt-tests)
fi
if [ "${1:-}" = only ]; then
    wanted=()
    for entry in "${needed[@]}"; do
        [[ " ${*:2} " != *" ${entry%%:*} "* ]] || wanted+=("$entry")
    done
    needed=("${wanted[@]}")
fi

missing=()
for entry in "${needed[@]}"; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${entry%%:*}" >/dev/null || [ -e "${entry%%:*}" ] ||
        missing+=("${entry##*:}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "install these packages as root, then try again: ${missing[*]}" >&2
        exit 3
    }
    as_root=(sudo)
fi
command -v apt-get >/dev/null || {
    echo "no apt-get here; install by hand what these Debian packages bring: ${missing[*]}" >&2
    exit 3
}
# Wanted are the programs: no service of theirs may start, or be there after the next start.
services=()
for package in "${missing[@]}"; do
    case "$package" in
        nginx-light) services+=(nginx) ;;
        haproxy) services+=(haproxy) ;;
        caddy) services+=(caddy) ;;
        lighttpd) services+=(lighttpd) ;;
        h2o) services+=(h2o) ;;
        prometheus-node-exporter) services+=(prometheus-node-exporter) ;;
        prometheus) services+=(prometheus) ;;
    esac
done
policy=/usr/sbin/policy-rc.d
if [ ${#services[@]} -gt 0 ] && [ ! -e "$policy" ]; then
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
fi

announce=$(dirname "$0")/announce.sh
"$announce" $$ begin "Debian packages: ${missing[*]} (about 1 minute)"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -o DPkg::Lock::Timeout=300 -y -qq --no-install-recommends "${missing[@]}" >/dev/null
for service in "${services[@]}"; do
    command -v systemctl >/dev/null &&
        "${as_root[@]}" systemctl --quiet disable "$service" 2>/dev/null || true
done
"$announce" $$ end "Debian packages"
