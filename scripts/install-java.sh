#!/usr/bin/env bash
# Fetches Apache Tomcat from Maven Central, builds the tomcat-native library that comes with it, and
# puts both into .cache/tomcat of this checkout; does nothing when they are there.
set -euo pipefail
cd "$(dirname "$0")/.."

version=11.0.25
sum=81339c046dff1b363a80a3bccf80cb391660a6828dd8ae042180ceb11c8b1614
sum+=317143e60b311b9e791dab585bb046b777234667acce7dca2203a74b37bf20f2
cache=.cache
home=$cache/tomcat

[ "$(cat "$home/version" 2>/dev/null)" = "$version" ] && exit 0

scripts/install-debian.sh java
scripts/announce.sh $$ begin "Tomcat $version with tomcat-native, into $home (about 1 minute)"
mkdir -p "$cache"
work=$(mktemp -d "$cache/install-java.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$1" >&2
    tail -n 20 "$work/log" >&2 || true
    exit 3
}

mvn --quiet --batch-mode dependency:copy \
    -Dartifact=org.apache.tomcat:tomcat:$version:tar.gz -DoutputDirectory="$work" >"$work/log" 2>&1 ||
    fail "Maven could not fetch Tomcat $version; its last words:"
archive=$work/tomcat-$version.tar.gz
echo "$sum  $archive" | sha512sum --check --quiet >"$work/log" 2>&1 ||
    fail "the fetched Tomcat $version is not the one that this script knows:"

# Its programs and libraries alone: documentation and examples are of no use here.
mkdir "$work/tomcat"
tar --extract --gzip --file "$archive" --directory "$work/tomcat" --strip-components 1 \
    "apache-tomcat-$version/bin" "apache-tomcat-$version/lib" \
    "apache-tomcat-$version/LICENSE" "apache-tomcat-$version/NOTICE"
mkdir "$work/native"
tar --extract --gzip --file "$work/tomcat/bin/tomcat-native.tar.gz" --directory "$work/native" \
    --strip-components 1
java_home=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
(
    cd "$work/native/native"
    ./configure --with-apr="$(command -v apr-1-config)" --with-java-home="$java_home" \
        --prefix="$PWD/installed"
    make
    make install
) >"$work/log" 2>&1 || fail "tomcat-native could not be built; its last words:"
mkdir -p "$work/tomcat/native/lib"
cp --no-dereference "$work/native/native/installed/lib/"libtcnative-2.so* "$work/tomcat/native/lib"

echo "$version" >"$work/tomcat/version"
rm -rf "$home"
mv "$work/tomcat" "$home"
scripts/announce.sh $$ end "Tomcat is in $home"
