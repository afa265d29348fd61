#!/bin/sh
# Open MPI takes a file of rules as `advise workload --emit --for openmpi` writes it: what its ranks send each other, by
# the library's own monitoring, is a ring's where a rule says so, and what it is without the file where none does.
# openmpi_rules.sh MPIEXEC PROGRAM RULES
mpiexec=$1 program=$2 rules=$3
"$mpiexec" --version 2>&1 | grep -qE '\((Open MPI|OpenRTE)\) 4' || { echo "SKIPPED: Open MPI 4 only"; exit 0; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
# sent RANKS BYTES [OPTION...]: "PEER BYTES MESSAGES" of the first rank in three all-reduces
sent() {
  ranks=$1 bytes=$2
  shift 2
  rm -f "$folder"/of*
  "$mpiexec" --oversubscribe --bind-to none -n "$ranks" "$@" --mca pml_monitoring_enable 2 \
    --mca pml_monitoring_enable_output 3 --mca pml_monitoring_filename "$folder/of" "$program" all-reduce "$bytes" >&2 || { echo failed; return; }
  awk '$1 == "I" { print $3, $4, $6 }' "$folder/of.0.prof"
}
sent_by_rules() {
  sent "$@" --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename "$rules"
}
expect() {
  [ "$2" = "$3" ] && [ "$2" != failed ] && return
  echo "$1: sent '$2', and not '$3'"
  exit 1
}
own=$(sent 4 16384)
[ "$own" != failed ] || exit 1
[ -n "$own" ] || { echo "SKIPPED: Open MPI does not monitor"; exit 0; }
# 2 (4 - 1) parts of 16 KiB / 4, three times, all to the next.
ring="1 73728 18"
[ "$own" != "$ring" ] || { echo "Open MPI takes the ring by itself: this shows nothing"; exit 1; }
expect "with a rule" "$(sent_by_rules 4 16384)" "$ring"
expect "below the rule" "$(sent_by_rules 4 8192)" "$(sent 4 8192)"
expect "above the rule" "$(sent_by_rules 4 65544)" "$(sent 4 65544)"
expect "of more ranks" "$(sent_by_rules 5 16384)" "$(sent 5 16384)"
expect "of fewer ranks" "$(sent_by_rules 3 16384)" "$(sent 3 16384)"
echo "Open MPI takes the rules"
