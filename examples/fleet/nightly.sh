#!/bin/bash
# Measure this host, compare it with its golden run, keep the trend as a page and a Prometheus file.
#
#   crontab:  15 3 * * *  /etc/tierscope/nightly.sh --profile quick
#
# Arguments are those of 'tierscope run'. The first run becomes the golden one; another takes its
# place with 'tierscope tag RUN golden'. Status 1 where something is slower than the golden run, and
# 4 where this could not be found out; any other status is tierscope's.

set -euo pipefail
tierscope=${TIERSCOPE:-tierscope}
pages=${TIERSCOPE_PAGES:-/var/www/tierscope}
textfiles=${TIERSCOPE_TEXTFILES:-/var/lib/prometheus/node-exporter} # Debian's, of node_exporter
nights=14
host=$(hostname -s)

# Only the comparison below says that something is slower.
not_compared() { [ "$1" -ne 1 ] || exit 4; }
trap 'not_compared $?' EXIT

# With status 1 a measurement failed; the others are compared.
"$tierscope" run "$@" >/dev/null || { status=$?; [ "$status" -eq 1 ] || exit "$status"; }
"$tierscope" tag last nightly >/dev/null
"$tierscope" export last --prometheus "$textfiles/tierscope.prom" >/dev/null

nightly="select name from runs where list_contains(tags, 'nightly') and host = '$(hostname)'"
if [ -z "$("$tierscope" query "from runs where list_contains(tags, 'golden')" --csv | tail -n +2)" ]
then
  "$tierscope" tag last golden >/dev/null
fi
runs=$("$tierscope" query "$nightly and not list_contains(tags, 'golden')
                           order by started desc limit $nights" --csv | tail -n +2 | tac)
[ -z "$runs" ] && exit 0 # the first night

# Names of runs have no spaces.
status=0
# shellcheck disable=SC2086
"$tierscope" compare golden $runs -o "$pages/$host.html" || status=$?
trap - EXIT
exit "$status"
