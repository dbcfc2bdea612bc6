! A 2-D grid of ranks over nx * ny cells, as in ../common/grid.c: blocks differ by at most one cell a direction. Fields
! are gathered on rank 0, and have checksums.
module grids
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none

  type :: grid
    integer :: rank, ranks, columns, rows, column, row
    integer :: nx, ny          ! cells of the whole
    integer :: x0, x1, y0, y1  ! this rank's: x0 <= x < x1, y0 <= y < y1
  end type

contains

  ! The cells before part `part` of `parts`.
  integer function block_start(cells, parts, part)
    integer, intent(in) :: cells, parts, part
    block_start = int(int(cells, int64) * part / parts)
  end function

  subroutine place(g, rank, x0, x1, y0, y1)
    type(grid), intent(in) :: g
    integer, intent(in) :: rank
    integer, intent(out) :: x0, x1, y0, y1
    x0 = block_start(g%nx, g%columns, mod(rank, g%columns))
    x1 = block_start(g%nx, g%columns, mod(rank, g%columns) + 1)
    y0 = block_start(g%ny, g%rows, rank / g%columns)
    y1 = block_start(g%ny, g%rows, rank / g%columns + 1)
  end subroutine

  ! The grid with the least halo whose blocks have `least` cells a side; none where there is no such grid.
  logical function grid_create(g, nx, ny, least)
    type(grid), intent(out) :: g
    integer, intent(in) :: nx, ny, least
    integer :: columns, rows, halo, best
    call MPI_Comm_rank(MPI_COMM_WORLD, g%rank)
    call MPI_Comm_size(MPI_COMM_WORLD, g%ranks)
    g%nx = nx
    g%ny = ny
    best = -1
    do columns = 1, g%ranks
      rows = g%ranks / columns
      if (columns * rows /= g%ranks .or. nx / columns < least .or. ny / rows < least) cycle
      halo = 0
      if (columns > 1) halo = (ny + rows - 1) / rows
      if (rows > 1) halo = halo + (nx + columns - 1) / columns
      if (best < 0 .or. halo < best) then
        best = halo
        g%columns = columns
        g%rows = rows
      end if
    end do
    grid_create = best >= 0
    if (.not. grid_create) return
    g%column = mod(g%rank, g%columns)
    g%row = g%rank / g%columns
    call place(g, g%rank, g%x0, g%x1, g%y0, g%y1)
  end function

  ! The rank at a column and a row, or MPI_PROC_NULL outside the grid.
  integer function grid_rank(g, column, row)
    type(grid), intent(in) :: g
    integer, intent(in) :: column, row
    grid_rank = MPI_PROC_NULL
    if (column >= 0 .and. column < g%columns .and. row >= 0 .and. row < g%rows) grid_rank = row * g%columns + column
  end function

  ! The whole field on rank 0, of blocks that are (x, y, depth).
  subroutine grid_gather(g, block, depth, whole)
    type(grid), intent(in) :: g
    integer, intent(in) :: depth
    real(real64), intent(in) :: block(g%x0:g%x1 - 1, g%y0:g%y1 - 1, depth)
    real(real64), allocatable, intent(out) :: whole(:, :, :)
    type(MPI_Request) :: requests(0:g%ranks)
    integer :: rank, x0, x1, y0, y1
    requests = MPI_REQUEST_NULL
    allocate (whole(0:merge(g%nx, 0, g%rank == 0) - 1, 0:merge(g%ny, 0, g%rank == 0) - 1, depth))
    ! Each block comes where it belongs: an array section is a buffer.
    if (g%rank == 0) then
      do rank = 0, g%ranks - 1
        call place(g, rank, x0, x1, y0, y1)
        call MPI_Irecv(whole(x0:x1 - 1, y0:y1 - 1, :), (x1 - x0) * (y1 - y0) * depth, MPI_REAL8, rank, 9, &
          MPI_COMM_WORLD, requests(rank))
      end do
    end if
    call MPI_Isend(block, size(block), MPI_REAL8, 0, 9, MPI_COMM_WORLD, requests(g%ranks))
    call MPI_Waitall(g%ranks + 1, requests, MPI_STATUSES_IGNORE)
    if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_F_sync_reg(whole)
  end subroutine

  ! FNV-1a over the bits of the values, least significant byte first, as hexadecimal digits.
  function checksum(values) result(text)
    real(real64), intent(in) :: values(:, :, :)
    character(len=16) :: text
    integer(int64) :: hash, bits
    integer :: x, y, z, b
    hash = ibset(int(z'4BF29CE484222325', int64), 63)
    do z = 1, size(values, 3)
      do y = 1, size(values, 2)
        do x = 1, size(values, 1)
          bits = transfer(values(x, y, z), bits)
          do b = 0, 56, 8
            hash = ieor(hash, ibits(bits, b, 8))
            ! The prime is 2**40 + 2**8 + 179: 64 bits of the product, without an overflow.
            hash = times(hash)
          end do
        end do
      end do
    end do
    write (text, '(z16.16)') hash
    do b = 1, 16
      if (text(b:b) >= 'A') text(b:b) = achar(iachar(text(b:b)) + 32)
    end do
  end function

  ! hash * 0x100000001B3, in 64 bits: by halves, which no addition overflows.
  pure integer(int64) function times(hash)
    integer(int64), intent(in) :: hash
    integer(int64), parameter :: low = int(z'1B3', int64)
    integer(int64) :: first, second
    first = ibits(hash, 0, 32) * low
    second = ibits(hash, 32, 32) * low + ibits(first, 32, 32) + ishft(ibits(hash, 0, 24), 8)
    times = ior(ibits(first, 0, 32), ishft(ibits(second, 0, 32), 32))
  end function
end module
