"""`completion`: what a shell runs at its start so that the Tab key knows verbs, options, runs and workers."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

# Each function asks the ./mosaic that was typed, so one line in a start file serves every checkout. The
# answers are words, one a line; nothing is said where there is no environment yet.
_BASH = r"""_mosaic() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _MOSAIC_COMPLETE=complete_bash "$1" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:\>] ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o default -F _mosaic mosaic
"""
_ZSH = r"""#compdef mosaic
_mosaic() {
  local -a found
  local -x COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT - 1)) _MOSAIC_COMPLETE=complete_bash
  found=(${(f)"$("${words[1]}" 2>/dev/null)"})
  if (( ${#found} == 1 )) && [[ $found[1] == *[:\>] ]]; then compadd -S '' -- $found
  elif (( ${#found} )); then compadd -- $found; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _mosaic mosaic
"""
_FISH = r"""function __mosaic_words
  set -l before (commandline -opc)
  set -l command $before[1]
  set -lx COMP_WORDS (string join ' ' -- $before (commandline -ct))
  set -lx COMP_CWORD (count $before)
  set -lx _MOSAIC_COMPLETE complete_bash
  set -l found ($command 2>/dev/null)
  if set -q found[1]
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c mosaic -f -a '(__mosaic_words)'
"""


class Shell(StrEnum):
    """Shells that there is a function for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


SCRIPTS = {Shell.BASH: _BASH, Shell.ZSH: _ZSH, Shell.FISH: _FISH}


def completion(
    shell: Annotated[Shell, typer.Argument(help="Shell to complete for.")],
) -> None:
    """Print a shell's completion function: `source <(./mosaic completion bash)`, or the same for zsh in its start
    file.

    In fish: `./mosaic completion fish | source`.
    """
    sys.stdout.write(SCRIPTS[shell])
