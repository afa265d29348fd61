#!/usr/bin/env bash
# The scripts that write pages and tables, with stand-ins for the programs: scripts_test.sh SOURCE FOLDER
set -uo pipefail
scripts=$1/validate/scripts fleet=$1/validate/fleet folder=$2
rm -rf "$folder" && mkdir -p "$folder/bin" && cd "$folder" || exit 1
fail() { echo "$1" >&2 && exit 1; }
# same WHAT: what is read is the file `wanted`.
same() { diff wanted - >difference || fail "$1 differs: $(cat difference)"; }
program() { { echo '#!/usr/bin/env bash' && cat; } >"bin/$1" && chmod +x "bin/$1"; }

# nccl: of each series how far apart NCCL, the kernels and their simulations are. LL is simulated to take 25 us, an
# all-to-all of NCCL's kernels 10, others 12.5.
program twinlink-sim <<'EOT'
echo "${*:1:$#-1} FILE" >>simulated
us=12.5
[[ "$*" != *proto=ll\ * ]] || us=25
[[ "$*" != *all-to-all*kernels=nccl* ]] || us=10
echo bytes,a,b,us >"${!#}"
for bytes in 16 128 1024 1048576 1073741824; do echo "$bytes,0,0,$us" >>"${!#}"; done
EOT
cat >table.csv <<'EOT'
collective,format,launch,bytes,nccl_us,ours_us
all-reduce,ll,graph,128,10,20
all-reduce,ll,graph,16,10,20
all-gather,simple,host,16,12.5,25
all-gather,simple,host,128,25,12.5
all-gather,simple,host,1024,10,10
all-gather,simple,host,77,1,1
all-to-all,auto,host,16,8,10
all-to-all,auto,host,1024,8,10
all-to-all,auto,host,1048576,8,10
all-to-all,auto,host,1073741824,8,10
all-reduce,auto,graph,128,12.5,12.5
EOT
cat >wanted <<'EOT'
# table.csv: NCCL, our kernels, and both simulated on machine.yaml

Written by validate/scripts/nccl. Ratios and errors are geometric means over sizes; an error is how much longer
the longer one of two times is.

| collective | format | launch | ours / NCCL | simulated, ours | p95 | simulated, NCCL | p95 |
|---|---|---|---:|---:|---:|---:|---:|
| all-reduce | ll | graph | 2.00 | 25 % | 25 % | 150 % | 150 % |
| all-gather | simple | host | 1.00 | 36 % | 25 % | 36 % | 25 % |
| all-to-all | auto | host | 1.25 | 25 % | 25 % | 25 % | 25 % |
| all-reduce | auto | graph | 1.00 | 0 % | 0 % | 0 % | 0 % |
| all | by format | | | 31 % | 25 % | 73 % | 150 % |
| all | by the rule | | | 20 % | 25 % | 20 % | 25 % |

By the rule, microseconds:

| collective | launch | bytes | NCCL | simulated | ours | simulated |
|---|---|---:|---:|---:|---:|---:|
| all-to-all | host | 16 | 8.0 | 10.0 | 10.0 | 12.5 |
| all-to-all | host | 1K | 8.0 | 10.0 | 10.0 | 12.5 |
| all-to-all | host | 1M | 8.0 | 10.0 | 10.0 | 12.5 |
| all-to-all | host | 1G | 8.0 | 10.0 | 10.0 | 12.5 |
| all-reduce | graph | 128 | 12.5 | 12.5 | 12.5 | 12.5 |
EOT
"$scripts/nccl" bin table.csv machine.yaml 4 >page || fail "nccl ends with $?"
same "the page of nccl" <page
cat >wanted <<'EOT'
workload all-reduce --platform machine.yaml --ranks 4 -p nccl -o kernels=nccl -o proto=ll -o algo=ring --graph 20 -f 8 -b 16 -e 128 --csv FILE
workload all-reduce --platform machine.yaml --ranks 4 -p nccl -o kernels=twinlink -o proto=ll -o algo=ring --graph 20 -f 8 -b 16 -e 128 --csv FILE
workload all-gather --platform machine.yaml --ranks 4 -p nccl -o kernels=nccl -o proto=simple -f 8 -b 16 -e 1024 --csv FILE
workload all-gather --platform machine.yaml --ranks 4 -p nccl -o kernels=twinlink -o proto=simple -f 8 -b 16 -e 1024 --csv FILE
workload all-to-all --platform machine.yaml --ranks 4 -p nccl -o kernels=nccl -f 64 -b 16 -e 1073741824 --csv FILE
workload all-to-all --platform machine.yaml --ranks 4 -p nccl -o kernels=twinlink -f 64 -b 16 -e 1073741824 --csv FILE
workload all-reduce --platform machine.yaml --ranks 4 -p nccl -o kernels=nccl --graph 20 -f 8 -b 128 -e 128 --csv FILE
workload all-reduce --platform machine.yaml --ranks 4 -p nccl -o kernels=twinlink --graph 20 -f 8 -b 128 -e 128 --csv FILE
EOT
same "what nccl simulates" <simulated

