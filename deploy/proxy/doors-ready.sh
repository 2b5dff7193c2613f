#!/bin/bash
# The health check of the doors: whether the broker can be reached through them.
exec 3<>/dev/tcp/127.0.0.1/8404 || { echo "haproxy does not listen on port 8404"; exit 1; }
printf 'GET /ready HTTP/1.1\r\nHost: doors\r\nConnection: close\r\n\r\n' >&3
read -r -t 10 _ status _ <&3
[ "${status:-none}" = 200 ] && exit 0
echo "the broker cannot be reached at nats:4222 (HTTP status ${status:-none})"
exit 1
