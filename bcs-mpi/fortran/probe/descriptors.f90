! Whether the library reads this compiler's descriptors: it tells what it sees of an array section, and the program
! compares. Ends with status 1 where they differ.
program descriptors
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    subroutine read_descriptor(x, values) bind(C, name="bcsmpi_read_descriptor")
      import
      type(*), dimension(..), intent(in) :: x
      integer(c_int64_t), intent(out) :: values(7)
    end subroutine
  end interface
  real(c_double), target :: a(7, 5)
  integer(c_int64_t) :: seen(7), at
  at = transfer(c_loc(a(6, 2)), at)
  call read_descriptor(a(6:2:-2, 2:5:3), seen)
  if (any(seen /= [at, 8_c_int64_t, 2_c_int64_t, 3_c_int64_t, 2_c_int64_t, -16_c_int64_t, 168_c_int64_t])) error stop 1
end program
