# shellcheck shell=bash
# The interpreter and the installer. Both are looked for only when an environment has to be made.

unset UV PYTHON # names of the caller's environment are not ours
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
fi
# uv runs in the checkout, so a path relative to the caller's folder has to be whole.
if [ -n "${UV_FIND_LINKS:-}" ]; then
  IFS=, read -ra find_links <<<"$UV_FIND_LINKS"
  for index in "${!find_links[@]}"; do
    [[ ${find_links[index]} == /* || ! -e ${find_links[index]} ]] || find_links[index]=$PWD/${find_links[index]}
  done
  UV_FIND_LINKS=$(IFS=, && printf '%s' "${find_links[*]}")
  export UV_FIND_LINKS
fi
for name in UV_CACHE_DIR UV_CONFIG_FILE; do
  [[ -z ${!name:-} || ${!name} == /* ]] || export "$name=$PWD/${!name}"
done
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

# Settings of pip and uv that say where packages come from. All others of the caller's environment are for other
# work, and would change what is installed or where (PIP_PREFIX, PIP_REQUIRE_VIRTUALENV, UV_SYSTEM_PYTHON, ...).
KEPT=" PIP_CACHE_DIR PIP_CERT PIP_CLIENT_CERT PIP_CONFIG_FILE PIP_DEFAULT_TIMEOUT PIP_EXTRA_INDEX_URL PIP_FIND_LINKS
 PIP_INDEX_URL PIP_KEYRING_PROVIDER PIP_NO_CACHE_DIR PIP_NO_INDEX PIP_PROXY PIP_RETRIES PIP_TIMEOUT PIP_TRUSTED_HOST
 UV_CACHE_DIR UV_COMPILE_BYTECODE UV_CONFIG_FILE UV_DEFAULT_INDEX UV_EXTRA_INDEX_URL UV_FIND_LINKS
 UV_HTTP_TIMEOUT UV_INDEX_URL UV_INSECURE_HOST UV_KEYRING_PROVIDER UV_LINK_MODE UV_NATIVE_TLS UV_NO_CACHE UV_NO_CONFIG
 UV_NO_PROGRESS UV_OFFLINE UV_PYTHON_DOWNLOADS UV_REQUEST_TIMEOUT UV_SYSTEM_CERTS UV_TORCH_BACKEND "
KEPT=${KEPT//$'\n'/}

# Sets DROPPED to the options with which `env` leaves out what pip, uv and the interpreters that they start must not see.
find_dropped() {
  local name
  DROPPED=()
  for name in $(compgen -e | grep -E '^(PIP|UV)_|^PYTHON'); do
    [[ $KEPT == *" $name "* || $name == UV_INDEX* || $name == UV_CONCURRENT_* ]] || DROPPED+=(-u "$name")
  done
}

# Runs uv in the checkout: a project file in the caller's folder is not ours either.
run_uv() {
  find_dropped
  (cd "$ROOT" && env "${DROPPED[@]}" "$UV" "$@")
}

# Sets PYTHON to the path of a Python 3.11.
find_python() {
  local candidate found
  [ -z "${PYTHON:-}" ] || return 0
  for candidate in ${MOSAIC_PYTHON:+"$MOSAIC_PYTHON"} python3.11 python3; do
    found=$("$candidate" -I -c 'import sys
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

# Into a folder of its own, not into a virtual environment: Debian ships pip and venv apart. Downloaded and unpacked
# rather than installed, for pip's configuration files may say where everything is installed (prefix, target, user).
# -P and -E rather than -I, for pip itself may lie in the user's packages.
fetch_uv() {
  local log="$MOSAIC_VENVS/.uv.log"
  printf 'uv %s ...' "$UV_VERSION" >&2
  rm -rf "$1" "$1.new"
  find_dropped
  if ! env "${DROPPED[@]}" PIP_REQUIRE_VIRTUALENV=0 PIP_DISABLE_PIP_VERSION_CHECK=1 "$PYTHON" -P -E -m pip download \
    --quiet --no-deps --require-hashes --dest "$1.new" -r "$ROOT/tools/bootstrap.lock" >"$log" 2>&1; then
    printf ' failed\n' >&2
    cat "$log" >&2
    fail "could not fetch uv $UV_VERSION with pip; what pip said stands above.
  Without pip in $PYTHON: $PYTHON -m ensurepip --user. Without a network: put uv $UV_VERSION on PATH."
  fi
  "$PYTHON" -I -m zipfile -e "$1.new"/uv-*.whl "$1.new"
  mkdir "$1.new/bin"
  mv "$1.new"/uv-*.data/scripts/uv "$1.new/bin/"
  chmod +x "$1.new/bin/uv"
  rm "$1.new"/*.whl
  mv "$1.new" "$1"
  printf ' fetched\n' >&2
}