# measure-nccl: a line for each size that both have; a run that fails is in the exit code, and the others are kept.
program mpirun <<'EOT'
echo "${*:1:$#-1} FILE" >>measured
us=3
[[ "$*" != *--library* ]] || us=1.234
[[ "$*" != *"all-gather -p nccl -o proto=ll128"*--graph* ]] || exit 1
printf 'bytes,a,b,us\n16,0,0,%s\n' $us >"${!#}"
[[ "$*" == *--library* ]] || echo 1024,0,0,9 >>"${!#}"
EOT
MPIRUN="bin/mpirun --some-option" "$scripts/measure-nccl" real measured.csv 2 2>said
[ $? = 1 ] || fail "measure-nccl ends with another code where a run fails: $(cat said)"
grep -q 'failed: workload all-gather -p nccl -o proto=ll128' said || fail "measure-nccl says $(cat said)"
{
  echo collective,format,launch,bytes,nccl_us,ours_us
  for collective in all-reduce all-gather reduce-scatter broadcast; do
    for format in ll ll128 simple auto; do
      for launch in graph host; do
        [ "$collective $format $launch" = "all-gather ll128 graph" ] || echo "$collective,$format,$launch,16,1.23,3.00"
      done
    done
  done
  echo all-to-all,auto,graph,16,1.23,3.00
  echo all-to-all,auto,host,16,1.23,3.00
} >wanted
same "the table of measure-nccl" <measured.csv
options='--device cuda -f 8 -i 20 -x 5 --csv FILE'
for run in \
  "-n 2 -x NCCL_PROTO=LL -x NCCL_ALGO=Ring real/twinlink-real workload all-reduce --library -b 16 -e 64M --graph 20" \
  "-n 2 real/twinlink-real workload all-reduce -p nccl -o proto=ll -o algo=ring -b 16 -e 64M --graph 20" \
  "-n 2 real/twinlink-real workload broadcast -p nccl -o proto=simple -b 16 -e 1G" \
  "-n 2 real/twinlink-real workload all-to-all --library -b 16 -e 1G" \
  "-n 2 real/twinlink-real workload all-reduce -p nccl -b 16 -e 1G --graph 20"; do
  grep -qxF -- "--some-option $run $options" measured || fail "measure-nccl does not run '$run': $(cat measured)"
done
MPIRUN=bin/mpirun "$scripts/measure-nccl" real measured.csv 2 2>said
[ $? = 2 ] || fail "a table that is there is overwritten"

# measure-layouts: the probes, then each method of packing of each block and protocol; the first that fails ends it.
rm measured
PATH=$folder/bin:$PATH "$scripts/measure-layouts" real out mine --device cuda || fail "measure-layouts ends with $?"
[ "$(wc -l <measured)" = 39 ] || fail "measure-layouts runs $(cat measured)"
for run in "probe --device cuda -f 4 --json" \
  "run --device cuda --protocol gpudirect-v2 --layout vector:64,128 --pack 2d -b 4K -e 64K -f 4 --json" \
  "run --device cuda --protocol host --layout vector:4096,8192 --pack kernel -b 256K -e 4M -f 4 -x 1 -i 5 --no-verify --json"; do
  grep -qxF -- "--oversubscribe --bind-to none -n 2 real/twinlink-real $run FILE" measured || fail "it does not run '$run'"
done
[ "$(cd out && echo *-host-*)" = "$(printf 'mine-host-%s ' indexed-kernel.json vector{4096,64,8}-{2d,copies,kernel}{-large,}.json | sed 's/ $//')" ] ||
  fail "measure-layouts writes $(ls out)"

# machines: each figure by the right command and column, how far off each kind is, and each half of the sources, where
# the two figures of one source are one. Without the speeds of the parts
# copies are simulated to be slower.
program twinlink-sim <<'EOT'
case "$1 $*" in
probe*)
  rate=9000
  grep -q speed "$TWINLINK_PLATFORMS/parts/cpu.yaml" || rate=5000
  printf 'gpu,name,x,x,bytes,us,rate\n0/0,other,,,64,1,1\n0/0,copy here,,,8,1,1\n0/0,copy here,,,64,1,%s\n' $rate
  ;;
