! sweep: particle transport as a wavefront, in Fortran; the same answers, bit by bit, as ../sweep in C.
!
!     mpiexec -n RANKS sweep DECK
!
! Exit status: 0 where the flux has the deck's checksum and particles are balanced, 1 for a wrong answer, 2 for a bad
! deck or command line.
module transport
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: dp = real64, most_angles = 36

  ! Level-symmetric directions of one octant; the weights of all eight octants add up to 1.
  integer :: angles = 0
  real(dp) :: mu(most_angles), eta(most_angles), xi(most_angles), weight(most_angles)

  ! The cells of this rank.
  integer :: nx, ny, nz
  real(dp) :: dx, dy, dz
  real(dp), allocatable, dimension(:, :, :) :: sigma_total, sigma_scatter, external, source, flux

  ! A direction of travel and what is solved at once.
  type :: stage
    integer :: sx, sy, sz
    integer :: first_angle, angles
    integer :: first_plane, planes
  end type

contains

  logical function quadrature_create(order)
    integer, intent(in) :: order
    real(dp) :: level(8), weights(8), sum
    integer :: class_of(3, 8), i, j, k, levels, m
    class_of = 0
    weights = 0
    quadrature_create = .true.
    select case (order)
    case (4)
      level(1:2) = [0.3500212_dp, 0.8688903_dp]
      weights(1) = 0.3333333_dp
      class_of(:, 1) = [1, 1, 2]
    case (6)
      level(1:3) = [0.2666355_dp, 0.6815076_dp, 0.9261808_dp]
      weights(1:2) = [0.1761263_dp, 0.1572071_dp]
      class_of(:, 1:2) = reshape([1, 1, 3, 1, 2, 2], [3, 2])
    case (8)
      level(1:4) = [0.2182179_dp, 0.5773503_dp, 0.7867958_dp, 0.9511897_dp]
      weights(1:3) = [0.1209877_dp, 0.0907407_dp, 0.0925926_dp]
      class_of(:, 1:3) = reshape([1, 1, 4, 1, 2, 3, 2, 2, 2], [3, 3])
    case (12)
      level(1:6) = [0.1672126_dp, 0.4595476_dp, 0.6280191_dp, 0.7600210_dp, 0.8722706_dp, 0.9716377_dp]
      weights(1:5) = [0.0707626_dp, 0.0558811_dp, 0.0373377_dp, 0.0502819_dp, 0.0258513_dp]
      class_of(:, 1:5) = reshape([1, 1, 6, 1, 2, 5, 1, 3, 4, 2, 2, 4, 2, 3, 3], [3, 5])
    case (16)
      level = [0.1389568_dp, 0.3922893_dp, 0.5370966_dp, 0.6504264_dp, 0.7467506_dp, 0.8319966_dp, 0.9092855_dp, &
        0.9805009_dp]
      weights = [0.0489872_dp, 0.0413296_dp, 0.0212326_dp, 0.0256207_dp, 0.0360486_dp, 0.0144589_dp, 0.0344958_dp, &
        0.0085179_dp]
      class_of = reshape([1, 1, 8, 1, 2, 7, 1, 3, 6, 1, 4, 5, 2, 2, 6, 2, 3, 5, 2, 4, 4, 3, 3, 4], [3, 8])
    case default
      quadrature_create = .false.
      return
    end select
    levels = order / 2
    sum = 0
    do k = 1, levels
      do j = 1, levels + 1 - k
        i = levels + 2 - j - k
        angles = angles + 1
        mu(angles) = level(i)
        eta(angles) = level(j)
        xi(angles) = level(k)
        weight(angles) = weight_of(i, j, k)
        sum = sum + weight(angles)
      end do
    end do
    do m = 1, angles
      weight(m) = weight(m) / (8 * sum)
    end do

  contains

    real(dp) function weight_of(i, j, k)
      integer, intent(in) :: i, j, k
      integer :: low, high, c
      low = min(i, j, k)
      high = max(i, j, k)
      weight_of = 0
      do c = 8, 1, -1
        if (all(class_of(:, c) == [low, i + j + k - low - high, high])) weight_of = weights(c)
      end do
    end function
  end function

  ! One cell and angle where the diamond relation gave a negative outflow: such an outflow is set to zero and the cell
  ! balanced anew, until none is negative.
  subroutine fix_up(born, sigma, a, in, psi, out)
    real(dp), intent(in) :: born, sigma, a(3), in(3)
    real(dp), intent(out) :: psi, out(3)
    real(dp) :: numerator, denominator
    logical :: zeroed(3), again
    integer :: d
    zeroed = .false.
    do
      numerator = born
      denominator = sigma
      do d = 1, 3
        if (zeroed(d)) then
          numerator = numerator + 0.5_dp * a(d) * in(d)
        else
          numerator = numerator + a(d) * in(d)
          denominator = denominator + a(d)
        end if
      end do
      psi = numerator / denominator
      again = .false.
      do d = 1, 3
        if (zeroed(d)) cycle
        out(d) = 2 * psi - in(d)
        if (out(d) < 0) then
          out(d) = 0
          zeroed(d) = .true.
          again = .true.
        end if
      end do
      if (.not. again) return
    end do
  end subroutine

  ! Solves one stage in place: the angular flux holds the inflow before and the outflow after. Returns how many (cell,
  ! angle) pairs needed a fixup.
  integer function stage_solve(s, psi_x, psi_y, psi_z) result(fixups)
    type(stage), intent(in) :: s
    real(dp), intent(inout) :: psi_x(:, :, :), psi_y(:, :, :), psi_z(:, :, :)
    real(dp), dimension(most_angles) :: cx, cy, cz, sum, w
    real(dp) :: psi, out(3), in(3)
    integer :: p, i, j, k, ii, jj, m
    do m = 1, s%angles
      cx(m) = 2 * mu(s%first_angle + m) / dx
      cy(m) = 2 * eta(s%first_angle + m) / dy
      cz(m) = 2 * xi(s%first_angle + m) / dz
      sum(m) = cx(m) + cy(m) + cz(m)
      w(m) = weight(s%first_angle + m)
    end do
    fixups = 0
    do p = 1, s%planes
      k = merge(s%first_plane + p, nz + 1 - s%first_plane - p, s%sz > 0)
      do jj = 1, ny
        j = merge(jj, ny + 1 - jj, s%sy > 0)
        do ii = 1, nx
          i = merge(ii, nx + 1 - ii, s%sx > 0)
          do m = 1, s%angles
            in = [psi_x(m, j, p), psi_y(m, i, p), psi_z(m, i, j)]
            psi = (source(i, j, k) + cx(m) * in(1) + cy(m) * in(2) + cz(m) * in(3)) / (sigma_total(i, j, k) + sum(m))
            out = 2 * psi - in
            if (any(out < 0)) then
              call fix_up(source(i, j, k), sigma_total(i, j, k), [cx(m), cy(m), cz(m)], in, psi, out)
              fixups = fixups + 1
            end if
            psi_x(m, j, p) = out(1)
            psi_y(m, i, p) = out(2)
            psi_z(m, i, j) = out(3)
            flux(i, j, k) = flux(i, j, k) + w(m) * psi
          end do
        end do
      end do
    end do
  end function
