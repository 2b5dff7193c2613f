#!/bin/sh
# Starts the proxy. A path that cannot be the engine's socket is refused here, in words.
set -eu
socket=/var/run/docker.sock
named=${DOCKER_SOCKET:-$socket}
if [ ! -S "$socket" ]; then
  echo "DOCKER_SOCKET=$named is not a socket. Set DOCKER_SOCKET to the engine's socket; \`docker context inspect\` names it." >&2
  exit 1
fi
exec haproxy -W -f /etc/haproxy/haproxy.cfg
