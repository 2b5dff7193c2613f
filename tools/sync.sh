# shellcheck shell=bash
# One environment per room under $MOSAIC_VENVS. A stamp, written last, says what an environment was made from;
# one without its right stamp is made again, so that a half-made one is never used.

# Sets REPLY to the digest of everything that an environment of kind $2 (run, dev or bundle-NAME) of the room in
# folder $1 is made from.
digest() {
  local files=() package
  find_packages "$1"
  for package in "${PACKAGES[@]}" "$1"; do files+=("$package/pyproject.toml"); done
  for package in "$1"/*.lock "$1/torch.txt"; do
    case $package in
      */requirements.dev.lock) [ "$2" != dev ] || files+=("$package") ;;
      */bundle-*.lock) [ "${package##*/}" != "$2.lock" ] || files+=("$package") ;;
      */requirements.cuda.lock | */requirements.cpu.lock) ;; # for images alone
      */torch.txt) [ ! -f "$package" ] || files+=("$package") ;;
      *) files+=("$package") ;;
    esac
  done
  # the checkout's place, because our own packages are installed as links into it
  REPLY=$({ printf '%s\n' "$UV_VERSION" "$ROOT" && cat "${files[@]}"; } | sha256sum)
  REPLY=${REPLY%% *}
}

has_stamp() { # ENVIRONMENT KIND DIGEST
  local stamp=
  [ -x "$1/bin/python" ] && [ -f "$1/mosaic-$2.stamp" ] && read -r stamp <"$1/mosaic-$2.stamp" && [ "$stamp" = "$3" ]
}

# Sets BUNDLES to those of the room $1 that its environment has or is to have: what was asked for once stays, also when
# the environment is made again.
find_bundles() {
  local name
  find_room "$1"
  BUNDLES=("${ADD_BUNDLES[@]}")
  [ -f "$MOSAIC_VENVS/.$1.bundles" ] || return 0
  while read -r name; do
    [ ! -f "$REPLY/bundle-$name.lock" ] || BUNDLES+=("$name") # one that the room no longer has is no loss
  done <"$MOSAIC_VENVS/.$1.bundles"
}
ADD_BUNDLES=()

NOT_MADE=9 # exit code: uv failed, and the log says why

# Makes the room $1 with the bundles that follow; they are remembered once they are installed.
sync_bundles() { # KIND ROOM NAME...
  local name known
  find_room "$2"
  known=$(bundle_names "$REPLY")
  known=${known//$'\n'/, }
  for name in "${@:3}"; do
    case ", $known, " in
      *", $name, "*) ADD_BUNDLES+=("$name") ;;
      *) fail "$2 has no bundle '$name'. It has: ${known:-none}" ;;
    esac
  done
  sync_rooms "$1" "$2"
  find_bundles "$2"
  printf '%s\n' "${BUNDLES[@]}" | sort -u >"$MOSAIC_VENVS/.$2.bundles.new"
  mv "$MOSAIC_VENVS/.$2.bundles.new" "$MOSAIC_VENVS/.$2.bundles"
}

is_current() { # KIND ROOM
  local folder name
  find_room "$2"
  folder=$REPLY
  digest "$folder" run
  has_stamp "$MOSAIC_VENVS/$2" run "$REPLY" || return 1
  if [ "$1" = dev ] && [ -f "$folder/requirements.dev.lock" ]; then
    digest "$folder" dev
    has_stamp "$MOSAIC_VENVS/$2" dev "$REPLY" || return 1
  fi
  find_bundles "$2"
  for name in "${BUNDLES[@]}"; do
    digest "$folder" "bundle-$name"
    has_stamp "$MOSAIC_VENVS/$2" "bundle-$name" "$REPLY" || return 1
  done
}

# sync_rooms KIND ROOM...: silent and a few milliseconds a room when nothing is to do.
sync_rooms() {
  local kind=$1 room missing=() number=0
  shift
  for room in "$@"; do
    find_room "$room"
    case " ${missing[*]} " in *" $room "*) continue ;; esac
    is_current "$kind" "$room" || missing+=("$room")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  require_writable "${missing[@]}"
  find_uv
  find_python
  for room in "${missing[@]}"; do
    number=$((number + 1))
    printf '[%d/%d] %s ...' "$number" ${#missing[@]} "$room" >&2
    sync_room "$kind" "$room"
  done
}

