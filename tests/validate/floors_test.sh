#!/usr/bin/env bash
# validate/expect against the simulation and the stored errors: floors_test.sh SOURCE BIN FOLDER
set -uo pipefail
source_folder=$1 bin=$2 folder=$3
rm -rf "$folder" && mkdir -p "$folder" && cd "$source_folder" || exit 1
fail() { echo "$1" >&2 && exit 1; }
expect() { validate/expect hgx-h100 --bin "$bin" "$@"; }

table=$(expect nvbandwidth osu_latency) || fail "the table ends with $?"
# The error is that of the stored figures, and the floor follows from both.
stored=$(awk -F' *[|] *' '$2 == "peers" { print $6 }' validate/MACHINES.md)
row=$(grep 'device_to_device_memcpy_write_ce' <<<"$table") || fail "no row of peers: $table"
grep -qF "| $stored |" <<<"$row" || fail "the error of peers is $stored, and not that of: $row"
awk -F' *[|] *' -v e="${stored% %}" '{ split($5, x, " "); split($9, l, " "); d = l[3] * (1 + e / 100) / x[1] - 1
  exit !(x[1] > 300 && d < 0.001 && d > -0.001) }' <<<"$row" || fail "the floor does not follow: $row"
# A time may be longer by that, and a rate lower.
stored=$(awk -F' *[|] *' '$2 == "messages of GPUs within a node" { print $6 }' validate/MACHINES.md)
row=$(grep '^| osu_latency | 0/0 to 0/1 | 4K |' <<<"$table") || fail "no row of 4K: $table"
grep -qF "| $stored |" <<<"$row" || fail "the error of messages is $stored, and not that of: $row"
awk -F' *[|] *' -v e="${stored% %}" '{ split($5, x, " "); split($9, l, " "); d = x[1] * (1 + e / 100) / l[3] - 1
  exit !(l[2] == "most" && d < 0.001 && d > -0.001) }' <<<"$row" || fail "the longest time does not follow: $row"
[ "$(grep -c '^| osu_latency ' <<<"$table")" = 23 ] || fail "osu_latency has 23 sizes from 1 to 4M: $table"

# Of collectives nothing measured is stored: what is expected is said, and no floor is invented.
said=$(expect 'nccl-tests all_reduce_perf -b 8 -e 8G -f 32' 2>&1)
[ $? = 77 ] || fail "without a floor it ends with another code: $said"
[ "$(grep -c '^| all_reduce_perf ' <<<"$said")" = 7 ] || fail "8 to 8G by 32 are 7 sizes: $said"
grep -q 'no floor: no measured collectives' <<<"$said" || fail "$said"

# Ranks are those of the test unless others are named, and GPUs of two nodes have errors of their own.
said=$(expect 'nccl-tests all_reduce_perf -b 8 -e 64 -f 8 -g 4' 2>/dev/null)
[ "$(grep -c '^| all_reduce_perf | busbw of 4 GPUs | ' <<<"$said")" = 2 ] || fail "8 and 64 of 4 GPUs: $said"
said=$(expect --ranks 2 'nccl-tests all_reduce_perf -b 8 -e 8 -g 4' 2>/dev/null)
grep -q '^| all_reduce_perf | busbw of 2 GPUs | 8 | ' <<<"$said" || fail "--ranks is not taken: $said"
stored=$(awk -F' *[|] *' '$2 == "messages of GPUs between nodes" { print $6 }' validate/MACHINES.md)
said=$(expect --from 0/1 --to 1/0 osu_bw)
row=$(grep '^| osu_bw | 0/1 to 1/0 | 1M | [0-9.]* MB/s | ' <<<"$said") || fail "no row of 1M: $said"
grep -qF "| $stored |" <<<"$row" || fail "the error of messages between nodes is $stored, and not that of: $row"

# The table of no machine is wider than a terminal of 120 characters.
for file in platforms/*.yaml; do
  said=$(validate/expect --platform "$(basename "$file" .yaml)" --bin "$bin" nvbandwidth 2>&1)
  [[ $? =~ ^(0|77)$ ]] || fail "$file: $said"
  wide=$(grep '^|' <<<"$said" | awk 'length($0) > 120')
  [ -z "$wide" ] || fail "$file: $wide"
done

expect --format yaml nvbandwidth >"$folder/floors.yaml" || fail "the YAML ends with $?"
grep -q 'test: nvbandwidth, what: "host_to_device_memcpy_ce", bytes: 536870912, expected: [0-9.]*, .*at_least: ' "$folder/floors.yaml" || fail "$(cat "$folder/floors.yaml")"

# The assertions pass what is as expected, and no slower one.
expect --format shell nvbandwidth osu_bw >"$folder/floors.sh" || fail "the assertions end with $?"
run() { bash -c "measured() { awk -v t=\"\$1\" -v b=\"\$2\" -v w=\"\$3\" -v s='$1' -F'# expected ' 'index(\$0, \"floor \" t \" \" b \" \") == 1 && index(\$0, w) { print \$2 * s; exit }' '$folder/floors.sh'; }; source '$folder/floors.sh'"; }
run 1 || fail "what is as expected is refused"
run 0.3 2>"$folder/said" && fail "a third passes"
grep -q 'acceptable is at least' "$folder/said" || fail "$(cat "$folder/said")"
run 0 2>/dev/null && fail "nothing passes"

for wrong in "" "--format xml nvbandwidth" "bandwidthTest" "osu_latency -x"; do
  # shellcheck disable=SC2086 # words
  expect $wrong >/dev/null 2>&1
  [ $? = 2 ] || fail "'$wrong' is not refused"
done
echo "all floors follow from the simulation and the stored errors"
