#!/bin/bash
# Slurm prolog or epilog: measure memory for some seconds and compare it with golden values.
#
#   slurm.conf:  Prolog=/etc/tierscope/health-check.sh    (or Epilog=)
#
# Status 1, upon which Slurm drains the node, only where all of a figure's confidence interval misses
# its golden value, other programs did not disturb it, and the figure can be named. What is
# inconclusive is measured again for as long as the key 'again' of golden.yaml says. Otherwise 0, and 2
# for a mistake in health.yaml or golden.yaml. In a prolog or epilog that is 0, too, since Slurm drains
# upon any other status: a typo or a full disk must not drain a cluster.
# For nodes that one job has for itself; other jobs on a node take the bandwidth that is measured.

tierscope=${TIERSCOPE:-/usr/local/bin/tierscope}
settings=${TIERSCOPE_HEALTH:-/etc/tierscope} # health.yaml and golden.yaml
seconds=${TIERSCOPE_SECONDS:-8}              # of measuring
longest=${TIERSCOPE_LONGEST:-18}             # of everything; Slurm waits for PrologEpilogTimeout

left() { echo $((longest > SECONDS + 2 ? longest - SECONDS - 2 : 1)); }
say() { echo "tierscope: $*" >&2; logger -t tierscope-health -- "$*" 2>/dev/null; }

mistake() {
  say "not judged, a file has a mistake: $*"
  [ -n "$SLURM_JOB_ID" ] && exit 0 # a prolog or epilog of Slurm, which sets it
  exit 2
}

work=$(mktemp -d "${TMPDIR:-/tmp}/tierscope-health.XXXXXX") || exit 0
trap 'rm -rf "$work"' EXIT
export HOME="$work" # slurmd sets none

timeout --kill-after=1 "$(left)" \
  "$tierscope" run "$settings/health.yaml" --time-limit "${seconds}s" --out "$work" \
  >"$work/log" 2>&1
status=$?
run=$(ls "$work"/*.jsonl 2>/dev/null)
[ "$status" -eq 2 ] && mistake "$(tail -n 1 "$work/log")"
if [ "$status" -gt 1 ] || [ -z "$run" ]; then
  say "not judged, measuring ended with status $status: $(tail -n 1 "$work/log")"
  exit 0
fi

timeout --kill-after=1 "$(left)" "$tierscope" check "$run" --expect "$settings/golden.yaml" \
  >"$work/check" 2>&1
status=$?
verdicts=$(grep -vE '^$|^  met ' "$work/check" | tr -s ' \n' ' ')
# Python ends with status 1, too, where tierscope cannot start.
grep -q '^  missed ' "$work/check" || [ "$status" -ne 1 ] || status='1 and no verdict'
case $status in
  0) exit 0 ;;
  1) say "golden values missed: $verdicts"; exit 1 ;;
  2) mistake "$(tail -n 1 "$work/check")" ;;
  3) say "not judged: $verdicts"; exit 0 ;;
  *) say "not judged, checking ended with status $status: $(tail -n 1 "$work/check")"; exit 0 ;;
esac
