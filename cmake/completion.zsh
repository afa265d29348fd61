#compdef twinlink-sim twinlink-real twinlink-validate
# As bash completes them.
autoload -U +X bashcompinit && bashcompinit
source @CMAKE_INSTALL_FULL_DATADIR@/bash-completion/completions/twinlink-sim
_bash_complete -o filenames -F _twinlink
