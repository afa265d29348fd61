#compdef twinlink-sim twinlink-real twinlink-validate
# As bash completes them.
autoload -U +X bashcompinit && bashcompinit
source /usr/share/bash-completion/completions/twinlink-sim
_bash_complete -o filenames -F _twinlink
