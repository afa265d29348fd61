# Sourced by validate/node --quick, whose variables it has: probes all GPUs of the node in less than a minute, holds
# them against the base, says what was not looked at, and exits.
[ -n "$base" ] || wrong "--quick wants --base PLATFORM: what the node should be"
if [ -z "$ranks" ]; then
  if [ -z "$pace" ]; then
    ranks=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
    [ "$ranks" -gt 0 ] || { echo "$0: nvidia-smi lists no GPU; --ranks says how many there are" >&2 && exit 77; }
  else
    ranks=2
  fi
fi
limit=${TWINLINK_QUICK:-60}
[[ $limit =~ ^[1-9][0-9]{0,4}$ ]] || wrong "TWINLINK_QUICK is a number of seconds: '$limit'"
rm -rf "$out/measured" && mkdir -p "$out/measured" || exit 3
printf -- "--quick --base '%s' %s\n" "$base" "${device[*]}" >"$out/begun.txt"
probes=$out/measured/$name-probes.json
SECONDS=0
job=(mpirun --oversubscribe --bind-to none -n "$ranks" "$bin/twinlink-real")
echo "[1/2] probe $ranks GPUs, at most $limit s: $probes"
timeout -k 5 "$limit" "${job[@]}" probe -b 4K -e 64M -f 128 -x 1 -i 3 --timeout 10s "${device[@]}" --json "$probes.part" \
  >"$out/log.txt" 2>&1 </dev/null
code=$?
if [ $code -ne 0 ]; then
  [ $code -ne 124 ] || echo "twinlink-real: the probes took longer than $limit s, which an idle node does not need:" \
    "the load is $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) cores; TWINLINK_QUICK gives it more" >>"$out/log.txt"
  reason=$(grep -E '^twinlink-[a-z]+: ' "$out/log.txt" | uniq | tail -n 3)
  printf '%s\n' "${reason:-$(grep -v '^[-[:space:]]*$' "$out/log.txt" | head -n 3)}" >&2
  echo "      failed; all that was said is in $out/log.txt" >&2
  case $code in
    2 | 77) exit $code ;;
    *) exit 3 ;; # nothing was measured, so that nobody knows
  esac
fi
mv "$probes.part" "$probes" || exit 3
force=()
[ -z "$pace" ] || force=(--force) # emulated devices have a name of their own
echo "[2/2] hold them against $base: $out/suspect.txt"
"$bin/twinlink-validate" suspect "$probes" --base "$base" --tolerance "$tolerance" "${force[@]}" >"$out/suspect.txt" 2>"$out/log.txt"
code=$?
[ $code -le 1 ] || { cat "$out/log.txt" >&2 && exit $code; }
printf 'Not looked at: sizes other than 4K, 512K and 64M; whether times repeat themselves; protocols; other nodes'
sed -n '/^Not looked at/,/^Verdict/s/^\* /; /p' "$out/suspect.txt" | tr -d '\n'
echo
grep '^Verdict' "$out/suspect.txt"
echo "$SECONDS s"
exit $code
