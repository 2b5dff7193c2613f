# shellcheck shell=bash
# The interpreter and the installer. Both are looked for only when an environment has to be made.

export UV_PYTHON_DOWNLOADS=never # an interpreter is the user's choice, and the network may be away
export UV_NO_PROGRESS=1          # one line a room is the progress
export UV_HTTP_TIMEOUT=${UV_HTTP_TIMEOUT:-120} # torch is large and lines are slow; uv gives up after 30 s
# Python compiles what it imports, once, unless told not to: then every start of a worker would spend 6 s more on
# torch, and compiling all of it here, 25 s, is soon won back.
[ -z "${PYTHONDONTWRITEBYTECODE:-}" ] || export UV_COMPILE_BYTECODE=1

# What pip was told about where packages are, uv is told too.
if [ -n "${PIP_FIND_LINKS:-}" ] && [ -z "${UV_FIND_LINKS:-}" ]; then
  read -ra find_links <<<"$PIP_FIND_LINKS"
  UV_FIND_LINKS=$(IFS=, && printf '%s' "${find_links[*]}") # pip separates by spaces, uv by commas
  export UV_FIND_LINKS
fi
if [ -n "${PIP_INDEX_URL:-}" ] && [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
  export UV_DEFAULT_INDEX=$PIP_INDEX_URL
fi
# uv's own list of authorities does not know a company's or a proxy's; the machine's list, where there is one, does.
if [ -s /etc/ssl/certs/ca-certificates.crt ] || [ -s /etc/pki/tls/certs/ca-bundle.crt ]; then
  export UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-true}
fi
if [ -n "${PIP_CERT:-}" ] && [ -z "${SSL_CERT_FILE:-}" ]; then
  export SSL_CERT_FILE=$PIP_CERT
fi

read -r UV_PIN _ <"$ROOT/tools/bootstrap.lock" # "uv==x.y.z \"
UV_VERSION=${UV_PIN#uv==}

# Sets PYTHON to the path of a Python 3.11.
find_python() {
  local candidate found
  [ -z "${PYTHON:-}" ] || return 0
  for candidate in ${MOSAIC_PYTHON:+"$MOSAIC_PYTHON"} python3.11 python3; do
    found=$("$candidate" -c 'import sys
if sys.version_info[:2] == (3, 11): print(sys.executable)' 2>/dev/null) || found=
    if [ -n "$found" ]; then
      PYTHON=$found
      return
    fi
    if [ "$candidate" = "${MOSAIC_PYTHON:-}" ]; then
      fail "MOSAIC_PYTHON=$MOSAIC_PYTHON is not a Python 3.11 that runs"
    fi
  done
  fail "needs Python 3.11 and found none.
  Install it (Debian 12: apt install python3.11 python3-pip; elsewhere: pyenv install 3.11, or uv python install 3.11),
  or name one: MOSAIC_PYTHON=/path/to/python3.11 ./mosaic ..."
}

# Sets UV to an installer of the pinned version, fetched by pip when PATH has none.
find_uv() {
  local own="$MOSAIC_VENVS/.uv"
  [ -z "${UV:-}" ] || return 0
  if [ "$(uv --version 2>/dev/null | cut -d' ' -f2)" = "$UV_VERSION" ]; then
    UV=uv
    return
  fi
  UV="$own/bin/uv"
  [ ! -x "$UV" ] || [ "$("$UV" --version | cut -d' ' -f2)" != "$UV_VERSION" ] || return 0
  find_python
  mkdir -p "$MOSAIC_VENVS"
  (
    flock -n 9 || { printf 'uv: another ./mosaic is fetching it, waiting ...\n' >&2 && flock 9; }
    [ ! -x "$UV" ] || [ "$("$UV" --version | cut -d' ' -f2)" != "$UV_VERSION" ] || exit 0
    fetch_uv "$own"
  ) 9>"$MOSAIC_VENVS/.uv.lock"
}

# Into a folder of its own, not into a virtual environment: Debian ships pip and venv apart.
fetch_uv() {
  local log="$MOSAIC_VENVS/.uv.log"
  printf 'uv %s ...' "$UV_VERSION" >&2
  rm -rf "$1" "$1.new"
  if ! PIP_USER=0 "$PYTHON" -m pip install --quiet --no-deps --require-hashes \
    --target "$1.new" -r "$ROOT/tools/bootstrap.lock" >"$log" 2>&1; then
    printf ' failed\n' >&2
    cat "$log" >&2
    fail "could not fetch uv $UV_VERSION with pip.
  Without pip in $PYTHON: $PYTHON -m ensurepip --user. Without a network: put uv $UV_VERSION on PATH."
  fi
  mv "$1.new" "$1"
  printf ' fetched\n' >&2
}
