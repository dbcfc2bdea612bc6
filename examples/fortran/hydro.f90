! hydro: gas dynamics with overlapped halos, in Fortran; the same answers, bit by bit, as ../hydro in C.
!
!     mpiexec -n RANKS hydro DECK
!
! Halos travel as array sections, without buffers of their own. Exit status: 0 where the field has the deck's checksum and
! mass, momentum and energy are conserved, 1 for a wrong answer, 2 for a bad deck or command line.
module mesh
  use mpi_f08
  use grids
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: dp = real64, ghosts = 2, fields = 4
  type(grid) :: g
  integer :: nx, ny
  real(dp) :: dx, dy
  logical :: periodic_x, periodic_y
  integer :: neighbour(-1:1, -1:1)  ! MPI_PROC_NULL where a wall is
  type(MPI_Request) :: requests(18)
  integer :: request_count = 0

contains

  subroutine mesh_create()
    integer :: x, y, column, row
    nx = g%x1 - g%x0
    ny = g%y1 - g%y0
    do y = -1, 1
      do x = -1, 1
        column = g%column + x
        row = g%row + y
        if (periodic_x) column = modulo(column, g%columns)
        if (periodic_y) row = modulo(row, g%rows)
        neighbour(x, y) = grid_rank(g, column, row)
      end do
    end do
    neighbour(0, 0) = MPI_PROC_NULL
  end subroutine

  logical function wall(x, y)
    integer, intent(in) :: x, y
    wall = neighbour(x, y) == MPI_PROC_NULL
  end function

  ! The owned cells that go to a neighbour, or the ghosts that come from it.
  pure subroutine span(d, n, outside, from, to)
    integer, intent(in) :: d, n
    logical, intent(in) :: outside
    integer, intent(out) :: from, to
    select case (d)
    case (0)
      from = 0
      to = n - 1
      return
    case (-1)
      from = merge(-ghosts, 0, outside)
    case default
      from = merge(n, n - ghosts, outside)
    end select
    to = from + ghosts - 1
  end subroutine

  ! A message's tag is the direction that it travels, so that two neighbours that are one rank stay apart.
  integer function tag(x, y)
    integer, intent(in) :: x, y
    tag = (y + 1) * 3 + x + 1
  end function

  ! Starts to exchange ghosts; owned cells may be read until it is finished.
  subroutine exchange_start(q)
    real(dp), intent(inout), asynchronous :: q(-ghosts:, -ghosts:, :)
    integer :: x, y, x0, x1, y0, y1
    request_count = 0
    do y = -1, 1
      do x = -1, 1
        if (wall(x, y) .or. neighbour(x, y) == g%rank) cycle
        call span(x, nx, .true., x0, x1)
        call span(y, ny, .true., y0, y1)
        request_count = request_count + 1
        call MPI_Irecv(q(x0:x1, y0:y1, :), (x1 - x0 + 1) * (y1 - y0 + 1) * fields, MPI_REAL8, neighbour(x, y), &
          tag(-x, -y), MPI_COMM_WORLD, requests(request_count))
      end do
    end do
    do y = -1, 1
      do x = -1, 1
        if (wall(x, y) .or. neighbour(x, y) == g%rank) cycle
        call span(x, nx, .false., x0, x1)
        call span(y, ny, .false., y0, y1)
        request_count = request_count + 1
        call MPI_Isend(q(x0:x1, y0:y1, :), (x1 - x0 + 1) * (y1 - y0 + 1) * fields, MPI_REAL8, neighbour(x, y), &
          tag(x, y), MPI_COMM_WORLD, requests(request_count))
      end do
    end do
  end subroutine

  subroutine exchange_finish(q)
    real(dp), intent(inout), asynchronous :: q(-ghosts:, -ghosts:, :)
    integer :: x, y, x0, x1, y0, y1, u0, u1, v0, v1, k
    call MPI_Waitall(request_count, requests, MPI_STATUSES_IGNORE)
    do y = -1, 1
      do x = -1, 1
        if (neighbour(x, y) /= g%rank) cycle
        ! The rank is its own neighbour: what it would send the other way.
        call span(x, nx, .true., x0, x1)
        call span(y, ny, .true., y0, y1)
        call span(-x, nx, .false., u0, u1)
        call span(-y, ny, .false., v0, v1)
        q(x0:x1, y0:y1, :) = q(u0:u1, v0:v1, :)
      end do
    end do
    ! Mirrors at walls: the velocity across the wall changes its sign.
    do k = 0, ghosts - 1
      if (wall(-1, 0)) call mirror(q(-1 - k, :, :), q(k, :, :), 2)
      if (wall(1, 0)) call mirror(q(nx + k, :, :), q(nx - 1 - k, :, :), 2)
    end do
    do k = 0, ghosts - 1
      if (wall(0, -1)) call mirror(q(:, -1 - k, :), q(:, k, :), 3)
      if (wall(0, 1)) call mirror(q(:, ny + k, :), q(:, ny - 1 - k, :), 3)
    end do
  end subroutine

  subroutine mirror(ghost, owned, across)
    real(dp), intent(inout) :: ghost(:, :)
    real(dp), intent(in) :: owned(:, :)
    integer, intent(in) :: across
    ghost = owned
    ghost(:, across) = -ghost(:, across)
  end subroutine
