! Requests, statuses, logicals, strings, topologies and arguments of any kind, with mpi_f08.
program requests
  use mpi_f08
  use checks
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, i, n, index, indices(4), numbers(4), ierror, f_status(MPI_STATUS_SIZE), dims(2), coords(2)
  integer :: weights(2), other(2), code
  type(MPI_Request) :: requests_(4), none(1)
  type(MPI_Status) :: status, statuses(4)
  type(MPI_Comm) :: comm, split
  type(MPI_Group) :: group, part
  type(MPI_Message) :: message
  type(MPI_Info) :: info
  type(MPI_Datatype) :: datatype, types(2), contents(2)
  type(MPI_Win) :: win
  type(MPI_Session) :: session
  type(c_ptr) :: pointer
  integer, pointer :: memory(:)
  integer(MPI_ADDRESS_KIND) :: lower, extent, places(2), size, place
  integer(MPI_COUNT_KIND) :: large
  integer(MPI_OFFSET_KIND) :: offset
  logical :: flag, periods(2), remain(2)
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=4) :: short
  character(len=40) :: value
  character(len=MPI_MAX_ERROR_STRING) :: text
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, n)
  call check(n >= MPI_THREAD_SINGLE, 'a level of threads')
  call MPI_Initialized(flag)
  call check(flag, 'MPI is initialized')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)

  ! Handles.
  call check(MPI_COMM_WORLD == MPI_COMM_WORLD .and. MPI_COMM_WORLD /= MPI_COMM_SELF, 'handles are compared')
  call check(MPI_COMM_WORLD%MPI_VAL == 257, 'a predefined handle is the number of the ABI')

  ! Indices count from one, MPI_UNDEFINED stays.
  numbers = 0
  do i = 1, 4
    call MPI_Irecv(numbers(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, requests_(i))
  end do
  call MPI_Testany(4, requests_, index, flag, status)
  call check(.not. flag .and. index == MPI_UNDEFINED, 'none is complete')
  call MPI_Send([30], 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD)
  call MPI_Waitany(4, requests_, index, status)
  call check(index == 3 .and. status%MPI_TAG == 3 .and. numbers(3) == 30, 'the third is complete')
  call check(requests_(3) == MPI_REQUEST_NULL, 'its request is null')
  call MPI_Send([10], 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD)
  call MPI_Send([40], 1, MPI_INTEGER, rank, 4, MPI_COMM_WORLD)
  call MPI_Waitsome(4, requests_, n, indices, statuses)
  do while (any(requests_([1, 4]) /= MPI_REQUEST_NULL))
    call MPI_Testsome(4, requests_, i, indices(n + 1:), statuses)
    n = n + i
  end do
  call check(n == 2 .and. all([any(indices(:2) == 1), any(indices(:2) == 4)]), 'the first and the fourth are complete')
  call MPI_Request_get_status(requests_(2), flag, status)
  call check(.not. flag, 'the second is not')
  call MPI_Send([20], 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD)
  call MPI_Wait(requests_(2), status)
  call check(all(numbers == [10, 20, 30, 40]), 'all have come')
  call MPI_Waitany(4, requests_, index, status)
  call check(index == MPI_UNDEFINED, 'no request is active')
  call MPI_Testall(4, requests_, flag, MPI_STATUSES_IGNORE)
  call check(flag, 'all are complete')
  call MPI_Waitsome(4, requests_, n, indices, MPI_STATUSES_IGNORE)
  call check(n == MPI_UNDEFINED, 'none of none')
  none = MPI_REQUEST_NULL
  call MPI_Waitall(0, none, MPI_STATUSES_IGNORE)

  ! Statuses in their forms, matched probes.
  call MPI_Isend([1, 2, 3], 3, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, requests_(1))
  call MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, message, status)
  call MPI_Get_count(status, MPI_INTEGER, n)
  call check(n == 3 .and. status%MPI_SOURCE == rank .and. status%MPI_TAG == 9, 'a matched probe')
  call MPI_Status_f082f(status, f_status)
  call check(f_status(MPI_SOURCE) == rank .and. f_status(MPI_TAG) == 9, 'a status as an array')
  call MPI_Status_f2f08(f_status, statuses(2))
  call MPI_Get_count(statuses(2), MPI_INTEGER, large)
  call check(large == 3, 'and back')
  call MPI_Mrecv(numbers, 3, MPI_INTEGER, message, MPI_STATUS_IGNORE)
  call check(message == MPI_MESSAGE_NULL .and. all(numbers(:3) == [1, 2, 3]), 'its message')
  call MPI_Wait(requests_(1), MPI_STATUS_IGNORE)
  call MPI_Iprobe(rank, 9, MPI_COMM_WORLD, flag, status)
  call check(.not. flag, 'no other message')
  call MPI_Test_cancelled(status, flag)

  ! Names: blanks at the end do not count, short variables get the beginning.
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_name(comm, 'a name   ')
  call MPI_Comm_get_name(comm, name, n)
  call check(name == 'a name' .and. n == 6, 'a name without blanks at its end')
  call MPI_Comm_get_name(comm, short, n)
  call check(short == 'a na' .and. n == 6, 'a name in a short variable')
  call MPI_Comm_set_name(comm, '')
  call MPI_Comm_get_name(comm, name, n)
  call check(name == '' .and. n == 0, 'an empty name')
  call MPI_Type_get_name(MPI_REAL8, name, n)
  call check(name == 'MPI_REAL8', 'the name of a datatype')
  call MPI_Error_string(MPI_ERR_RANK, text, n)
  call check(n > 0 .and. len_trim(text) == n, 'an error string')
  call MPI_Info_create(info)
  call MPI_Info_set(info, '  a key ', '  its value  ')
  call MPI_Info_get(info, 'a key', 40, value, flag)
  call check(flag .and. value == 'its value', 'keys and values lose blanks on both sides')
  call MPI_Info_get(info, 'another', 40, value, flag)
  call check(.not. flag .and. value == 'its value', 'no value, and nothing is stored')
  n = 0
  call MPI_Info_get_string(info, 'a key', n, value, flag)
  call check(flag .and. n == 9, 'the length of a value counts no end mark')
  n = 3
  call MPI_Info_get_string(info, 'a key', n, value, flag)
  call check(flag .and. n == 9 .and. value == 'its', 'the beginning of a value')
  call MPI_Info_get_valuelen(info, 'a key', n, flag)
  call check(flag .and. n == 9, 'the length of a value')
  call MPI_Info_get_nthkey(info, 0, name)
  call check(name == 'a key', 'the first key')
  call MPI_Info_free(info)
  call check(info == MPI_INFO_NULL, 'a freed info object is null')

  ! Logicals and topologies.
  dims = 0
  call MPI_Dims_create(ranks, 2, dims)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., comm)
  call MPI_Cart_get(comm, 2, other, periods, coords)
  call check(all(other == dims) .and. periods(1) .and. .not. periods(2), 'a grid, and where it is periodic')
  remain = [.true., .false.]
  call MPI_Cart_sub(comm, remain, split)
  call MPI_Comm_size(split, n)
  call check(n == dims(1), 'a column of the grid')
  call MPI_Comm_test_inter(comm, flag)
  call check(.not. flag, 'no intercommunicator')
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [mod(rank + ranks - 1, ranks)], MPI_UNWEIGHTED, 1, &
    [mod(rank + 1, ranks)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., comm)
  call MPI_Dist_graph_neighbors_count(comm, i, n, flag)
  call check(i == 1 .and. n == 1 .and. .not. flag, 'a ring without weights')
  numbers = 0
  types = MPI_INTEGER
  places = 0
  call MPI_Neighbor_alltoallw([rank], [1], places, types, numbers, [1], places, types, comm)
  call check(numbers(1) == mod(rank + ranks - 1, ranks), 'a neighbour''s block')
  call MPI_Ineighbor_alltoallw([rank + 1], [1], places, types, numbers, [1], places, types, comm, requests_(1))
  call MPI_Wait(requests_(1), MPI_STATUS_IGNORE)
  call check(numbers(1) == mod(rank + ranks - 1, ranks) + 1, 'the same without blocking')
  call MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, [0], [7], 1, [0], [8], MPI_INFO_NULL, .false., split)
  call MPI_Dist_graph_neighbors(split, 1, other, weights(1:1), 1, coords, weights(2:2))
  call check(all(weights == [7, 8]), 'weights')
  block
    integer :: counts(0:ranks - 1), starts(0:ranks - 1), from(0:ranks - 1), into(0:ranks - 1)
    type(MPI_Datatype) :: of(0:ranks - 1)
    counts = 1
    starts = [(4 * i, i=0, ranks - 1)]
    of = MPI_INTEGER
    from = [(100 * rank + i, i=0, ranks - 1)]
    call MPI_Alltoallw(from, counts, starts, of, into, counts, starts, of, MPI_COMM_WORLD)
    call check(all(into == [(100 * i + rank, i=0, ranks - 1)]), 'alltoallw')
    into = 0
    call MPI_Ialltoallw(from, counts, starts, of, into, counts, starts, of, MPI_COMM_WORLD, requests_(1))
    of = MPI_DATATYPE_NULL
    call MPI_Waitall(1, requests_, MPI_STATUSES_IGNORE)
    call check(all(into == [(100 * i + rank, i=0, ranks - 1)]), 'alltoallw without blocking')
    of = MPI_INTEGER
    call MPI_Alltoallw_init(from, counts, starts, of, into, counts, starts, of, MPI_COMM_WORLD, MPI_INFO_NULL, requests_(1))
    do i = 1, 2
      into = 0
      call MPI_Start(requests_(1))
      call MPI_Wait(requests_(1), MPI_STATUS_IGNORE)
      call check(into(0) == rank, 'a persistent alltoallw')
    end do
    call MPI_Request_free(requests_(1))
    into = from
    call MPI_Alltoallw(MPI_IN_PLACE, counts, starts, of, into, counts, starts, of, MPI_COMM_WORLD)
    call check(all(into == [(100 * i + rank, i=0, ranks - 1)]), 'alltoallw in place')
  end block

  ! Groups with triples.
  call MPI_Comm_group(MPI_COMM_WORLD, group)
  call MPI_Group_range_incl(group, 1, reshape([0, ranks - 1, 1], [3, 1]), part)
  call MPI_Group_compare(group, part, n)
  call check(n == MPI_IDENT, 'a group of a range')

  ! Datatypes: kinds of numbers, contents, MPI_BOTTOM, kinds of Fortran.
  call MPI_Get_address(numbers(1), places(1))
  call MPI_Get_address(numbers(3), places(2))
  call check(MPI_Aint_diff(places(2), places(1)) == 8 .and. MPI_Aint_add(places(1), 8_MPI_ADDRESS_KIND) == places(2), &
    'addresses')
  call MPI_Type_create_struct(2, [1, 1], places, [MPI_INTEGER, MPI_INTEGER], datatype)
  call MPI_Type_commit(datatype)
  numbers = [1, 2, 3, 4]
  other = 0
  call MPI_Sendrecv(MPI_BOTTOM, 1, datatype, rank, 0, other, 2, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call check(all(other == [1, 3]), 'MPI_BOTTOM')
  call MPI_Type_get_envelope(datatype, i, n, index, code)
  call check(i == 3 .and. n == 2 .and. index == 2 .and. code == MPI_COMBINER_STRUCT, 'the envelope of a datatype')
  call MPI_Type_get_contents(datatype, 3, 2, 2, numbers, places, contents)
  call check(all(contents == MPI_INTEGER) .and. all(numbers(:3) == [2, 1, 1]), 'the contents of a datatype')
  call MPI_Type_free(datatype)
  call MPI_Type_vector(2_MPI_COUNT_KIND, 1_MPI_COUNT_KIND, 2_MPI_COUNT_KIND, MPI_REAL8, datatype)
  call MPI_Type_get_extent(datatype, lower, extent)
  call MPI_Type_size(datatype, large)
  call check(extent == 24 .and. large == 16, 'a vector with large counts')
  call MPI_Type_free(datatype)
  call MPI_Type_create_f90_real(15, 307, datatype)
  call MPI_Type_size(datatype, n)
  call check(n == 8, 'a datatype for a kind of reals')
  call MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 8, datatype)
  call check(datatype == MPI_COMPLEX .or. datatype == MPI_COMPLEX8, 'a datatype of a size')

  ! Memory.
  call MPI_Alloc_mem(80_MPI_ADDRESS_KIND, MPI_INFO_NULL, pointer)
  call c_f_pointer(pointer, memory, [20])
  memory = rank
  call MPI_Free_mem(memory)
  call MPI_Win_allocate_shared(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, pointer, win)
  call c_f_pointer(pointer, memory, [10])
  memory = 5
  call MPI_Win_shared_query(win, 0, size, n, pointer)
  call MPI_Get_address(memory, place)
  call check(size == 40 .and. n == 4 .and. transfer(pointer, place) == place, 'shared memory')
  call MPI_Win_free(win)
  block
    integer :: attached(400)
    call MPI_Buffer_attach(attached, 1600)
    call MPI_Bsend([6], 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD)
    call MPI_Recv(n, 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Get_address(attached, place)
    call MPI_Buffer_detach(pointer, i)
    call check(n == 6 .and. i == 1600 .and. transfer(pointer, place) == place, 'an attached buffer')
    call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0)
    call MPI_Bsend([7], 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD)
    call MPI_Recv(n, 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Buffer_detach(pointer, i)
    call check(n == 7, 'a buffer of MPI''s own')
  end block

  ! Large counts.
  numbers = 0
  call MPI_Sendrecv([8, 9], 2_MPI_COUNT_KIND, MPI_INTEGER, rank, 0, numbers, 2_MPI_COUNT_KIND, MPI_INTEGER, rank, 0, &
    MPI_COMM_WORLD, status)
  call check(all(numbers(:2) == [8, 9]), 'large counts')
  call MPI_Allreduce([1], n, 1_MPI_COUNT_KIND, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(n == ranks, 'a reduction with large counts')
  call MPI_Allreduce([.true., rank == 0], remain, 2, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
  call check(remain(1) .and. (remain(2) .eqv. ranks == 1), 'logicals are reduced')

  ! Sessions and versions.
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
  call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n)
  i = 0
  call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, i, text)
  call check(n >= 2 .and. i > 0, 'the length of a process set''s name')
  index = len(text)
  call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, index, text)
  call check(index == i .and. len_trim(text) == i, 'the name of a process set')
  call MPI_Session_finalize(session)
  call MPI_Get_version(n, i)
  call check(n == MPI_VERSION .and. i == MPI_SUBVERSION, 'the version')
  call MPI_Abi_get_version(n, i)
  call check(n == 1 .and. i == 0, 'the version of the ABI')
  call MPI_Abi_get_fortran_info(info)
  call MPI_Info_get(info, 'mpi_integer_size', 40, value, flag)
  call check(flag .and. value == '4', 'the size of INTEGER')
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call MPI_Abi_set_fortran_info(info, ierror)
  call MPI_Error_class(ierror, n)
  call check(n == MPI_ERR_ABI, 'the sizes are settled')
  call check(MPI_Wtime() > 0 .and. MPI_Wtick() > 0, 'the clock')
  offset = MPI_DISPLACEMENT_CURRENT
  call check(offset == -1, 'a displacement')

  ! Profiling names.
  call PMPI_Comm_size(MPI_COMM_WORLD, n)
  call PMPI_Sendrecv([3], 1, MPI_INTEGER, rank, 0, i, 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call check(n == ranks .and. i == 3, 'profiling names')
  call MPI_F_sync_reg(numbers)
  call MPI_Pcontrol(1)
  call MPI_Finalize()
end program
