# Sourced by the scripts beside it, before they look at their arguments, of which each wants three at least: --help
# prints the comment at a script's top, and so does a call with too few arguments, which is wrong.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
case ${1-} in
  -h | --help) usage && exit ;;
esac
if (($# < 3)); then
  printf '%s: too few arguments\n\n' "$0" >&2
  usage >&2
  exit 2
fi
