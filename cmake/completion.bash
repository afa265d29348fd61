# Completes commands, options and files of twinlink-sim, twinlink-real and twinlink-validate: what their --help lists.
_twinlink() {
  local current=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} command=${COMP_WORDS[1]} words
  if ((COMP_CWORD == 1)); then
    words=$("$program" --help 2>/dev/null | sed -n '/^Commands/,/^Options/s/^  \([a-z][a-z-]*\)  .*/\1/p')
    words+=' --help --version'
  else
    words=$("$program" "$command" --help 2>/dev/null | grep -oE -- '^  +(-[a-zA-Z], ?)?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+')
    case ${COMP_WORDS[COMP_CWORD - 1]} in
      -p | --protocol | --between-nodes) words=$({ "$program" list protocols || "$program" list; } 2>/dev/null | grep -oE '^[a-z0-9-]+') ;;
      --platform | --base) words=$(twinlink-sim list platforms 2>/dev/null | sed -n 's|^[^ ].*/\(.*\)\.yaml$|\1|p') ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"; compgen -f -- "$current")
}
complete -o filenames -F _twinlink twinlink-sim twinlink-real twinlink-validate
