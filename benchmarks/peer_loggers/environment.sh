#!/usr/bin/env bash
# Makes the environment of the loggers beside which peers.py measures, and prints its interpreter. No room holds them.
#
#     benchmarks/peer_loggers/environment.sh          make it as requirements.lock says; nothing to do when it is there
#     benchmarks/peer_loggers/environment.sh --lock   pin again what pyproject.toml asks for
set -euo pipefail

HERE=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
ROOT=$(cd -- "$HERE/../.." && pwd)
export MOSAIC_VENVS=${MOSAIC_VENVS:-$ROOT/var/venvs}

# shellcheck source=tools/rooms.sh
source "$ROOT/tools/rooms.sh"
# shellcheck source=tools/uv.sh
source "$ROOT/tools/uv.sh"
# shellcheck source=tools/lock.sh
source "$ROOT/tools/lock.sh"
# shellcheck source=tools/sync.sh
source "$ROOT/tools/sync.sh"

ENVIRONMENT="$MOSAIC_VENVS/peer_loggers"

if [ "${1:-}" = --lock ]; then
  find_uv
  find_python
  lock_room "$HERE" "$HERE"
  exit
fi
mkdir -p "$MOSAIC_VENVS"
exec 9>"$MOSAIC_VENVS/.peer_loggers.lock" # another benchmark may be making it
flock 9
digest "$HERE" run
if ! has_stamp "$ENVIRONMENT" run "$REPLY"; then
  find_uv
  find_python
  rm -rf "$ENVIRONMENT"
  install_run "$HERE" "$ENVIRONMENT" >&2
  printf '%s\n' "$REPLY" >"$ENVIRONMENT/mosaic-run.stamp"
fi
printf '%s\n' "$ENVIRONMENT/bin/python"
