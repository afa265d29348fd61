#!/bin/sh
# What ranks send each other in collectives of Open MPI 4, by the library's own monitoring, is what the schedules of the
# rules known here send: peers, bytes and numbers of messages.
# openmpi_messages.sh MPIEXEC PROGRAM MESSAGES_BY_RULE
mpiexec=$1 program=$2 by_rule=$3
"$mpiexec" --version 2>&1 | grep -qE '\((Open MPI|OpenRTE)\) 4\.1' || { echo "SKIPPED: Open MPI 4.1 only"; exit 0; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
# monitored NAME RANKS BYTES: "RANK PEER BYTES MESSAGES" of all ranks, or "failed"
monitored() {
  rm -f "$folder"/of*
  "$mpiexec" --oversubscribe --bind-to none -n "$2" --mca mpi_yield_when_idle 1 --mca pml_monitoring_enable 2 \
    --mca pml_monitoring_enable_output 3 --mca pml_monitoring_filename "$folder/of" "$program" "$1" "$3" >&2 ||
    { echo failed; return; }
  cat "$folder"/of.*.prof 2>/dev/null | awk '$1 == "I" { print $2, $3, $4, $6 }' | sort -n -k1,1 -k2,2
}
seen=$(monitored barrier 2 8)
[ "$seen" != failed ] || exit 1
[ -n "$seen" ] || { echo "SKIPPED: Open MPI does not monitor"; exit 0; }
# An algorithm each, of few ranks. Not seen: all-to-all's linear ones, whose requests are persistent, and gather's
# linear_sync, of whose messages two have no bytes.
while read -r name ranks bytes; do
  "$by_rule" "$name" "$ranks" "$bytes" >"$folder/ours" || exit 1
  monitored "$name" "$ranks" "$bytes" </dev/null >"$folder/theirs"
  sort -n -k1,1 -k2,2 "$folder/ours" | diff - "$folder/theirs" && continue
  echo "$name of $ranks ranks and $bytes B: above what is known here (<) and what Open MPI sends (>)"
  exit 1
done <<CASES
all-reduce 2 4096
all-reduce 5 64
all-reduce 6 65536
all-gather 2 4096
all-gather 6 49152
all-gather 8 65536
reduce-scatter 3 65544
reduce-scatter 3 1536
reduce-scatter 6 4800
broadcast 3 131072
broadcast 7 64
broadcast 7 4096
broadcast 12 512
reduce 3 1024
reduce 7 4096
reduce 7 65536
gather 5 5120
scatter 6 4800
scatter 6 12288
scatter 6 491520
all-to-all 2 131072
barrier 9 8
CASES
echo "Open MPI sends what is known of it here"
