"""mpi4py's own test suite on an installed BCS-MPI."""
