"""Random MPI programs, run under MPICH and under BCS-MPI: what the standard determines has to be the same."""
