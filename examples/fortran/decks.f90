! Input decks: lines of `key value...`, `#` starts a comment. Rank 0 reads the file, and all ranks look values up in its
! text. What is wrong is told by rank 0 in one line, and ends the program with status 2.
module decks
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  implicit none
  private
  public :: deck_read, deck_integer, deck_real, deck_word, deck_rows, deck_has, deck_refuse, program_deck

  integer, parameter :: most_lines = 256, most_length = 200
  character(len=most_length) :: lines(most_lines)
  character(len=most_length) :: path = '', program_name = ''
  integer :: count = 0, rank = 0

contains

  ! The deck that the command line names.
  function program_deck(name) result(deck)
    character(len=*), intent(in) :: name
    character(len=most_length) :: deck
    program_name = name
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call get_command_argument(1, deck)
    if (deck == '') then
      if (rank == 0) write (error_unit, '(3a)') 'usage: ', name, ' DECK'
      call leave()
    end if
  end function

  subroutine leave()
    call MPI_Finalize()
    stop 2, quiet=.true.
  end subroutine

  subroutine deck_refuse(line, what)
    integer, intent(in) :: line
    character(len=*), intent(in) :: what
    character(len=12) :: number
    number = ''
    if (line > 0) write (number, '(i0,a)') line, ':'
    if (rank == 0) write (error_unit, '(7a)') trim(program_name), ': ', trim(path), ':', trim(number), ' ', what
    call leave()
  end subroutine

  ! Reads a deck whose keys are those, each between blanks.
  subroutine deck_read(file, keys)
    character(len=*), intent(in) :: file, keys
    integer :: unit, status, at, line
    path = file
    if (rank == 0) then
      open (newunit=unit, file=file, status='old', action='read', iostat=status)
      count = merge(0, -1, status == 0)
      do while (status == 0 .and. count < most_lines)
        read (unit, '(a)', iostat=status) lines(count + 1)
        if (status == 0) count = count + 1
      end do
    end if
    call MPI_Bcast(count, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    if (count < 0) call deck_refuse(0, 'cannot read this input deck')
    call MPI_Bcast(lines, count * most_length, MPI_CHARACTER, 0, MPI_COMM_WORLD)
    do line = 1, count
      at = index(lines(line), '#')
      if (at > 0) lines(line)(at:) = ''
      lines(line) = adjustl(lines(line))
      at = index(lines(line), ' ')
      if (at > 1 .and. index(keys, ' ' // lines(line)(1:at)) == 0) &
        call deck_refuse(line, "unknown key '" // lines(line)(1:at - 1) // "'")
    end do
  end subroutine

  integer function find(key, from)
    character(len=*), intent(in) :: key
    integer, intent(in) :: from
    do find = from, count
      if (index(lines(find), key // ' ') == 1) return
    end do
    find = 0
  end function

  logical function deck_has(key)
    character(len=*), intent(in) :: key
    deck_has = find(key, 1) > 0
  end function

  function deck_word(key, default) result(word)
    character(len=*), intent(in) :: key, default
    character(len=32) :: word
    integer :: line
    word = default
    line = find(key, 1)
    if (line > 0) word = adjustl(lines(line)(len(key) + 1:))
    if (word == '') call deck_refuse(0, "the deck gives no '" // key // "'")
  end function

  real(real64) function deck_real(key, default)
    character(len=*), intent(in) :: key
    real(real64), intent(in), optional :: default
    character(len=32) :: word
    integer :: status
    if (present(default) .and. find(key, 1) == 0) then
      deck_real = default
      return
    end if
    word = deck_word(key, '')
    read (word, *, iostat=status) deck_real
    if (status /= 0) call deck_refuse(find(key, 1), "'" // key // "' wants a number, got '" // trim(word) // "'")
  end function

  integer function deck_integer(key, default)
    character(len=*), intent(in) :: key
    integer, intent(in), optional :: default
    character(len=32) :: word
    integer :: status
    if (present(default) .and. find(key, 1) == 0) then
      deck_integer = default
      return
    end if
    word = deck_word(key, '')
    read (word, *, iostat=status) deck_integer
    if (status /= 0) &
      call deck_refuse(find(key, 1), "'" // key // "' wants a whole number, got '" // trim(word) // "'")
  end function

  ! The numbers of all lines of a key, a line a column.
  function deck_rows(key, numbers) result(rows)
    character(len=*), intent(in) :: key
    integer, intent(in) :: numbers
    real(real64), allocatable :: rows(:, :)
    real(real64) :: row(numbers)
    integer :: line, status
    allocate (rows(numbers, 0))
    line = find(key, 1)
    do while (line > 0)
      read (lines(line)(len(key) + 1:), *, iostat=status) row
      if (status /= 0) call deck_refuse(line, "'" // key // "' wants more numbers")
      rows = reshape([rows, row], [numbers, size(rows, 2) + 1])
      line = find(key, line + 1)
    end do
  end function
end module