end module

! The compressible Euler equations: MUSCL-Hancock, second order, with the HLLC Riemann solver. Each new value depends on old
! values alone, by the same operations in the same order whoever computes it.
module euler
  use mesh
  use, intrinsic :: ieee_arithmetic, only: ieee_is_finite
  implicit none
  real(dp) :: gamma
  ! Conserved: mass, momenta, energy. Primitive: density, velocities, pressure. The middle is half a step later.
  real(dp), allocatable, dimension(:, :, :) :: conserved, middle, slope_x, slope_y
  real(dp), allocatable, asynchronous :: primitive(:, :, :)
  real(dp) :: wall_impulse(2) = 0

contains

  subroutine fluid_create()
    allocate (conserved(-ghosts:nx + ghosts - 1, -ghosts:ny + ghosts - 1, fields), source=0.0_dp)
    allocate (primitive, middle, slope_x, slope_y, mold=conserved)
    primitive = 0
    middle = 0
    slope_x = 0
    slope_y = 0
  end subroutine

  subroutine fluid_conserve()
    integer :: x, y
    real(dp) :: d, u, v
    do y = 0, ny - 1
      do x = 0, nx - 1
        d = primitive(x, y, 1)
        u = primitive(x, y, 2)
        v = primitive(x, y, 3)
        conserved(x, y, :) = [d, d * u, d * v, primitive(x, y, 4) / (gamma - 1) + 0.5_dp * d * (u * u + v * v)]
      end do
    end do
  end subroutine

  subroutine fluid_primitive()
    integer :: x, y
    real(dp) :: d, u, v
    do y = 0, ny - 1
      do x = 0, nx - 1
        d = conserved(x, y, 1)
        u = conserved(x, y, 2) / d
        v = conserved(x, y, 3) / d
        primitive(x, y, :) = [d, u, v, (gamma - 1) * (conserved(x, y, 4) - 0.5_dp * d * (u * u + v * v))]
      end do
    end do
  end subroutine

  ! The longest stable step of the owned cells; -1 where the state is not physical.
  real(dp) function fluid_step()
    integer :: x, y
    real(dp) :: d, p, sound, speed, fastest
    fastest = 0
    fluid_step = -1
    do y = 0, ny - 1
      do x = 0, nx - 1
        d = primitive(x, y, 1)
        p = primitive(x, y, 4)
        if (.not. (d > 0 .and. p > 0)) return
        sound = sqrt(gamma * p / d)
        speed = (abs(primitive(x, y, 2)) + sound) / dx + (abs(primitive(x, y, 3)) + sound) / dy
        if (.not. ieee_is_finite(speed)) return
        if (speed > fastest) fastest = speed
      end do
    end do
    fluid_step = 1 / fastest
  end function

  ! Monotonised central difference: zero at an extremum, never steeper than twice a one-sided difference.
  pure real(dp) function limited(left, centre, right)
    real(dp), intent(in) :: left, centre, right
    real(dp) :: l, r
    l = centre - left
    r = right - centre
    limited = 0
    if (l * r <= 0) return
    limited = min(0.5_dp * abs(l + r), 2 * min(abs(l), abs(r)))
    if (.not. l > 0) limited = -limited
  end function

  ! Slopes of cells, and their primitives half a step later; first order where a face would get a negative density or
  ! pressure.
  subroutine predict(dt, x0, x1, y0, y1)
    real(dp), intent(in) :: dt
    integer, intent(in) :: x0, x1, y0, y1
    real(dp), dimension(fields) :: w, sx, sy, mid
    real(dp) :: hx, hy, d, u, v, gp
    integer :: x, y, i
    hx = 0.5_dp * dt / dx
    hy = 0.5_dp * dt / dy
    do y = y0, y1 - 1
      do x = x0, x1 - 1
        do i = 1, fields
          w(i) = primitive(x, y, i)
          sx(i) = limited(primitive(x - 1, y, i), w(i), primitive(x + 1, y, i))
          sy(i) = limited(primitive(x, y - 1, i), w(i), primitive(x, y + 1, i))
        end do
        d = w(1)
        u = w(2)
        v = w(3)
        gp = gamma * w(4)
        mid(1) = d - hx * (u * sx(1) + d * sx(2)) - hy * (v * sy(1) + d * sy(3))
        mid(2) = u - hx * (u * sx(2) + sx(4) / d) - hy * (v * sy(2))
        mid(3) = v - hx * (u * sx(3)) - hy * (v * sy(3) + sy(4) / d)
        mid(4) = w(4) - hx * (u * sx(4) + gp * sx(2)) - hy * (v * sy(4) + gp * sy(3))
        if (any(mid([1, 4]) - 0.5_dp * abs(sx([1, 4])) <= 0) .or. any(mid([1, 4]) - 0.5_dp * abs(sy([1, 4])) <= 0)) then
          mid = w
          sx = 0
          sy = 0
        end if
        middle(x, y, :) = mid
        slope_x(x, y, :) = sx
        slope_y(x, y, :) = sy
      end do
    end do
  end subroutine

  ! HLLC flux through a face: n is the index of the velocity across it, t of the one along it.
  pure function hllc(n, t, left, right) result(flux)
    integer, intent(in) :: n, t
    real(dp), intent(in) :: left(fields), right(fields)
    real(dp) :: flux(fields), w(fields), cl, cr, sl, sr, ml, mr, contact, outer, energy, star, star_energy
    cl = sqrt(gamma * left(4) / left(1))
    cr = sqrt(gamma * right(4) / right(1))
    sl = min(left(n) - cl, right(n) - cr)
    sr = max(left(n) + cl, right(n) + cr)
    ml = left(1) * (sl - left(n))
    mr = right(1) * (sr - right(n))
    contact = (right(4) - left(4) + ml * left(n) - mr * right(n)) / (ml - mr)
    if (contact >= 0) then
      w = left
      outer = sl
    else
      w = right
      outer = sr
    end if
    energy = w(4) / (gamma - 1) + 0.5_dp * w(1) * (w(n) * w(n) + w(t) * w(t))
    flux(1) = w(1) * w(n)
    flux(n) = w(1) * w(n) * w(n) + w(4)
    flux(t) = w(1) * w(n) * w(t)
    flux(4) = (energy + w(4)) * w(n)
    if ((contact >= 0 .and. sl >= 0) .or. (contact < 0 .and. sr <= 0)) return
    star = w(1) * (outer - w(n)) / (outer - contact)
    star_energy = star * (energy / w(1) + (contact - w(n)) * (contact + w(4) / (w(1) * (outer - w(n)))))
    flux(1) = flux(1) + outer * (star - w(1))
    flux(n) = flux(n) + outer * (star * contact - w(1) * w(n))
    flux(t) = flux(t) + outer * (star * w(t) - w(1) * w(t))
    flux(4) = flux(4) + outer * (star_energy - energy)
  end function

  ! New conserved values of a rectangle of owned cells, whose predicted values are known one cell beyond.
  subroutine update(dt, x0, x1, y0, y1)
    real(dp), intent(in) :: dt
    integer, intent(in) :: x0, x1, y0, y1
    real(dp) :: across(fields, x0:max(x0, x1)), along(fields, x0:max(x0, x1), 0:1)
    real(dp) :: rx, ry
    integer :: x, y, i, below, above
    if (x1 <= x0 .or. y1 <= y0) return
    rx = dt / dx
    ry = dt / dy
    call row_of_faces(y0, along(:, :, 0))
    do y = y0, y1 - 1
      below = mod(y - y0, 2)
      above = 1 - below
      call row_of_faces(y + 1, along(:, :, above))
      do x = x0, x1
        across(:, x) = hllc(2, 3, middle(x - 1, y, :) + 0.5_dp * slope_x(x - 1, y, :), &
          middle(x, y, :) - 0.5_dp * slope_x(x, y, :))
      end do
      do x = x0, x1 - 1
        do i = 1, fields
          conserved(x, y, i) = conserved(x, y, i) - (rx * (across(i, x + 1) - across(i, x)) + &
            ry * (along(i, x, above) - along(i, x, below)))
        end do
        if (wall(0, 1) .and. y1 == ny .and. y == y1 - 1) &
          wall_impulse(2) = wall_impulse(2) + along(3, x, above) * dt * dx
        if (wall(0, -1) .and. y0 == 0 .and. y == y0) wall_impulse(2) = wall_impulse(2) - along(3, x, below) * dt * dx
      end do
      if (wall(1, 0) .and. x1 == nx) wall_impulse(1) = wall_impulse(1) + across(2, x1) * dt * dy
      if (wall(-1, 0) .and. x0 == 0) wall_impulse(1) = wall_impulse(1) - across(2, x0) * dt * dy
    end do

  contains

    subroutine row_of_faces(y, flux)
      integer, intent(in) :: y
      real(dp), intent(out) :: flux(fields, x0:x1)
      integer :: x
      do x = x0, x1 - 1
        flux(:, x) = hllc(3, 2, middle(x, y - 1, :) + 0.5_dp * slope_y(x, y - 1, :), &
          middle(x, y, :) - 0.5_dp * slope_y(x, y, :))
      end do
    end subroutine
  end subroutine

  ! Cells two or more from the block's edge are advanced while the ghosts travel; then the others.
  subroutine advance_inner(dt)
    real(dp), intent(in) :: dt
    call predict(dt, 1, nx - 1, 1, ny - 1)
    call update(dt, 2, nx - 2, 2, ny - 2)
  end subroutine

  subroutine advance_outer(dt)
    real(dp), intent(in) :: dt
    call predict(dt, -1, nx + 1, -1, 1)
    call predict(dt, -1, nx + 1, ny - 1, ny + 1)
    call predict(dt, -1, 1, 1, ny - 1)
    call predict(dt, nx - 1, nx + 1, 1, ny - 1)
    call update(dt, 0, nx, 0, 2)
    call update(dt, 0, nx, ny - 2, ny)
    call update(dt, 0, 2, 2, ny - 2)
    call update(dt, nx - 2, nx, 2, ny - 2)
  end subroutine
