# Sourced by what starts jobs under mpirun, and by users before they do. Open MPI refuses root, which prologs and
# containers are, unless it is told twice that this is meant, and more ranks than cores unless it may oversubscribe
# them: the fourth release reads the one variable, the fifth the other.
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