end module

! The wavefront over the grid of ranks: eight octants, each in blocks of angles and planes. The receives of the next stage
! are posted before this one is solved, or, in the variant that blocks, nothing is.
module wavefront
  use mpi_f08
  use grids
  use transport
  implicit none
  integer, parameter :: tag_x = 1, tag_y = 2
  integer :: planes_a_stage, angles_a_stage
  logical :: blocks
  type(grid) :: g
  ! Two of each: one computes while the other travels.
  real(dp), allocatable, asynchronous :: psi_x(:, :, :, :), psi_y(:, :, :, :)
  real(dp), allocatable :: psi_z(:, :, :)
  integer :: fixups = 0
  real(dp) :: leakage

  type :: step
    type(stage) :: s
    integer :: from_x, to_x, from_y, to_y, count_x, count_y
    logical :: starts, ends
  end type

contains

  pure integer function blocks_of(whole, part)
    integer, intent(in) :: whole, part
    blocks_of = (whole + part - 1) / part
  end function

  integer function step_count()
    step_count = 8 * blocks_of(angles, angles_a_stage) * blocks_of(nz, planes_a_stage)
  end function

  type(step) function step_at(at) result(t)
    integer, intent(in) :: at
    integer :: k_blocks, angle_blocks, k_block, angle_block, octant
    k_blocks = blocks_of(nz, planes_a_stage)
    angle_blocks = blocks_of(angles, angles_a_stage)
    k_block = mod(at, k_blocks)
    angle_block = mod(at / k_blocks, angle_blocks)
    octant = at / k_blocks / angle_blocks
    t%s%sz = merge(1, -1, btest(octant, 0))
    t%s%sx = merge(1, -1, btest(octant, 1))
    t%s%sy = merge(1, -1, btest(octant, 2))
    t%s%first_angle = angle_block * angles_a_stage
    t%s%angles = min(angles - t%s%first_angle, angles_a_stage)
    t%s%first_plane = k_block * planes_a_stage
    t%s%planes = min(nz - t%s%first_plane, planes_a_stage)
    t%from_x = grid_rank(g, g%column - t%s%sx, g%row)
    t%to_x = grid_rank(g, g%column + t%s%sx, g%row)
    t%from_y = grid_rank(g, g%column, g%row - t%s%sy)
    t%to_y = grid_rank(g, g%column, g%row + t%s%sy)
    t%count_x = t%s%planes * ny * t%s%angles
    t%count_y = t%s%planes * nx * t%s%angles
    t%starts = k_block == 0
    t%ends = k_block == k_blocks - 1
  end function

  subroutine wavefront_create()
    allocate (psi_x(angles_a_stage, ny, planes_a_stage, 0:1), psi_y(angles_a_stage, nx, planes_a_stage, 0:1))
    allocate (psi_z(angles_a_stage, nx, ny))
  end subroutine

  ! Particles a second that cross a face.
  real(dp) function crossing(psi, s, cosine, area)
    real(dp), intent(in) :: psi(:, :, :), cosine(:), area
    type(stage), intent(in) :: s
    integer :: i, j, m
    crossing = 0
    do j = 1, size(psi, 3)
      do i = 1, size(psi, 2)
        do m = 1, s%angles
          crossing = crossing + weight(s%first_angle + m) * cosine(s%first_angle + m) * psi(m, i, j)
        end do
      end do
    end do
    crossing = crossing * area
  end function

  subroutine solve(t, px, py)
    type(step), intent(in) :: t
    real(dp), intent(inout) :: px(:, :, :), py(:, :, :)
    if (t%from_x == MPI_PROC_NULL) px = 0
    if (t%from_y == MPI_PROC_NULL) py = 0
    if (t%starts) psi_z = 0
    fixups = fixups + stage_solve(t%s, px, py, psi_z)
    if (t%to_x == MPI_PROC_NULL) leakage = leakage + crossing(px(:, :, :t%s%planes), t%s, mu, dy * dz)
    if (t%to_y == MPI_PROC_NULL) leakage = leakage + crossing(py(:, :, :t%s%planes), t%s, eta, dx * dz)
    if (t%ends) leakage = leakage + crossing(psi_z, t%s, xi, dx * dy)
  end subroutine

  ! The last block of angles may be smaller than the array: then a message is an array section with gaps.
  subroutine post_receives(at, requests)
    integer, intent(in) :: at
    type(MPI_Request), intent(inout) :: requests(4)
    type(step) :: t
    if (at == step_count()) return
    t = step_at(at)
    if (t%from_x /= MPI_PROC_NULL) call MPI_Irecv(psi_x(:t%s%angles, :, :t%s%planes, mod(at, 2)), t%count_x, &
      MPI_REAL8, t%from_x, tag_x, MPI_COMM_WORLD, requests(1))
    if (t%from_y /= MPI_PROC_NULL) call MPI_Irecv(psi_y(:t%s%angles, :, :t%s%planes, mod(at, 2)), t%count_y, &
      MPI_REAL8, t%from_y, tag_y, MPI_COMM_WORLD, requests(2))
  end subroutine

  subroutine sweep()
    type(MPI_Request) :: requests(4)
    type(step) :: t
    integer :: at, turn
    leakage = 0
    requests = MPI_REQUEST_NULL
    if (.not. blocks) call post_receives(0, requests)
    do at = 0, step_count() - 1
      t = step_at(at)
      turn = mod(at, 2)
      if (blocks) call post_receives(at, requests)
      call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
      if (.not. blocks) call post_receives(at + 1, requests)
      call solve(t, psi_x(:, :, :, turn), psi_y(:, :, :, turn))
      if (t%to_x /= MPI_PROC_NULL) call MPI_Isend(psi_x(:t%s%angles, :, :t%s%planes, turn), t%count_x, MPI_REAL8, &
        t%to_x, tag_x, MPI_COMM_WORLD, requests(3))
      if (t%to_y /= MPI_PROC_NULL) call MPI_Isend(psi_y(:t%s%angles, :, :t%s%planes, turn), t%count_y, MPI_REAL8, &
        t%to_y, tag_y, MPI_COMM_WORLD, requests(4))
      if (blocks) call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    end do
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
  end subroutine
