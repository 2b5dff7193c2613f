#!/bin/bash
# Health: whether an agent could log in now, which the server says in its first words. About a millisecond; no Erlang is started.
set -eu
exec 3<>"/dev/tcp/127.0.0.1/${XMPP_PORT:-5222}"
printf "<?xml version='1.0'?><stream:stream to='%s' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>" \
  "${XMPP_DOMAIN:-localhost}" >&3
while IFS= read -r -t 2 -d '>' -u 3 tag; do
  [[ $tag != '<starttls'* ]] || exit 0
done
echo "the server offers no login" >&2
exit 1
