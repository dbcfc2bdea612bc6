! Handles, statuses and attributes between Fortran and C (MPI-5.0, 19.3); languages.c is the other half.
module reductions
  use mpi_f08
  use, intrinsic :: iso_c_binding
contains
  subroutine subtract(invec, inoutvec, length, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: one(:), other(:)
    call c_f_pointer(invec, one, [length])
    call c_f_pointer(inoutvec, other, [length])
    other = one - other
  end subroutine
end module

program languages
  use mpi_f08
  use reductions
  use checks
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    integer(c_int) function c_size(comm) bind(C)
      import
      type(MPI_Comm) :: comm
    end function
    integer(c_int) function c_duplicate() bind(C)
      import
    end function
    integer(c_int) function c_vector() bind(C)
      import
    end function
    integer(c_int) function c_key() bind(C)
      import
    end function
    subroutine c_status(status) bind(C)
      import
      integer(c_int) :: status(MPI_STATUS_SIZE)
    end subroutine
    subroutine c_set(comm, address) bind(C)
      import
      type(MPI_Comm) :: comm
      integer(MPI_ADDRESS_KIND) :: address
    end subroutine
    integer(MPI_ADDRESS_KIND) function c_get(comm, key) bind(C)
      import
      type(MPI_Comm) :: comm
      integer :: key
    end function
    integer(c_int) function c_get_int(comm, key) bind(C)
      import
      type(MPI_Comm) :: comm
      integer :: key
    end function
    integer(c_int) function c_reduce(op) bind(C)
      import
      type(MPI_Op) :: op
    end function
  end interface
  type(MPI_Comm) :: comm, copy
  type(MPI_Datatype) :: vector
  type(MPI_Status) :: status
  type(MPI_Op) :: op
  integer :: n, ranks, key, own, f_status(MPI_STATUS_SIZE)
  integer(MPI_ADDRESS_KIND) :: value, address
  logical :: flag
  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call check(c_size(MPI_COMM_WORLD) == ranks, 'a communicator in C')
  comm = MPI_Comm(c_duplicate())
  call MPI_Comm_size(comm, n)
  call check(n == ranks, 'a communicator of C')
  call check(c_size(comm) == ranks, 'and back')
  vector = MPI_Datatype(c_vector())
  call MPI_Type_size(vector, n)
  call check(n == 12, 'a datatype of C')
  f_status = 0
  f_status(MPI_TAG) = 5
  call c_status(f_status)
  call MPI_Status_f2f08(f_status, status)
  call MPI_Get_count(status, MPI_INTEGER, n)
  call check(status%MPI_TAG == 6 .and. n == 9, 'a status of C')
  ! Set in C: the address.
  key = c_key()
  call c_set(comm, address)
  call MPI_Comm_get_attr(comm, key, value, flag)
  call check(flag .and. value == address, 'an attribute of C is an address')
  call check(c_get_int(comm, key) == 1234, 'which C follows')
  call MPI_Comm_dup(comm, copy)
  call check(c_get_int(copy, key) == 1234, 'also when it was copied')
  ! Set in Fortran: C gets the address of it.
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, own, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, own, 2_MPI_ADDRESS_KIND**50 + 1)
  call check(c_get(comm, own) == 2_MPI_ADDRESS_KIND**50 + 1, 'an attribute of Fortran')
  call MPI_Comm_set_attr(comm, key, 77_MPI_ADDRESS_KIND)
  call check(c_get_int(comm, key) == 77, 'the same under a key of C')
  call MPI_Comm_get_attr(comm, key, value, flag)
  call check(value == 77, 'and in Fortran')
  call c_set(copy, address)
  call MPI_Comm_dup(copy, comm)
  call MPI_Comm_get_attr(comm, key, value, flag)
  call check(value == address, 'an address that was copied is one')
  call MPI_Op_create(subtract, .true., op)
  call check(c_reduce(op) == -7, 'a reduction of Fortran in C')
  call MPI_Finalize()
end program