end module

program main
  use mpi_f08
  use decks
  use euler
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  real(dp), parameter :: tolerance = 1e-12_dp
  real(dp), allocatable :: left(:, :), right(:, :), whole(:, :, :)
  real(dp) :: width, height, end_time, courant, density, pressure, energy, radius, blast, time, dt, mine, start, seconds
  real(dp) :: before(fields), after(fields), impulse(2), lost
  integer :: n(2), x, y, steps, most, cells
  character(len=16) :: found
  logical :: sod, good
  call MPI_Init()
  call deck_read(program_deck('hydro'), ' problem nx ny width height steps end_time gamma courant boundary_x ' // &
    'boundary_y density pressure energy radius left right tolerance checksum ')
  sod = deck_word('problem', '') == 'sod'
  n = [deck_integer('nx'), deck_integer('ny')]
  width = deck_real('width', 1.0_dp)
  height = deck_real('height', 1.0_dp)
  most = deck_integer('steps', 1000000)
  end_time = deck_real('end_time')
  gamma = deck_real('gamma', 1.4_dp)
  courant = deck_real('courant', 0.8_dp)
  periodic_x = deck_word('boundary_x', 'reflect') == 'periodic'
  periodic_y = deck_word('boundary_y', 'reflect') == 'periodic'
  density = deck_real('density', 1.0_dp)
  pressure = deck_real('pressure', 1e-5_dp)
  energy = deck_real('energy', 1.0_dp)
  radius = deck_real('radius', 0.0_dp)
  left = deck_rows('left', 3)
  right = deck_rows('right', 3)
  if (sod .and. (size(left, 2) /= 1 .or. size(right, 2) /= 1)) &
    call deck_refuse(0, "problem sod wants one 'left' and one 'right'")
  if (any(n < 4)) call deck_refuse(0, "'nx' and 'ny' must be at least 4")
  if (.not. grid_create(g, n(1), n(2), 2 * ghosts)) &
    call deck_refuse(0, 'these cells cannot be cut into so many blocks')
  dx = width / n(1)
  dy = height / n(2)
  call mesh_create()
  call fluid_create()
  cells = 0
  do y = 0, n(2) - 1
    do x = 0, n(1) - 1
      if (distance(x, y) < radius) cells = cells + 1
    end do
  end do
  if (.not. sod .and. cells == 0) call deck_refuse(0, "problem sedov wants a 'radius' that holds the centre of a cell")
  blast = 0
  if (.not. sod) blast = (gamma - 1) * energy / (real(cells, dp) * (width / n(1)) * (height / n(2)))
  do y = g%y0, g%y1 - 1
    do x = g%x0, g%x1 - 1
      if (sod) then
        associate (s => merge(left(:, 1), right(:, 1), 2 * x + 1 < n(1)))
          primitive(x - g%x0, y - g%y0, :) = [s(1), s(2), 0.0_dp, s(3)]
        end associate
      else
        primitive(x - g%x0, y - g%y0, :) = [density, 0.0_dp, 0.0_dp, merge(blast, pressure, distance(x, y) < radius)]
      end if
    end do
  end do
  call fluid_conserve()
  if (g%rank == 0) print '(a,i0,a,i0,a,i0,a,i0,a,i0)', 'hydro: ', n(1), ' x ', n(2), ' cells, ', g%ranks, ' ranks as ', &
    g%columns, ' x ', g%rows
  before = totals()
  start = MPI_Wtime()
  time = 0
  good = .true.
  do steps = 0, most - 1
    if (.not. time < end_time) exit
    call fluid_primitive()
    mine = fluid_step()
    call MPI_Allreduce(mine, dt, 1, MPI_REAL8, MPI_MIN, MPI_COMM_WORLD)
    good = dt > 0
    if (.not. good) exit
    dt = merge(courant * dt, end_time - time, courant * dt < end_time - time)
    call exchange_start(primitive)
    call advance_inner(dt)
    call exchange_finish(primitive)
    call advance_outer(dt)
    if (dt == end_time - time) then
      time = end_time
    else
      time = time + dt
    end if
  end do
  seconds = MPI_Wtime() - start
  after = totals()
  call MPI_Allreduce(wall_impulse, impulse, 2, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD)
  call grid_gather(g, conserved(0:nx - 1, 0:ny - 1, :), fields, whole)
  if (g%rank == 0) then
    found = checksum(whole)
    lost = max(abs(after(1) - before(1)) / before(1), abs(after(4) - before(4)) / before(4), &
      maxval(abs(after(2:3) + impulse - before(2:3))) / sqrt(2 * before(1) * before(4)))
    print '(a,i0,a,f0.6,a,es9.2,2a)', 'steps: ', steps, ' to time ', time, ', loss ', lost, ', checksum ', found
    if (.not. good) write (error_unit, '(a,i0)') 'hydro: FAILED: density or pressure is not positive after step ', steps
    if (.not. lost <= tolerance) then
      write (error_unit, '(a,es9.2,a)') 'hydro: FAILED: mass, momentum or energy is not conserved: ', lost, ' is missing'
      good = .false.
    end if
    if (found /= deck_word('checksum', '?')) then
      write (error_unit, '(4a)') 'hydro: FAILED: the field has checksum ', found, ', the deck says ', &
        deck_word('checksum', '?')
      good = .false.
    end if
    if (good) print '(a)', "verified: field has the deck's checksum, mass, momentum and energy conserved"
    print '(a,f0.4,a)', 'time: ', seconds, ' s'
  end if
  call MPI_Bcast(good, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (.not. good) stop 1, quiet=.true.

contains

  real(dp) function distance(x, y)
    integer, intent(in) :: x, y
    real(dp) :: ax, ay
    ax = (x + 0.5_dp) * width / n(1) - 0.5_dp * width
    ay = (y + 0.5_dp) * height / n(2) - 0.5_dp * height
    distance = sqrt(ax * ax + ay * ay)
  end function

  ! Sums over the domain, with Neumaier's compensation, then over the ranks.
  function totals() result(all)
    real(dp) :: all(fields), sums(fields), sum, lost, next, v
    integer :: x, y, i
    do i = 1, fields
      sum = 0
      lost = 0
      do y = 0, ny - 1
        do x = 0, nx - 1
          v = conserved(x, y, i)
          next = sum + v
          lost = lost + merge((sum - next) + v, (v - next) + sum, abs(sum) >= abs(v))
          sum = next
        end do
      end do
      sums(i) = (sum + lost) * dx * dy
    end do
    call MPI_Allreduce(sums, all, fields, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD)
  end function
end program
