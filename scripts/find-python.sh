#!/usr/bin/env bash
# Prints the newest Python that tlslab is tested on and that is here: on the path, or installed by pyenv.
# find-python.sh VERSION prints that one alone; exit code 3 when there is none.
set -euo pipefail
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=(3.13 3.12 3.11)

# It must be able to make a virtual environment: Debian has that in a package of its own.
fits() {
    "$1" -c "import ensurepip, sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '$2')" 2>/dev/null
}

by_pyenv=${PYENV_ROOT:-$HOME/.pyenv}/versions
for version in "${versions[@]}"; do
    for candidate in "python$version" python3 "$by_pyenv/$version".*/bin/python3; do
        if command -v "$candidate" >/dev/null && fits "$candidate" "$version"; then
            command -v "$candidate"
            exit 0
        fi
    done
done
echo "no Python ${versions[*]} with its module venv is here:" \
    "install one (Debian: python3 and python3-venv)" >&2
exit 3
