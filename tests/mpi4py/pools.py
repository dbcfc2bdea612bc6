"""mpiexec -n N python -m mpi4py.futures pools.py: rank 0 runs this, the others are workers; with one rank it is its own worker."""

from mpi4py import MPI
from mpi4py.futures import MPICommExecutor, MPIPoolExecutor


def square(number):
    return number * number


def fails(number):
    raise ValueError(number)


def main():
    with MPIPoolExecutor() as pool:
        workers = pool.num_workers
        assert workers == max(MPI.COMM_WORLD.size - 1, 1), workers
        assert list(pool.map(square, range(200), chunksize=7)) == [number * number for number in range(200)]
        tasks = [pool.submit(pow, 2, exponent) for exponent in range(50)]
        assert [task.result() for task in tasks] == [2**exponent for exponent in range(50)]
        assert isinstance(pool.submit(fails, 3).exception(), ValueError)
        large = pool.submit(bytes, 3_000_000).result()
        assert large == bytes(3_000_000)
    with MPICommExecutor(MPI.COMM_SELF, root=0) as pool:
        assert sorted(pool.map(square, range(20), unordered=True)) == [number * number for number in range(20)]
    print(f"pools of {workers} workers did all tasks")


if __name__ == "__main__":
    main()
