#!/usr/bin/env bash
# Installs what development needs and the machine lacks: the Debian packages of debian_packages.txt and, in .venv, the Python
# packages of python_packages.txt. Quick when nothing is missing. Where it cannot install, it names all that is missing.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
here=tools/dev

find_python() {  # Python 3.11 or newer that can make an environment and build an extension
  local name
  for name in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys, ensurepip, os, sysconfig
sys.exit(sys.version_info < (3, 11) or not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
}

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=()
if command -v dpkg-query >/dev/null; then
  # One query for all; one by one only when something is missing.
  mapfile -t wanted <"$here/debian_packages.txt"
  if [ "$(dpkg-query -W -f='${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null | grep -cx installed)" -lt ${#wanted[@]} ]; then
    for package in "${wanted[@]}"; do installed "$package" || missing+=("$package"); done
  fi
else
  for program in clang++-19 llvm-config-19 cmake ninja git; do command -v "$program" >/dev/null || missing+=("$program"); done
fi
if [ ! -x .venv/bin/python ] && [ -z "$(find_python)" ]; then missing+=(python3 python3-dev python3-venv); fi

if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo -n)
  log=$(mktemp)
  echo "setup: installing ${missing[*]}"
  if ! { command -v apt-get && "${as_root[@]}" true && "${as_root[@]}" apt-get update &&
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 3 "$log" | sed 's/^/setup:   /' >&2
    cat >&2 <<EOF
setup: cannot install here; missing: ${missing[*]}
setup: install them (names as in Debian 12 and Ubuntu 24.04) and run this again
EOF
    exit 1
  fi
  rm -f "$log"
fi

stamp=.venv/.litz-setup-$(sha256sum "$here/python_packages.txt" | cut -c1-16)
if [ ! -f "$stamp" ]; then
  if [ ! -x .venv/bin/python ]; then
    python=$(find_python)
    [ -n "$python" ] || { echo "setup: no Python 3.11 or newer with its headers and venv module was found" >&2; exit 1; }
    echo "setup: making .venv with $("$python" --version)"
    "$python" -m venv .venv
  fi
  echo "setup: installing Python packages (torch is large)"
  if ! .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$here/python_packages.txt"; then
    echo "setup: pip could not install what $here/python_packages.txt lists: $(tr '\n' ' ' <"$here/python_packages.txt")" >&2
    exit 1
  fi
  touch "$stamp"
fi
