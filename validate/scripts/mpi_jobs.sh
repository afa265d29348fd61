# Sourced by what starts jobs under mpirun. Open MPI refuses root, which prologs and containers are, unless it is told
# twice that this is meant.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
