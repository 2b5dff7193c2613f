#!/bin/bash
# The health check: whether the engine itself answers through the proxy. Its output is in the container's health log.
named=${DOCKER_SOCKET:-/var/run/docker.sock}
exec 3<>/dev/tcp/127.0.0.1/2375 || { echo "haproxy does not listen on port 2375"; exit 1; }
printf 'GET /_ping HTTP/1.1\r\nHost: engine\r\nConnection: close\r\n\r\n' >&3
read -r -t 10 _ status _ <&3
[ "${status:-none}" = 200 ] && exit 0
said="no container engine answers on the socket $named (HTTP status ${status:-none}). Start the engine, or set DOCKER_SOCKET to its socket."
echo "$said"
echo "$said" >/proc/1/fd/2 # `docker compose logs engine` shows it, too
exit 1
