# shellcheck shell=bash
# What a shell may complete after ./mosaic. Asked with _MOSAIC_COMPLETE, COMP_WORDS and COMP_CWORD set, as the function
# that `./mosaic completion` prints does; answers one word a line, and never makes an environment: it answers a key press.

OWN_VERBS='help gui sync test lint imports types lock words'

complete_words() {
  local words word python=$MOSAIC_VENVS/cli/bin/python
  read -ra words <<<"${COMP_WORDS:-}"
  word=${words[${COMP_CWORD:-0}]:-}
  if [ "${COMP_CWORD:-0}" -gt 1 ]; then
    case ${words[1]} in
      gui) offer "--url --token-file --ca-file --screenshot --size --theme --help" "$word" && return ;;
      sync) offer "--dev --bundle $(room_names)" "$word" && return ;;
      lock) offer "--check $(room_names)" "$word" && return ;;
      test | types) offer "$(room_names)" "$word" && return ;;
      lint | imports | help | words) return ;;
    esac
  else
    offer "$OWN_VERBS" "$word"
  fi
  [ -x "$python" ] || return 0
  export MOSAIC_ROOT="$ROOT" MOSAIC_HOME="${MOSAIC_HOME:-$ROOT/var}"
  exec "$python" -I -m mosaic_cli
}

# offer WORDS BEGINNING: those that begin so; none is no failure.
offer() {
  compgen -W "$1" -- "$2" || true
}
