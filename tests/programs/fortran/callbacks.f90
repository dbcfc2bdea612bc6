! Procedures of the program that MPI calls, with mpi_f08: reductions, error handlers, attributes, generalized requests,
! data representations.
module procedures
  use mpi_f08
  use checks
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: copies = 0, deletions = 0, handled = 0, last_class = -1, queries = 0, frees = 0, cancels = 0
  integer :: converted = 0
  type(MPI_Comm) :: seen_comm
  type(MPI_Datatype) :: seen_type
contains
  ! Neither commutative nor one of MPI's: composition of x -> a x + b.
  subroutine compose(invec, inoutvec, length, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: one(:, :), other(:, :)
    integer :: i
    call c_f_pointer(invec, one, [2, length])
    call c_f_pointer(inoutvec, other, [2, length])
    seen_type = datatype
    do i = 1, length
      other(:, i) = [one(1, i) * other(1, i), one(2, i) * other(1, i) + other(2, i)]
    end do
  end subroutine
  subroutine largest(invec, inoutvec, length, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: length
    type(MPI_Datatype) :: datatype
    real(8), pointer :: one(:), other(:)
    call c_f_pointer(invec, one, [length])
    call c_f_pointer(inoutvec, other, [length])
    seen_type = datatype
    other = max(one, other)
  end subroutine
  subroutine comm_error(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    handled = handled + 1
    seen_comm = comm
    call MPI_Error_class(code, last_class)
  end subroutine
  subroutine win_error(win, code)
    type(MPI_Win) :: win
    integer :: code
    handled = handled + 1
    call MPI_Error_class(code, last_class)
  end subroutine
  subroutine file_error(file, code)
    type(MPI_File) :: file
    integer :: code
    handled = handled + 1
    call MPI_Error_class(code, last_class)
  end subroutine
  subroutine session_error(session, code)
    type(MPI_Session) :: session
    integer :: code
    handled = handled + 1
    call MPI_Error_class(code, last_class)
  end subroutine
  subroutine copy_twice(comm, keyval, extra_state, value_in, value_out, flag, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    copies = copies + 1
    value_out = 2 * value_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_it(comm, keyval, value, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    deletions = deletions + 1
    call check(extra_state == 5, 'the extra state of a deletion')
    ierror = merge(MPI_ERR_OTHER, MPI_SUCCESS, value == 99)
  end subroutine
  subroutine copy_type(datatype, keyval, extra_state, value_in, value_out, flag, ierror)
    type(MPI_Datatype) :: datatype
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    copies = copies + 1
    flag = .false.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    queries = queries + 1
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 3
    status%MPI_TAG = 4
    ierror = MPI_SUCCESS
  end subroutine
  subroutine release(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    frees = frees + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (.not. complete) cancels = cancels + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine extent(datatype, size, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer(MPI_ADDRESS_KIND) :: size, extra_state
    integer :: ierror
    size = 4
    ierror = MPI_SUCCESS
  end subroutine
  subroutine convert(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [position + count])
    call c_f_pointer(filebuf, file, [count])
    converted = converted + count
    file(:count) = user(position + 1:position + count) + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine
end module

program callbacks
  use procedures
  implicit none
  integer :: rank, ranks, i, ierror, keyval, mine(2), all(2), expected(2), n, datum(4)
  real(8) :: x
  type(MPI_Op) :: op
  type(MPI_Datatype) :: pair, other
  type(MPI_Errhandler) :: handler
  type(MPI_Comm) :: comm, copy
  type(MPI_Win) :: win
  type(MPI_File) :: file
  type(MPI_Session) :: session
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  integer(MPI_ADDRESS_KIND) :: value
  logical :: flag
  character(len=64) :: name
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)

  call MPI_Type_contiguous(2, MPI_INTEGER, pair)
  call MPI_Type_commit(pair)
  call MPI_Op_create(compose, .false., op)
  mine = [2, rank]
  expected = [1, 0]
  do i = 0, ranks - 1
    expected = [expected(1) * 2, expected(2) * 2 + i]
  end do
  call MPI_Allreduce(mine, all, 1, pair, op, MPI_COMM_WORLD)
  call check(sum(abs(all - expected)) == 0, 'a reduction of the program')
  if (ranks > 1) call check(seen_type == pair, 'the datatype of the reduction is the program''s')
  all = [1, 1]
  call MPI_Reduce_local(mine, all, 1, pair, op)
  call check(sum(abs(all - [2, rank + 1])) == 0 .and. seen_type == pair, 'a local reduction')
  call MPI_Op_commutative(op, flag)
  call check(.not. flag, 'it does not commute')
  call MPI_Op_free(op)
  call check(op == MPI_OP_NULL, 'a freed operation is null')
  call MPI_Op_create_c(largest, .true., op)
  call MPI_Op_commutative(op, flag)
  call check(flag, 'it commutes')
  x = rank
  call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_REAL8, op, MPI_COMM_WORLD)
  call check(x == ranks - 1, 'a reduction with large counts')
  call MPI_Op_free(op)
  call MPI_Type_free(pair)

  ! Error handlers of four kinds of objects.
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_create_errhandler(comm_error, handler)
  call MPI_Comm_set_errhandler(comm, handler)
  call MPI_Errhandler_free(handler)
  call MPI_Send(x, 1, MPI_REAL8, ranks + 5, 0, comm, ierror)
  call check(handled == 1 .and. seen_comm == comm .and. last_class == MPI_ERR_RANK, 'the handler of a communicator')
  call MPI_Error_class(ierror, n)
  call check(n == MPI_ERR_RANK, 'the error is returned, too')
  call MPI_Comm_call_errhandler(comm, MPI_ERR_TAG)
  call check(handled == 2 .and. last_class == MPI_ERR_TAG, 'the handler is called')
  call MPI_Win_create(x, 8_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Win_create_errhandler(win_error, handler)
  call MPI_Win_set_errhandler(win, handler)
  call MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC)
  call check(handled == 3 .and. last_class == MPI_ERR_RMA_SYNC, 'the handler of a window')
  call MPI_Errhandler_free(handler)
  call MPI_File_create_errhandler(file_error, handler)
  call MPI_File_set_errhandler(MPI_FILE_NULL, handler)
  call MPI_File_open(MPI_COMM_SELF, '/no/such/file', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierror)
  call check(handled == 4 .and. last_class == MPI_ERR_NO_SUCH_FILE, 'the handler of files')
  call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN)
  call MPI_Session_create_errhandler(session_error, handler)
  call MPI_Session_init(MPI_INFO_NULL, handler, session)
  call MPI_Session_call_errhandler(session, MPI_ERR_SESSION)
  call check(handled == 5 .and. last_class == MPI_ERR_SESSION, 'the handler of a session')
  call MPI_Session_finalize(session)

  ! Attributes.
  call MPI_Comm_create_keyval(copy_twice, delete_it, keyval, 5_MPI_ADDRESS_KIND)
  call MPI_Comm_get_attr(comm, keyval, value, flag)
  call check(.not. flag, 'no attribute yet')
  call MPI_Comm_set_attr(comm, keyval, 2_MPI_ADDRESS_KIND**40)
  call MPI_Comm_get_attr(comm, keyval, value, flag)
  call check(flag .and. value == 2_MPI_ADDRESS_KIND**40, 'an attribute as wide as an address')
  call MPI_Comm_dup(comm, copy)
  call MPI_Comm_get_attr(copy, keyval, value, flag)
  call check(copies == 1 .and. flag .and. value == 2 * 2_MPI_ADDRESS_KIND**40 + 5, 'a copied attribute')
  call MPI_Comm_set_attr(comm, keyval, -7_MPI_ADDRESS_KIND)
  call check(deletions == 1, 'an attribute that is replaced is deleted')
  call MPI_Comm_free(copy)
  call check(deletions == 2, 'those of a freed communicator are deleted')
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  call MPI_Comm_set_attr(comm, keyval, 99_MPI_ADDRESS_KIND)
  call MPI_Comm_delete_attr(comm, keyval, ierror)
  call check(ierror /= MPI_SUCCESS, 'a deletion may fail')
  call MPI_Comm_set_attr(comm, keyval, 1_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_free_keyval(keyval)
  call check(keyval == MPI_KEYVAL_INVALID, 'a freed key is invalid')
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 123_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_SELF, copy)
  call MPI_Comm_get_attr(copy, keyval, value, flag)
  call check(flag .and. value == 123, 'MPI_COMM_DUP_FN copies')
  call MPI_Comm_free(copy)
  call MPI_Type_create_keyval(copy_type, MPI_TYPE_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Type_dup(MPI_INTEGER, pair)
  call MPI_Type_set_attr(pair, keyval, 77_MPI_ADDRESS_KIND)
  copies = 0
  call MPI_Type_dup(pair, other)
  call MPI_Type_get_attr(other, keyval, value, flag)
  call check(copies == 1 .and. .not. flag, 'an attribute that is not copied')
  call MPI_Type_get_attr(pair, keyval, value, flag)
  call check(flag .and. value == 77, 'an attribute of a datatype')
  call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Win_set_attr(win, keyval, 5_MPI_ADDRESS_KIND)
  call MPI_Win_get_attr(win, keyval, value, flag)
  call check(flag .and. value == 5, 'an attribute of a window')
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
  call check(flag .and. value == 8, 'the size of a window')
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag)
  call check(flag .and. value == 1, 'the displacement unit of a window')
  call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag)
  block
    integer(MPI_ADDRESS_KIND) :: place
    call MPI_Get_address(x, place)
    call check(flag .and. value == place, 'the base of a window')
  end block
  call MPI_Win_free(win)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
  call check(flag .and. value >= 32767, 'MPI_TAG_UB is a number')

  ! Generalized requests.
  call MPI_Grequest_start(query, release, cancel, 6_MPI_ADDRESS_KIND, request)
  call MPI_Test(request, flag, status)
  call check(.not. flag, 'a generalized request is not complete')
  call MPI_Cancel(request)
  call check(cancels == 1, 'it is cancelled')
  call MPI_Grequest_complete(request)
  call MPI_Wait(request, status)
  call MPI_Get_count(status, MPI_INTEGER, n)
  call check(queries == 1 .and. frees == 1 .and. n == 6 .and. status%MPI_TAG == 4, 'it is complete')
  call check(request == MPI_REQUEST_NULL, 'its request is null')

  ! Data representations.
  call MPI_Register_datarep('fortran_plus', MPI_CONVERSION_FN_NULL, convert, extent, 1000_MPI_ADDRESS_KIND, ierror)
  call check(ierror == MPI_SUCCESS, 'a representation is registered')
  write (name, '(a,i0)') '/tmp/bcs-fortran-callbacks.', getpid()
  call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &
    file, ierror)
  call check(ierror == MPI_SUCCESS, 'a file is opened')
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'fortran_plus', MPI_INFO_NULL, ierror)
  call check(ierror == MPI_SUCCESS, 'its view has the representation')
  datum = [1, 2, 3, 4]
  call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, datum, 4, MPI_INTEGER, status)
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
  call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, datum, 4, MPI_INTEGER, status)
  call check(converted == 4 .and. sum(abs(datum - [1001, 1002, 1003, 1004])) == 0, 'writing converts')
  call MPI_File_close(file)
  call MPI_Finalize()
contains
  integer function getpid()
    interface
      integer(c_int) function c_getpid() bind(C, name='getpid')
        import :: c_int
      end function
    end interface
    getpid = c_getpid()
  end function
end program
