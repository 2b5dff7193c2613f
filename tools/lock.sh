# shellcheck shell=bash
# Pins what the rooms depend on: names, versions and hashes, never the address a file came from.

lock_verb() {
  local check='' rooms=() room differ=0
  while [ $# -gt 0 ]; do
    case $1 in
      --check) check=1 ;;
      -*) fail "lock knows --check and names of rooms, not $1" ;;
      *) rooms+=("$1") ;;
    esac
    shift
  done
  [ ${#rooms[@]} -gt 0 ] || read -ra rooms <<<"$(room_names)"
  find_uv
  find_python
  for room in "${rooms[@]}"; do
    find_room "$room"
    if [ -z "$check" ]; then
      lock_room "$REPLY" "$REPLY"
      printf 'locked %s\n' "$room"
    else
      check_room "$REPLY" || differ=1
    fi
  done
  [ $differ = 0 ] || fail "locks differ from the project files; run ./mosaic lock ROOM and commit"
}

# compile SOURCE OUT [uv arguments]: SOURCE is a file or --group=NAME. Runs where the source is, because uv reads a project's settings from there.
# An OUT that exists is kept to as far as the source permits, so that a lock changes only where it must.
compile() {
  find_dropped
  env "${DROPPED[@]}" -u UV_FIND_LINKS -u UV_TORCH_BACKEND "$UV" pip compile "$1" -o "$2" "${@:3}" --quiet \
    --python "$PYTHON" --universal --python-version 3.11 --generate-hashes --no-header
}

# lock_room FOLDER OUT: writes the room's locks into the folder OUT.
lock_room() (
  cd "$1" || exit
  arguments=()
  for package in "$ROOT"/packages/*/; do
    package=${package%/}
    arguments+=(--no-emit-package "mosaic-${package##*/}")
  done
  # Torch is a second step (torch.txt), so that one lock serves CPU and CUDA.
  [ ! -f torch.exclude ] || arguments+=(--excludes torch.exclude)
  compile pyproject.toml "$2/requirements.lock" "${arguments[@]}"
  if grep -q '^dev = \[' pyproject.toml; then
    compile pyproject.toml "$2/requirements.dev.lock" --group dev -c "$2/requirements.lock" "${arguments[@]}"
  fi
  # The CUDA build of torch with all that it brings, for images; what it shares with the room has the same version.
  if [ -f torch.txt ]; then
    compile torch.txt "$2/requirements.cuda.lock" -c "$2/requirements.lock"
    cpu_lock "$2/requirements.cuda.lock" torch.cpu.txt >"$2/requirements.cpu.lock"
  fi
  # A bundle keeps to the versions of the room that it is put on top of.
  for name in $(bundle_names .); do
    compile "--group=bundle-$name" "$2/bundle-$name.lock" -c "$2/requirements.lock"
  done
  # NAME.nodeps names a package whose own idea of its dependencies is not ours (cleanrl, bootstrap: uv itself).
  for source in *.nodeps; do
    [ ! -f "$source" ] || compile_nodeps "$source" "$2/${source%.nodeps}.lock"
  done
)

# cpu_lock CUDA_LOCK TORCH: what torch needs without CUDA, as the lock with CUDA pins it, and the CPU build itself.
cpu_lock() {
  awk '/^[a-z0-9]/ { keep = !/^(torch|triton|nvidia-[a-z0-9-]+|cuda-[a-z-]+)==/ } keep' "$1"
  grep -v '^#' "$2"
}

compile_nodeps() {
  # uv takes a file of requirements by its ending
  cp "$1" "$2.in" && compile "$2.in" "$2" --no-deps --no-annotate
  rm -f "$2.in"
}

check_room() {
  local again lock name differ=0
  again=$(mktemp -d)
  cp "$1"/*.lock "$again"
  lock_room "$1" "$again"
  for lock in "$again"/*.lock; do
    name=${lock##*/}
    if ! diff -u --label "committed ${1#"$ROOT"/}/$name" --label "compiled again" \
      <(grep '^[a-z0-9]' "$1/$name") <(grep '^[a-z0-9]' "$lock"); then
      differ=1
    fi
  done
  rm -rf "$again"
  return $differ
}
