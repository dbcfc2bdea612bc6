! The module mpi: handles are integers, statuses arrays; what mpi_f08 has otherwise.
module old_procedures
  use mpi
  implicit none
  integer :: copies = 0
contains
  subroutine add(invec, inoutvec, length, datatype)
    integer :: length, datatype, invec(length), inoutvec(length)
    inoutvec = inoutvec + invec
  end subroutine
  subroutine handler(comm, code)
    integer :: comm, code
    copies = copies + 100
  end subroutine
  subroutine old_copy(comm, keyval, extra_state, value_in, value_out, flag, ierror)
    integer :: comm, keyval, extra_state, value_in, value_out, ierror
    logical :: flag
    copies = copies + 1
    value_out = value_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine old_delete(comm, keyval, value, extra_state, ierror)
    integer :: comm, keyval, value, extra_state, ierror
    ierror = MPI_SUCCESS
  end subroutine
end module

program module_mpi
  use mpi
  use old_procedures
  use checks
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, ierror, n, i, op, comm, copy, keyval, handle, class, win, flags
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), requests(2), a(10), b(10), m(4, 4)
  type(MPI_Status) :: status_08
  integer(MPI_ADDRESS_KIND) :: value, base
  type(c_ptr) :: pointer
  logical :: flag
  character(len=20) :: name
  real(8) :: started
  call MPI_Init(ierror)
  started = MPI_Wtime()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call check(.not. MPI_SUBARRAYS_SUPPORTED, 'sections are copied by the compiler')
  a = [(i, i=1, 10)]
  b = 0
  call MPI_Sendrecv(a, 10, MPI_INTEGER, rank, 1, b, 10, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, status, ierror)
  call check(all(a == b) .and. status(MPI_SOURCE) == rank .and. status(MPI_TAG) == 1, 'a message to itself')
  m = 0
  call MPI_Sendrecv(a(1:10:3), 4, MPI_INTEGER, rank, 1, m(2, :), 4, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, &
    MPI_STATUS_IGNORE, ierror)
  call check(all(m(2, :) == [1, 4, 7, 10]), 'blocking calls take sections')
  call MPI_Irecv(b, 10, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(a, 10, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitall(2, requests, statuses, ierror)
  call check(statuses(MPI_TAG, 1) == 2 .and. all(requests == MPI_REQUEST_NULL), 'statuses of several')
  call MPI_Status_f2f08(statuses(:, 1), status_08, ierror)
  call check(status_08%MPI_TAG == 2, 'a status in another form')
  call MPI_Get_count(statuses(:, 1), MPI_INTEGER, n, ierror)
  call check(n == 10, 'a count')
  call MPI_Op_create(add, .true., op, ierror)
  call MPI_Allreduce(MPI_IN_PLACE, a, 10, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
  call check(all(a == [(ranks * i, i=1, 10)]), 'a reduction of the program')
  call MPI_Op_free(op, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call MPI_Comm_create_errhandler(handler, handle, ierror)
  call MPI_Comm_set_errhandler(comm, handle, ierror)
  call MPI_Send(a, -1, MPI_INTEGER, 0, 0, comm, ierror)
  call MPI_Error_class(ierror, class, n)
  call check(copies == 100 .and. class == MPI_ERR_COUNT, 'an error handler of the program')
  copies = 0
  ! Attributes of MPI-1 and MPI-2 see each other.
  call MPI_Keyval_create(old_copy, old_delete, keyval, 3, ierror)
  call MPI_Attr_put(comm, keyval, -40, ierror)
  call MPI_Attr_get(comm, keyval, n, flag, ierror)
  call check(flag .and. n == -40, 'an attribute as an integer')
  call MPI_Comm_get_attr(comm, keyval, value, flag, ierror)
  call check(flag .and. value == -40, 'the same as an address')
  call MPI_Comm_dup(comm, copy, ierror)
  call MPI_Attr_get(copy, keyval, n, flag, ierror)
  call check(copies == 1 .and. flag .and. n == -37, 'a copied attribute')
  call MPI_Comm_set_attr(copy, keyval, 2_MPI_ADDRESS_KIND**33 + 5, ierror)
  call MPI_Attr_get(copy, keyval, n, flag, ierror)
  call check(flag .and. n == 5, 'the last bytes of an attribute that is as wide as an address')
  call MPI_Comm_free(copy, ierror)
  call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, keyval, 0, ierror)
  call MPI_Attr_put(comm, keyval, 12, ierror)
  call MPI_Comm_dup(comm, copy, ierror)
  call MPI_Attr_get(copy, keyval, n, flag, ierror)
  call check(flag .and. n == 12, 'MPI_DUP_FN copies')
  call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, n, flag, ierror)
  call check(flag .and. n >= 32767, 'MPI_TAG_UB')
  ! Memory as an address and as a pointer of C.
  call MPI_Alloc_mem(80_MPI_ADDRESS_KIND, MPI_INFO_NULL, base, ierror)
  call check(base /= 0, 'memory as an address')
  call MPI_Alloc_mem(80_MPI_ADDRESS_KIND, MPI_INFO_NULL, pointer, ierror)
  call check(c_associated(pointer), 'memory as a pointer')
  call MPI_Win_allocate(80_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, MPI_COMM_WORLD, pointer, win, ierror)
  call check(c_associated(pointer), 'a window as a pointer')
  call MPI_Win_free(win, ierror)
  call MPI_Buffer_attach(b, 40, ierror)
  call MPI_Buffer_detach(a, n, ierror)
  call check(n == 40 .and. a(1) == ranks, 'a detached buffer')
  call MPI_Comm_set_name(comm, 'blanks  ', ierror)
  call MPI_Comm_get_name(comm, name, n, ierror)
  call check(name == 'blanks' .and. n == 6, 'a name')
  call MPI_Waitany(2, requests, n, MPI_STATUS_IGNORE, ierror)
  call check(n == MPI_UNDEFINED, 'no request is active')
  call MPI_Sizeof(started, n, ierror)
  call check(n == 8, 'MPI_Sizeof')
  call MPI_Initialized(flag, ierror)
  call check(flag .and. MPI_Wtime() >= started, 'the clock goes on')
  call MPI_Type_create_hindexed(1, [2], [8_MPI_ADDRESS_KIND], MPI_INTEGER, handle, ierror)
  call MPI_Type_free(handle, ierror)
  call PMPI_Barrier(MPI_COMM_WORLD, ierror)
  flags = ierror
  call MPI_Finalize(ierror)
  call check(flags == MPI_SUCCESS .and. ierror == MPI_SUCCESS, 'the end')
end program
