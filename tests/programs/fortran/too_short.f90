! Arrays whose bounds are known, and that are too short: the error of the standard, with the call, the argument and its
! value; nothing is stored, and the program goes on.
program too_short
  use mpi_f08
  use checks
  implicit none
  integer :: rank, ranks, ierror, class, n
  integer :: a(10), guard(10), b(4, 4)
  type(MPI_Request) :: request
  type(MPI_Win) :: win
  type(MPI_File) :: file
  character(len=MPI_MAX_ERROR_STRING) :: text
  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  a = 1
  guard = 2
  b = 0
  call MPI_Send(a, 11, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, ierror)
  call refused('MPI_Send', 'buf')
  call check(index(text, '40 bytes') > 0 .and. index(text, '11 elements') > 0, 'the error has the values: ' // text)
  call MPI_Recv(a, 6, MPI_REAL8, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call refused('MPI_Recv', 'buf')
  call MPI_Irecv(b(1:3, 1:3), 10, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, request, ierror)
  call refused('MPI_Irecv', 'buf')
  call MPI_Bcast(a, 11_MPI_COUNT_KIND, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
  call refused('MPI_Bcast_c', 'buffer')
  call MPI_Sendrecv(a, 10, MPI_INTEGER, rank, 0, b, 17, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call refused('MPI_Sendrecv', 'recvbuf')
  call MPI_Allreduce(a, b(1, :), 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call refused('MPI_Allreduce', 'recvbuf')
  call MPI_Allgather(a, 10, MPI_INTEGER, guard(1:10 * ranks - 1), 10, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call refused('MPI_Allgather', 'recvbuf')
  call MPI_Win_create(a, 41_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call refused('MPI_Win_create', 'base')
  call MPI_Win_create(b(1, :), 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call refused('MPI_Win_create', 'base')
  call MPI_File_open(MPI_COMM_WORLD, '/no/such/folder/at/all ', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierror)
  call MPI_Error_class(ierror, class)
  call check(class == MPI_ERR_NO_SUCH_FILE, 'a file that is not there')
  call check(all(guard == 2), 'nothing is stored')
  ! What is long enough is taken.
  call MPI_Sendrecv(a, 10, MPI_INTEGER, rank, 0, guard, 10, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call check(ierror == MPI_SUCCESS .and. all(guard == 1), 'the program goes on')
  ! An element stands for what follows it: its bounds are not known.
  call MPI_Sendrecv(a(1), 10, MPI_INTEGER, rank, 0, b(1, 1), 10, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, &
    MPI_STATUS_IGNORE, ierror)
  call check(ierror == MPI_SUCCESS .and. sum(b) >= 10, 'elements as buffers')
  call MPI_Finalize()
contains
  subroutine refused(call_name, argument)
    character(len=*), intent(in) :: call_name, argument
    call MPI_Error_class(ierror, class)
    call check(class == MPI_ERR_BUFFER, call_name // ' answers MPI_ERR_BUFFER')
    call MPI_Error_string(ierror, text, n)
    call check(index(text, call_name // ': ' // argument // ' is an array') > 0, 'it says so: ' // trim(text))
  end subroutine
end program
