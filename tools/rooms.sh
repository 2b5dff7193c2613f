# shellcheck shell=bash
# Which rooms there are: every folder with a project file. A room is called by its folder's name.

fail() {
  printf 'mosaic: %s\n' "$*" >&2
  exit 2
}

room_folders() {
  local file
  for file in "$ROOT"/{packages/*,cli,gui,services/*,deploy/broker,docs,tools,tests}/pyproject.toml; do
    [ ! -f "$file" ] || printf '%s\n' "${file%/pyproject.toml}"
  done
}

room_names() {
  local folder names=()
  while read -r folder; do names+=("${folder##*/}"); done < <(room_folders)
  printf '%s\n' "${names[*]}"
}

# Sets REPLY to the room's folder (a subshell for each call would cost more than the rest of a check).
find_room() {
  local folder
  for folder in "$ROOT/packages/$1" "$ROOT/services/$1" "$ROOT/deploy/$1" "$ROOT/$1"; do
    if [ -f "$folder/pyproject.toml" ] && [[ $1 != */* ]]; then
      REPLY=$folder
      return
    fi
  done
  fail "there is no room called '$1'. Rooms: $(room_names)"
}

# Names of the room's bundles in folder $1: its dependency groups bundle-NAME, each with a lock of its own.
bundle_names() { sed -n 's/^bundle-\([a-z0-9-]*\) = \[.*/\1/p' "$1/pyproject.toml"; }

# Sets PACKAGES to the folders of our own packages that the room in folder $1 installs, itself last.
find_packages() {
  local line
  PACKAGES=()
  while read -r line; do
    if [[ $line =~ ^mosaic-[a-z-]+\ =\ \{\ path\ =\ \"([^\"]+)\" ]]; then
      PACKAGES+=("$1/${BASH_REMATCH[1]}")
    elif [ "$line" = "[build-system]" ]; then
      PACKAGES+=("$1") # a room without it is an environment only
    fi
  done <"$1/pyproject.toml"
}

# Sets WORKER_ROOM to the room of the worker that the first word names by its id or alias, or to nothing. Not everybody
# uses every worker, so the environment of one is made when it is named.
find_worker_room() { # WORD...
  local manifest word
  for word in "$@"; do
    [[ $word != -* ]] || continue
    [[ $word =~ ^[a-z0-9_-]+$ ]] || return 0
    for manifest in "$ROOT"/services/worker_*/worker.toml; do
      if grep -qE "^(id|aliases) = .*\"$word\"" "$manifest"; then
        manifest=${manifest%/worker.toml}
        WORKER_ROOM=("${manifest##*/}")
      fi
    done
    return 0
  done
}
# shellcheck disable=SC2034 # `mosaic` reads it
WORKER_ROOM=()
