! Array sections as buffers (MPI-5.0, 19.1.12): of one to seven dimensions, with strides of either sign, in every kind of
! call, blocking and not. What arrives is what the same elements one after the other would bring.
program sections
  use mpi_f08
  use checks
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, i, j, k, n, next, before
  integer, target :: a(10), m(6, 7), whole(4, 5, 6), got(200), seven(3, 2, 3, 2, 3, 2, 3)
  integer, asynchronous :: b(12, 12), c(12, 12), late(8)
  integer :: empty(0), flat(200), position, counts(64), places(64)
  real(8) :: x(4, 6), y(12), z(12)
  complex(8) :: w(8)
  type(MPI_Request) :: request, requests(2)
  type(MPI_Status) :: status
  type(MPI_Datatype) :: pair
  type(MPI_Win) :: win
  integer(MPI_ADDRESS_KIND) :: zero = 0
  integer(MPI_COUNT_KIND) :: large
  character(len=64) :: packed
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  call check(MPI_SUBARRAYS_SUPPORTED, 'array sections are supported')
  call check(MPI_ASYNC_PROTECTS_NONBLOCKING, 'ASYNCHRONOUS protects')
  a = [(i, i=1, 10)]
  m = reshape([(i, i=1, 42)], [6, 7])
  whole = reshape([(i, i=1, 120)], [4, 5, 6])
  seven = reshape([(i, i=1, size(seven))], shape(seven))

  ! One dimension: strides of both signs, whole and in part.
  call swap(a(1:10:2), 5)
  call check(all(got(:5) == [1, 3, 5, 7, 9]), 'a stride of two')
  call swap(a(10:1:-3), 4)
  call check(all(got(:4) == [10, 7, 4, 1]), 'a stride of minus three')
  call swap(a(2:10:4), 2)
  call check(all(got(:2) == [2, 6]), 'part of a section')
  call swap(a(3), 4)
  call check(all(got(:4) == a(3:6)), 'an element stands for the array from there on')
  call swap(a(5:4), 0)
  call swap(empty, 0)
  ! Several dimensions.
  call swap(m(2:5, 3:6), 16)
  call check(all(got(:16) == reshape(m(2:5, 3:6), [16])), 'a block of a matrix')
  call swap(m(2:5, 3:6), 7)
  call check(all(got(:7) == pack_first(reshape(m(2:5, 3:6), [16]), 7)), 'the first elements of a block')
  call swap(m(6:1:-2, 7:1:-3), 9)
  call check(all(got(:9) == reshape(m(6:1:-2, 7:1:-3), [9])), 'both strides are negative')
  call swap(m(4, :), 7)
  call check(all(got(:7) == m(4, :)), 'a row')
  call swap(whole(2:3, 1:5:2, 6:2:-2), 18)
  call check(all(got(:18) == reshape(whole(2:3, 1:5:2, 6:2:-2), [18])), 'three dimensions')
  do n = 1, 18
    call swap(whole(2:3, 1:5:2, 6:2:-2), n)
    call check(all(got(:n) == pack_first(reshape(whole(2:3, 1:5:2, 6:2:-2), [18]), n)), 'each number of elements')
  end do
  call swap(seven(1:3:2, :, 3:1:-2, :, 1:3:2, :, 2:3), 128)
  call check(all(got(:128) == reshape(seven(1:3:2, :, 3:1:-2, :, 1:3:2, :, 2:3), [128])), 'seven dimensions')
  call size_is_unknown(a, 10)

  ! Into sections; other elements stay.
  b = -1
  call MPI_Isend(a, 10, MPI_INTEGER, next, 1, MPI_COMM_WORLD, request)
  call MPI_Recv(b(2:12:5, 1:10:3), 10, MPI_INTEGER, before, 1, MPI_COMM_WORLD, status)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call check(all(reshape(b(2:12:5, 1:10:3), [12]) == [a, -1, -1]), 'a section is filled in its order')
  call check(count(b == -1) == 134, 'nothing else is touched')
  call MPI_Get_count(status, MPI_INTEGER, n)
  call MPI_Get_elements(status, MPI_INTEGER, large)
  call check(large == 10, 'a status counts the elements of a section')

  ! Without blocking: the section is in use until the request is complete.
  b = reshape([(i, i=1, 144)], [12, 12])
  c = 0
  call MPI_Irecv(c(1:12:2, 12:1:-3), 24, MPI_INTEGER, before, 2, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(b(12:1:-2, 1:12:3), 24, MPI_INTEGER, next, 2, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call check(all(c(1:12:2, 12:1:-3) == b(12:1:-2, 1:12:3)), 'sections without blocking')
  ! Persistent.
  c = 0
  call MPI_Recv_init(c(1, 1:12:2), 6, MPI_INTEGER, before, 3, MPI_COMM_WORLD, requests(1))
  call MPI_Send_init(b(2, 12:1:-2), 6, MPI_INTEGER, next, 3, MPI_COMM_WORLD, requests(2))
  do i = 1, 3
    b(2, :) = [(100 * i + j, j=1, 12)]
    call MPI_Startall(2, requests)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check(all(c(1, 1:12:2) == b(2, 12:1:-2)), 'persistent sections')
  end do
  call MPI_Request_free(requests(1))
  call MPI_Request_free(requests(2))

  ! Elements that are several of the datatype's: complex numbers as two, numbers as bytes.
  x = reshape([(real(i, 8), i=1, 24)], [4, 6])
  y = 0
  call MPI_Sendrecv(x(2:3, 1:6:2), 48, MPI_BYTE, next, 4, y, 6, MPI_REAL8, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call check(all(y(:6) == reshape(x(2:3, 1:6:2), [6])), 'bytes of a section')
  w = [(cmplx(i, -i, 8), i=1, 8)]
  call MPI_Sendrecv(w(1:8:2), 5, MPI_REAL8, next, 5, y, 5, MPI_REAL8, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call check(all(y(:5) == [1, -1, 3, -3, 5]), 'parts of the elements of a section')
  ! A datatype of two elements: they are no neighbours in memory.
  call MPI_Type_contiguous(2, MPI_REAL8, pair)
  call MPI_Type_commit(pair)
  call MPI_Sendrecv(x(1, :), 3, pair, next, 6, y, 6, MPI_REAL8, before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call check(all(y(:6) == x(1, :)), 'elements of a datatype that are several of the section')
  x(3, :) = 0
  call MPI_Irecv(x(3, :), 3, pair, before, 7, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(y, 6, MPI_REAL8, next, 7, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call check(all(x(3, :) == y(:6)) .and. all(x(4, :) == [(4.0d0 * i, i=1, 6)]), 'the same without blocking')
  call MPI_Type_free(pair)

  ! Collectives: one block.
  c = 0
  if (rank == 0) c(3, ::2) = [(i, i=1, 6)]
  call MPI_Bcast(c(3, ::2), 6, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call check(all(c(3, :) == [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]), 'broadcast of a row')
  ! A block for each member, evenly spaced and not.
  block
    integer :: from(2, 2 * ranks), into(3, 2 * ranks), cube(4, 3, 2 * ranks)
    from(1, :) = [(10 * rank + i, i=1, 2 * ranks)]
    into = 0
    call MPI_Alltoall(from(1, :), 2, MPI_INTEGER, into(2, :), 2, MPI_INTEGER, MPI_COMM_WORLD)
    do i = 0, ranks - 1
      call check(all(into(2, 2 * i + 1:2 * i + 2) == [10 * i + 2 * rank + 1, 10 * i + 2 * rank + 2]), 'alltoall of rows')
    end do
    call check(all(into(1, :) == 0) .and. all(into(3, :) == 0), 'alltoall touches nothing else')
    cube = 0
    call MPI_Allgather(from(1, 1:2), 2, MPI_INTEGER, cube(3, 2, :), 2, MPI_INTEGER, MPI_COMM_WORLD)
    do i = 0, ranks - 1
      call check(all(cube(3, 2, 2 * i + 1:2 * i + 2) == [10 * i + 1, 10 * i + 2]), 'allgather into a row')
    end do
    cube = 0
    call MPI_Iallgather(from(1, 1:2), 2, MPI_INTEGER, cube(1:4:2, 1, ::2), 2, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do i = 0, ranks - 1
      call check(all(cube(1:4:2, 1, 2 * i + 1) == [10 * i + 1, 10 * i + 2]), 'allgather into a plane, uneven')
    end do
    counts(:ranks) = 1
    places(:ranks) = [(2 * i, i=ranks - 1, 0, -1)]
    into = -1
    call MPI_Gatherv(from(1, 1:1), 1, MPI_INTEGER, into(1, :), counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD)
    do i = 0, ranks - 1
      if (rank == 0) call check(into(1, 2 * (ranks - 1 - i) + 1) == 10 * i + 1, 'gatherv into a row')
    end do
    ! Reductions.
    late = 0
    cube(1, 1, 1:2) = [rank, 1]
    call MPI_Allreduce(cube(1, 1, 1:2), late(1:8:7), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(late == [ranks * (ranks - 1) / 2, 0, 0, 0, 0, 0, 0, ranks]), 'allreduce into a section')
    late = rank
    call MPI_Iallreduce(MPI_IN_PLACE, late(8:1:-2), 4, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(late(2:8:2) == ranks - 1) .and. all(late(1:8:2) == rank), 'allreduce without blocking')
    call MPI_Allreduce_init(late(1:8:2), late(2:8:2), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    do i = 1, 3
      late(1:8:2) = i
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call check(all(late(2:8:2) == i * ranks), 'a persistent reduction')
    end do
    call MPI_Request_free(request)
  end block

  ! Packing.
  position = 0
  call MPI_Pack(a(10:1:-3), 4, MPI_INTEGER, packed, len(packed), position, MPI_COMM_WORLD)
  call check(position == 16, 'packed bytes')
  position = 0
  got = 0
  call MPI_Unpack(packed, 16, position, got(1:20:5), 4, MPI_INTEGER, MPI_COMM_WORLD)
  call check(all(got(1:20:5) == [10, 7, 4, 1]) .and. count(got /= 0) == 4, 'unpacked into a section')
  block
    integer(MPI_ADDRESS_KIND) :: place
    place = 0
    call MPI_Pack_external('external32', a(1:10:9), 2, MPI_INTEGER, packed, int(len(packed), MPI_ADDRESS_KIND), place)
    call check(place == 8, 'packed bytes of a representation')
    place = 0
    call MPI_Unpack_external('external32 ', packed, 8_MPI_ADDRESS_KIND, place, got(2:3), 2, MPI_INTEGER)
    call check(all(got(2:3) == [1, 10]), 'unpacked from a representation')
  end block

  ! Windows.
  flat = 0
  call MPI_Win_create(flat, 800_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Win_fence(0, win)
  call MPI_Put(m(3, :), 7, MPI_INTEGER, next, zero, 7, MPI_INTEGER, win)
  call MPI_Win_fence(0, win)
  call check(all(flat(:7) == m(3, :)), 'a row is put')
  got = 0
  call MPI_Get(got(1:14:2), 7, MPI_INTEGER, next, zero, 7, MPI_INTEGER, win)
  call MPI_Win_fence(0, win)
  call check(all(got(1:14:2) == m(3, :)), 'a row is got')
  call MPI_Win_free(win)
  z = 0
  call MPI_Sizeof(z(1), n)
  call check(n == 8, 'MPI_Sizeof of 8 bytes')
  call MPI_Sizeof(w, n)
  call check(n == 16, 'MPI_Sizeof of 16 bytes')
  call MPI_Finalize()

contains

  ! Sends elements of an array to the next rank; those of the rank before come to `got`.
  subroutine swap(from, count)
    type(*), dimension(..), intent(in) :: from
    integer, intent(in) :: count
    got = 0
    call MPI_Sendrecv(from, count, MPI_INTEGER, next, 0, got, count, MPI_INTEGER, before, 0, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
  end subroutine

  subroutine size_is_unknown(from, count)
    integer, intent(in) :: from(*), count
    got = 0
    call MPI_Sendrecv(from, count, MPI_INTEGER, next, 0, got, count, MPI_INTEGER, before, 0, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call check(all(got(:count) == from(:count)), 'an array whose size is not known')
  end subroutine

  function pack_first(elements, count) result(first)
    integer, intent(in) :: elements(:), count
    integer :: first(count)
    first = elements(:count)
  end function
end program
