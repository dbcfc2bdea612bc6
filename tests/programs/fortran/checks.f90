! What the programs beside this share: a check that fails names itself, and ends the job with status 1.
module checks
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    write (error_unit, '(2a)') 'FAILED: ', what
    error stop 1
  end subroutine
end module
