#!/bin/sh
# Starts ejabberd in the foreground: on a machine and in the image, for any uid, with everything that it writes in one
# folder. SIGTERM ends it cleanly in about a second; the Erlang VM replaces this script, so that it gets the signal itself.
set -eu
umask 077
: "${XMPP_HOME:=/var/lib/ejabberd}" # its data: accounts, certificate, logs
: "${XMPP_DOMAIN:=localhost}"       # right side of every address
: "${XMPP_HOST:=$XMPP_DOMAIN}"      # where clients reach it
: "${XMPP_BIND:=127.0.0.1}" "${XMPP_PORT:=5222}"
: "${XMPP_API_HOST:=127.0.0.1}" "${XMPP_API_PORT:=5280}" # a name binds the API to the address that it stands for
API_USER=mosaic-scheduler
HERE=$(dirname -- "$(readlink -f -- "$0")")

fail() {
  printf 'xmpp: %s\n' "$*" >&2
  exit 2
}

for tool in erl openssl getent; do
  command -v "$tool" >/dev/null || fail "$tool is missing; install it with: apt-get install --no-install-recommends ejabberd openssl"
done
case $XMPP_DOMAIN$XMPP_HOST in *[!a-z0-9.-]*) fail "XMPP_DOMAIN and XMPP_HOST take lower-case names, not '$XMPP_DOMAIN' and '$XMPP_HOST'" ;; esac
case $XMPP_PORT$XMPP_API_PORT in *[!0-9]*) fail "XMPP_PORT and XMPP_API_PORT take numbers" ;; esac
API_BIND=$(getent ahostsv4 "$XMPP_API_HOST" | awk 'NR == 1 { print $1 }')
[ -n "$API_BIND" ] || fail "$XMPP_API_HOST (XMPP_API_HOST) stands for no address of this machine"
cd "$XMPP_HOME" || fail "XMPP_HOME is no folder that can be entered: $XMPP_HOME"
mkdir -p conf db log || fail "$XMPP_HOME cannot be written"

# A certificate of its own, made anew when it is for another domain or ends within a month.
fits() {
  openssl x509 -in conf/cert.pem -noout -checkend 2592000 >/dev/null 2>&1 &&
    openssl x509 -in conf/cert.pem -noout -checkhost "$XMPP_DOMAIN" | grep -q 'does match'
}
if [ ! -s conf/server.pem ] || ! fits; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "/CN=$XMPP_DOMAIN" \
    -addext "subjectAltName=DNS:$XMPP_DOMAIN" -keyout conf/key.new -out conf/cert.new 2>/dev/null || fail "openssl could make no certificate"
  cat conf/key.new conf/cert.new >conf/server.pem
  rm conf/key.new
  mv conf/cert.new conf/cert.pem
fi
[ -s conf/api.password ] || openssl rand -hex 24 >conf/api.password

sed -e "s/@DOMAIN@/$XMPP_DOMAIN/g" -e "s/@BIND@/$XMPP_BIND/" -e "s/@PORT@/$XMPP_PORT/" \
  -e "s/@API_BIND@/$API_BIND/" -e "s/@API_PORT@/$XMPP_API_PORT/" -e "s/@API_USER@/$API_USER/" \
  "$HERE/ejabberd.yml.in" >conf/ejabberd.yml
# How the scheduler finds it (mosaic_contracts.xmpp.XmppServer).
cat >server.json.new <<JSON
{"v": 1, "host": "$XMPP_HOST", "port": $XMPP_PORT, "domain": "$XMPP_DOMAIN", "ca_file": "conf/cert.pem",
 "api_url": "http://$XMPP_API_HOST:$XMPP_API_PORT/api", "user": "$API_USER@$XMPP_DOMAIN", "password_file": "conf/api.password"}
JSON
mv server.json.new server.json

# A folder of the machine's own, whatever its architecture; HOME holds Erlang's cookie.
for folder in /usr/lib/*/ejabberd-*; do ERL_LIBS=${folder%/*}; done
export ERL_LIBS HOME="$XMPP_HOME" EJABBERD_CONFIG_PATH=conf/ejabberd.yml EJABBERD_LOG_PATH=log/ejabberd.log \
  ERL_CRASH_DUMP_BYTES=0 ERL_MAX_PORTS=4096
# A fixed node name, whatever the host is called, and no port for other nodes. The scheduler's account comes with the
# start: its password is read from the file, so that it stands in no argument.
exec erl -sname ejabberd@localhost -dist_listen false -start_epmd false -kernel inet_dist_use_interface '{127,0,0,1}' \
  +K true +P 250000 +S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none \
  -mnesia dir '"db"' -ejabberd log_rotate_count 1 -noinput -s ejabberd \
  -eval "{ok, P} = file:read_file(\"conf/api.password\"), ok = ejabberd_auth:set_password(<<\"$API_USER\">>, <<\"$XMPP_DOMAIN\">>, string:trim(P))."
