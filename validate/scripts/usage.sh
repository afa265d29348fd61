# Sourced by the scripts beside it, before they look at their arguments: --help prints the comment at a script's top,
# and so does a call without arguments, which is wrong.
case ${1-} in
  -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit ;;
  '') sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
