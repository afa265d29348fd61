#!/usr/bin/env bash
# validate/node --base works for every shipped platform: simulations stand in for the node, two ranks of one node of it.
# Healthy ones pass, and each refusal comes before anything is probed.
#   node_platforms_test.sh SOURCE BIN FOLDER [PLATFORM...]      without a PLATFORM all of them
set -uo pipefail
source=$1 real_bin=$2 folder=$3
shift 3
rm -rf "$folder" && mkdir -p "$folder/bin" && cd "$folder" || exit 1
ln -s "$real_bin/twinlink-sim" "$real_bin/twinlink-validate" bin/
cat >bin/mpirun <<'END'
#!/bin/bash
while [[ $1 != *twinlink-real ]]; do shift; done
exec "$@"
END
# Sizes and rounds are few, to be quick. $MACHINE is the node.
cat >bin/twinlink-real <<'END'
#!/bin/bash
command=$1 options=()
shift
while (($# > 0)); do
  case $1 in
    --device | --passes | --expect) shift ;;
    -f) shift ;;
    --json) file=$2 && shift ;;
    *) options+=("$1") ;;
  esac
  shift
done
echo "$command" >>"$LOG"
to=0/1
[ "$MACHINE" != piz-daint ] || to=0/0  # its nodes have one GPU, which both ranks share
case $command in
  run) options+=(--from 0/0 --to "$to" -f 64) ;;
  probe) options+=(-e 16M -f 16 --no-verify) ;;
esac
"${0%/*}/twinlink-sim" "$command" --platform "$MACHINE" $SICK "${options[@]}" --json "$file" || exit
sed -i 's/"world": "simulated"/"world": "measured"/' "$file"
END
chmod +x bin/mpirun bin/twinlink-real
export PATH=$folder/bin:$PATH LOG=$folder/log.txt MACHINE SICK=
# Curves of every protocol; of the list those that a platform has are taken.
printf '%s\n' 'host -b 1 -e 64K -p host' 'gpudirect-v1 -b 1 -e 64K -p gpudirect-v1' 'gpudirect-v2 -b 1 -e 64K -p gpudirect-v2' \
  'push -b 1 -e 64K -p gpudirect-v2 -o engine=kernel-push' 'put -b 1 -e 64K -p symmetric-put -o order=user' >curves
failed=0
# node CODE NAME ARGUMENT...
node() {
  local code=$1 ended
  shift
  : >"$LOG"
  said=$(CURVES=curves "$source/validate/node" "$@" --bin bin 2>&1 </dev/null)
  ended=$?
  [ $ended = "$code" ] && return
  printf '%s\n  node %s ended with %s instead of %s\n' "$said" "$*" $ended "$code"
  failed=1
  return 1
}
expect() {
  grep -qE -- "$1" <<<"$said" && return
  printf '%s\n  lacks: %s\n' "$said" "$1"
  failed=1
}

(($# > 0)) || set -- $(cd "$source/platforms" && ls -- *.yaml)
for MACHINE in "$@"; do
  MACHINE=${MACHINE%.yaml}
  node 0 "$MACHINE" --device cuda --base "$MACHINE" || continue
  expect 'Verdict: as fast as the platform says'
  expect 'Verdict: none of [2-5] curves is slower'
  to=0/1
  [ "$MACHINE" != piz-daint ] || to=0/0
  for file in "results/$MACHINE"/expected/*.json "results/$MACHINE"/measured/*-host.json; do
    places=$("$real_bin/twinlink-validate" settings "$file" --simulated-on "results/$MACHINE/$MACHINE.yaml" 2>/dev/null ||
      "$real_bin/twinlink-validate" settings "$file")
    [[ $places == *"--from"*"0/0"*"--to"*"$to"* ]] && continue
    printf '%s is of other places than 0/0 and %s:\n%s\n' "$file" "$to" "$places"
    failed=1
  done
done

# A node with a slow part, one that is no pair of the base's, and a base that is none.
export MACHINE=keeneland-kids SICK='--degrade hca0-pcie=25%'
node 1 sick --device cuda --base keeneland-kids && expect "Verdict: link 'hca0-pcie' at 25 % of its bandwidth explains it"
SICK=
for base in piz-daint nope; do
  node 2 "other-$base" --device cuda --base "$base" && expect "--base ($base has no such pair as this node, 0/0 and 0/1|$base): "
  ! grep -q probe "$LOG" || { echo "probes before it refuses $base" && failed=1; }
done
exit $failed