# Ends with the true cause where the environments cannot be made here, before anything is tried.
require_writable() { # ROOM...
  local path room
  mkdir -p "$MOSAIC_VENVS" 2>/dev/null || :
  path=$MOSAIC_VENVS
  while [ ! -e "$path" ]; do path=$(dirname -- "$path"); done
  for room in "$@"; do
    for path in "$path" "$MOSAIC_VENVS/.$room.lock" "$MOSAIC_VENVS/.$room.log" "$MOSAIC_VENVS/$room"; do
      [ ! -e "$path" ] || [ -w "$path" ] || refuse_unwritable "$path" "$@"
    done
  done
  path=${UV_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-/}/.cache}/uv}
  { mkdir -p "$path" 2>/dev/null && [ -w "$path" ]; } || fail "$path cannot be written, and uv keeps its downloads there.
  Name another folder: UV_CACHE_DIR=FOLDER ./mosaic ..."
}

refuse_unwritable() { # PATH ROOM...
  local me owner interpreter="$MOSAIC_VENVS/$2/bin/python" remedy=
  me=$(id -un 2>/dev/null || id -u)
  owner=$(stat -c %U -- "$1")
  if [ -L "$interpreter" ] && [ ! -x "$interpreter" ]; then
    printf 'mosaic: %s cannot run the Python of these environments, %s\n' "$me" "$(readlink -- "$interpreter")" >&2
  else
    remedy="let $owner run \`./mosaic sync ${*:2}\`, or "
    printf 'mosaic: these environments are missing or out of date: %s\n' "${*:2}" >&2
  fi
  fail "$me cannot make them here: $1 belongs to $owner and cannot be written.
  To go on, ${remedy}have environments and data of your own:
  export MOSAIC_VENVS=~/mosaic/venvs MOSAIC_HOME=~/mosaic/home"
}

sync_room() { # KIND ROOM
  local began=${EPOCHREALTIME/./} log="$MOSAIC_VENVS/.$2.log" spent status=0 dots=
  say_size "$2"
  if [ -t 2 ]; then
    # a slow line must not look like a hang; the loop ends with this shell, whatever ends it
    (while sleep 2 && kill -0 $$; do printf . >&2; done) >/dev/null &
    dots=$!
  fi
  (
    flock -n 9 || { printf ' another ./mosaic is making it, waiting ...' >&2 && flock 9; }
    is_current "$1" "$2" && exit
    : >"$log" || exit # what an earlier attempt said is not the cause of this failure
    make_room "$1" "$2" >"$log" 2>&1 || exit "$NOT_MADE"
  ) 9>"$MOSAIC_VENVS/.$2.lock" || status=$?
  [ -z "$dots" ] || kill "$dots" 2>/dev/null || :
  if [ $status -ne 0 ]; then
    printf ' failed\n' >&2
    [ $status -ne "$NOT_MADE" ] || cat "$log" >&2
    fail "could not make the environment of $2; the reason stands above"
  fi
  spent=$(((${EPOCHREALTIME/./} - began) / 100000))
  printf ' %d.%d s\n' $((spent / 10)) $((spent % 10)) >&2
}

say_size() { # ROOM
  find_room "$1"
  if [ -f "$REPLY/torch.txt" ] && [ -z "${UV_FIND_LINKS:-}${UV_TORCH_BACKEND:-}" ] && [ "$(uname)" = Linux ]; then
    printf ' (with PyTorch for CUDA, about 3 GB; UV_TORCH_BACKEND=cpu before the command takes the small one) ...' >&2
  fi
}