workload*)
  for file; do :; done
  printf 'bytes,a,b,us,c,d,e,f,bus\n8,0,0,1,0,0,0,0,1\n64,0,0,20,0,0,0,0,700\n' >"$file"
  ;;
*lost*) exit 1 ;;
*) printf '# a heading\nbandwidth_MBps,bytes,time_us\n1,8,1\n800,64,12.5\n' ;;
esac
EOT
mkdir -p platforms/parts
printf '# no\ndescription: "Machine A: one"\n' >platforms/a.yaml
printf 'description: Machine B\n' >platforms/b.yaml
printf 'cpu:\n  speed: {value: 3}\n  other: 1\n' >platforms/parts/cpu.yaml
cat >published.csv <<'EOT'
machine,what,command,bytes,value,unit,source
A,copy here,probe --platform a,64,10000,MB/s,a book
A,a collective,workload all-reduce --platform a,64,16,us,a page
A,another,workload all-reduce --platform a,64,1000,MB/s,a page
B,latency,run --platform b --protocol host,64,10,us,a lecture
B,rate,run --platform b --protocol host,64,1000,MB/s,a lecture
EOT
"$scripts/machines" bin published.csv platforms >page || fail "machines ends with $?"
cat >wanted <<'EOT'
| A | copy here | 64 | 10000 MB/s | 9000 MB/s | -10.0 % | a book |
| A | a collective | 64 | 16 us | 20.00 us | +25.0 % | a page |
| A | another | 64 | 1000 MB/s | 700 MB/s | -30.0 % | a page |
| B | latency | 64 | 10 us | 12.50 us | +25.0 % | a lecture |
| B | rate | 64 | 1000 MB/s | 800 MB/s | -20.0 % | a lecture |
| collectives by NCCL | 2 | 33.6 % | 25.0 % | 30.0 % | 0 % | 50 % |
| copies to and from host memory | 1 | 11.1 % | 10.0 % | 10.0 % | 100 % | 100 % |
| host messages | 2 | 25.0 % | 20.0 % | 25.0 % | 0 % | 100 % |
| all | 5 | 25.4 % | 25.0 % | 30.0 % | 20 % | 80 % |
| collectives by NCCL | 0 |  | 1 | 33.6 % |
| copies to and from host memory | 0 |  | 1 | 11.1 % |
| host messages | 1 | 25.0 % | 0 |  |
| all | 1 | 25.0 % | 2 | 21.9 % |
| a | Machine A: one |
| b | Machine B |
EOT
grep -E '^\| [a-zA-Z]' page | grep -v -e '^| machine ' -e '^| kind ' -e '^| name ' >rows
same "the page of machines" <rows
echo 'B,nothing,lost --platform b,64,1,us,a lecture' >>published.csv
"$scripts/machines" bin published.csv platforms >again 2>said
[ $? = 1 ] || fail "machines passes although a figure is not simulated"
[ "$(cat said)" = 'machines: not simulated: B: nothing' ] || fail "machines says $(cat said)"
diff page again >/dev/null || fail "a figure that is not simulated changes the others"
sed -i '$d' published.csv
# Without what the parts do not have there is no line.
"$scripts/mechanisms" bin published.csv platforms >page 2>said
[ $? = 1 ] || fail "mechanisms passes although the parts lack something"
[ "$(cat said)" = "mechanisms: the parts have nothing of 'the CPU's own copies of device memory'" ] || fail "mechanisms says $(cat said)"
cat >wanted <<'EOT'
| without | lines of the parts | geometric mean error | half | nine tenths |
| --- | ---: | ---: | ---: | ---: |
| nothing | 0 | 25.4 % | 25.0 % | 30.0 % |
| speeds of processors | 1 | 41.0 % | 25.0 % | 50.0 % |
EOT
same "the page of mechanisms" <page

# fleet: its own options, and all others for the program.
program twinlink-validate <<<'echo "$*"; exit 3'
for bin in "--bin bin" "--bin=bin"; do
  # shellcheck disable=SC2086 # words
  [ "$("$fleet" results $bin --base x)" = "fleet results --base x" ] || fail "fleet does not hand its options on"
  # shellcheck disable=SC2086 # words
  "$fleet" results $bin >said
  [ $? = 3 ] || fail "the exit code is not the program's"
done
"$fleet" --help | grep -q 'validate/fleet FOLDER' || fail "fleet has no help"
for wrong in "" "results --bin" "results --bin nowhere"; do
  # shellcheck disable=SC2086 # words
  "$fleet" $wrong >/dev/null 2>said
  [ $? = 2 ] || fail "fleet takes '$wrong'"
done
echo "all pages and tables are as they should be"