end module

program main
  use mpi_f08
  use decks
  use grids
  use transport
  use wavefront
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  real(dp), parameter :: tolerance = 1e-11_dp
  real(dp), allocatable :: regions(:, :), old(:, :, :), whole(:, :, :)
  real(dp) :: change, epsilon, mine(2), everyone(2), balance, x, y, z, start, seconds
  integer :: iteration, most, i, j, k, r, all_fixups, n(3)
  character(len=16) :: found
  logical :: good
  call MPI_Init()
  call deck_read(program_deck('sweep'), ' nx ny nz dx dy dz sn mk mmi iterations epsilon variant sigma_total ' // &
    'sigma_scatter source region checksum ')
  n = [deck_integer('nx'), deck_integer('ny'), deck_integer('nz')]
  dx = deck_real('dx', 1.0_dp)
  dy = deck_real('dy', 1.0_dp)
  dz = deck_real('dz', 1.0_dp)
  planes_a_stage = deck_integer('mk', 4)
  angles_a_stage = deck_integer('mmi', 3)
  most = deck_integer('iterations')
  epsilon = deck_real('epsilon', 0.0_dp)
  blocks = deck_word('variant', 'nonblocking') == 'blocking'
  regions = deck_rows('region', 9)
  if (.not. quadrature_create(deck_integer('sn', 6))) call deck_refuse(0, "'sn' must be one of 4, 6, 8, 12, 16")
  if (any(n < 1) .or. planes_a_stage < 1 .or. planes_a_stage > n(3) .or. angles_a_stage < 1 .or. &
    angles_a_stage > angles) call deck_refuse(0, "'nx', 'ny', 'nz', 'mk' or 'mmi' is out of range")
  if (.not. grid_create(g, n(1), n(2), 1)) call deck_refuse(0, 'these cells cannot be cut into so many blocks')
  nx = g%x1 - g%x0
  ny = g%y1 - g%y0
  nz = n(3)
  allocate (sigma_total(nx, ny, nz), sigma_scatter(nx, ny, nz), external(nx, ny, nz), source(nx, ny, nz), &
    flux(nx, ny, nz), old(nx, ny, nz))
  sigma_total = deck_real('sigma_total')
  sigma_scatter = deck_real('sigma_scatter')
  external = deck_real('source')
  do k = 1, nz
    do j = 1, ny
      do i = 1, nx
        x = (g%x0 + i - 1 + 0.5_dp) * dx
        y = (g%y0 + j - 1 + 0.5_dp) * dy
        z = (k - 1 + 0.5_dp) * dz
        do r = 1, size(regions, 2)
          if (x < regions(1, r) .or. x >= regions(2, r) .or. y < regions(3, r) .or. y >= regions(4, r) .or. &
            z < regions(5, r) .or. z >= regions(6, r)) cycle
          sigma_total(i, j, k) = regions(7, r)
          sigma_scatter(i, j, k) = regions(8, r)
          external(i, j, k) = regions(9, r)
        end do
      end do
    end do
  end do
  if (g%rank == 0) print '(a,3(1x,i0),a,i0,a,i0,a,i0)', 'sweep:', n, ' cells, ', g%ranks, ' ranks as ', g%columns, &
    ' x ', g%rows
  call wavefront_create()
  flux = 0
  start = MPI_Wtime()
  do iteration = 1, most
    old = flux
    flux = 0
    source = external + sigma_scatter * old
    call sweep()
    change = maxval(abs(flux - old) / max(abs(flux), 1e-30_dp))
    call MPI_Allreduce(MPI_IN_PLACE, change, 1, MPI_REAL8, MPI_MAX, MPI_COMM_WORLD)
    if (change < epsilon) exit
  end do
  seconds = MPI_Wtime() - start
  ! What was born must have been absorbed, scattered, or leaked.
  mine = [sum(source), leakage / (dx * dy * dz) + sum(sigma_total * flux)]
  call MPI_Allreduce(mine, everyone, 2, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD)
  balance = (everyone(1) - everyone(2)) / everyone(1)
  call MPI_Reduce(fixups, all_fixups, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
  call grid_gather(g, flux, nz, whole)
  good = .true.
  if (g%rank == 0) then
    found = checksum(whole)
    print '(a,i0,a,es9.3,a,i0,2a)', 'iterations: ', min(iteration, most), ', change ', change, ', fixups ', all_fixups, &
      ', checksum ', found
    good = abs(balance) <= tolerance
    if (.not. good) write (error_unit, '(a,es9.2)') 'sweep: FAILED: particles are not balanced: ', balance
    if (found /= deck_word('checksum', '?')) then
      write (error_unit, '(4a)') 'sweep: FAILED: the flux has checksum ', found, ', the deck says ', &
        deck_word('checksum', '?')
      good = .false.
    end if
    if (good) print '(a)', "verified: flux has the deck's checksum, particles balanced"
    print '(a,f0.4,a)', 'time: ', seconds, ' s'
  end if
  call MPI_Bcast(good, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (.not. good) stop 1, quiet=.true.
end program
