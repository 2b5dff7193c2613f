#!/bin/sh
# Installs torch into /opt/mosaic, every package by its hash: TORCH=cpu or cuda, from the lock of that name beside this.
# The CPU build is at PyTorch's own index only, which uv knows, or in a wheel folder (PIP_FIND_LINKS), or at TORCH_INDEX.
set -eu
here=$(dirname "$0")
python=/opt/mosaic/bin/python
lock=$here/requirements.$TORCH.lock
[ -f "$lock" ] || { echo "TORCH=$TORCH is not known: it is cpu or cuda" >&2; exit 2; }

has_wheel() { # whether a wheel folder holds the CPU build
  for folder in ${PIP_FIND_LINKS:-}; do
    ls "$folder"/torch-*+cpu-*.whl >/dev/null 2>&1 && return 0
  done
  return 1
}

if [ "$TORCH" = cuda ]; then
  pip --python "$python" install --no-deps --require-hashes -r "$lock"
elif [ -n "${TORCH_INDEX:-}" ]; then
  pip --python "$python" install --no-deps --require-hashes --extra-index-url "$TORCH_INDEX" -r "$lock"
elif has_wheel; then
  pip --python "$python" install --no-deps --require-hashes -r "$lock"
else
  pip install --no-deps --require-hashes --target /tmp/uv -r "$here/bootstrap.lock"
  /tmp/uv/bin/uv pip install --python "$python" --no-cache --no-deps --require-hashes --torch-backend cpu -r "$lock"
  rm -rf /tmp/uv
fi
# The image's label is what was asked for: it must be what was installed.
"$python" - "$TORCH" <<'PYTHON'
import pathlib, sys
import torch
has_cuda = torch.version.cuda is not None
brought = sorted(p.name for p in pathlib.Path(torch.__file__).parents[1].glob("nvidia*"))
if has_cuda != (sys.argv[1] == "cuda") or (brought and not has_cuda):
    sys.exit(f"TORCH={sys.argv[1]} was asked for, and torch {torch.__version__} with {brought or 'no NVIDIA packages'} is there")
PYTHON