make_room() { # KIND ROOM; `set -e` does not reach into a function called in a condition, hence the chains
  local folder environment run name
  environment="$MOSAIC_VENVS/$2"
  find_room "$2"
  folder=$REPLY
  digest "$folder" run
  run=$REPLY
  # A verb starts often and ends soon, and a second user of the checkout could not keep what Python compiles.
  [ "$2" != cli ] || export UV_COMPILE_BYTECODE=1
  # test packages that are out of date would hide what the project file no longer names
  if ! has_stamp "$environment" run "$run" || [ -f "$environment/mosaic-dev.stamp" ]; then
    rm -rf "$environment" && install_run "$folder" "$environment" &&
      printf '%s\n' "$run" >"$environment/mosaic-run.stamp" || return
  fi
  if [ "$1" = dev ] && [ -f "$folder/requirements.dev.lock" ]; then
    digest "$folder" dev
    install_locked "$folder" "$environment" requirements.dev.lock &&
      printf '%s\n' "$REPLY" >"$environment/mosaic-dev.stamp" || return
  fi
  find_bundles "$2"
  for name in "${BUNDLES[@]}"; do
    digest "$folder" "bundle-$name"
    has_stamp "$environment" "bundle-$name" "$REPLY" && continue
    install_locked "$folder" "$environment" "bundle-$name.lock" &&
      printf '%s\n' "$REPLY" >"$environment/mosaic-bundle-$name.stamp" || return
  done
}

install() { run_uv pip install "$@"; }

install_locked() { # FOLDER ENVIRONMENT LOCK
  local arguments=(--require-hashes -r "$1/$3")
  # torch has no hash in any lock; what depends on it must not ask for one
  [ ! -f "$1/torch.exclude" ] || arguments+=(--excludes "$1/torch.exclude")
  install --python "$2/bin/python" "${arguments[@]}"
}

install_run() { # FOLDER ENVIRONMENT
  local inside="$2/bin/python" lock package own=()
  run_uv venv --no-project --python "$PYTHON" "$2" || return
  install_locked "$1" "$2" requirements.lock || return
  if [ -f "$1/torch.txt" ]; then
    install --python "$inside" -c "$1/requirements.lock" -r "$1/torch.txt" && refuse_cuda "$2" || return
  fi
  for lock in "$1"/*.nodeps; do
    [ -f "$lock" ] && [ "${lock##*/}" != bootstrap.nodeps ] || continue # that one is for uv.sh
    install --python "$inside" --require-hashes --no-deps -r "${lock%.nodeps}.lock" || return
  done
  find_packages "$1"
  # relative, for uv reads a whole path as an address, in which # and % mean something else
  for package in "${PACKAGES[@]}"; do own+=(-e "./${package#"$ROOT"/}"); done
  [ ${#own[@]} -eq 0 ] || install --python "$inside" --no-deps "${own[@]}" || return
  [[ $ROOT != *[!\ -~]* ]] || write_links_in_ascii "$inside" || return
  # uv compiles what it installs, and our own packages are links
  [ -z "${UV_COMPILE_BYTECODE:-}" ] || [ ${#own[@]} -eq 0 ] || "$inside" -I -m compileall -q "${PACKAGES[@]/%//src}"
}

# Python 3.11 reads .pth files in the encoding of the locale, so under LC_ALL=C a link into a folder with any other
# letter would keep it from starting. A line that begins with "import" is run as code, which may spell that letter.
write_links_in_ascii() { # INTERPRETER
  "$1" -I -S - <<'PYTHON'
import sys
from pathlib import Path

for link in Path(sys.executable).parent.parent.glob("lib/python*/site-packages/*.pth"):
    text = link.read_text("utf-8")
    if text.isascii():
        continue
    lines = [
        x if x.isascii() else f"import sys; sys.path.append({ascii(x)})" for x in text.splitlines()
    ]
    link.unlink()  # it may be a hard link to a file of uv's cache
    link.write_text("".join(f"{x}\n" for x in lines), "ascii")
PYTHON
}

# A folder that offers a CPU build was named: 3 GB of CUDA beside it mean that the folder was not read.
refuse_cuda() { # ENVIRONMENT
  local folder
  for folder in ${UV_FIND_LINKS//,/ }; do
    compgen -G "$folder/torch-*+cpu-*.whl" >/dev/null || continue
    if compgen -G "$1/lib/python3.11/site-packages/nvidia*" >/dev/null; then
      printf 'the wheel folder %s holds a CPU build of torch, yet CUDA packages were installed\n' "$folder"
      return 1
    fi
  done
}
