C     A program as they were written for MPI-1: mpif.h, fixed form, and
C     what MPI-3.0 has removed. Linked with -no-pie: addresses of
C     variables are default INTEGERs then.
      program fixed
      include 'mpif.h'
      integer ierr, rank, n, newtyp, i, key, val, st(MPI_STATUS_SIZE)
      integer blen(3), disp(3), types(3), a1, a2, extent, errh
      integer ia(4), ib(4), req
      double precision da, db
      logical flag
      common /blk/ da, ia
      external oldcpy, olddel, oldadd
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      da = 1.5d0
      do 10 i = 1, 4
        ia(i) = 10 * i
   10 continue
      call MPI_ADDRESS(da, a1, ierr)
      call MPI_ADDRESS(ia, a2, ierr)
      call chk(a2 - a1 .eq. 8, 1)
      blen(1) = 1
      blen(2) = 4
      blen(3) = 1
      disp(1) = a1
      disp(2) = a2
      disp(3) = a2 + 40
      types(1) = MPI_DOUBLE_PRECISION
      types(2) = MPI_INTEGER
      types(3) = MPI_UB
      call MPI_TYPE_STRUCT(3, blen, disp, types, newtyp, ierr)
      call MPI_TYPE_COMMIT(newtyp, ierr)
      call MPI_TYPE_EXTENT(newtyp, extent, ierr)
      call chk(extent .eq. 48, 2)
      call MPI_IRECV(ib, 4, MPI_INTEGER, rank, 5, MPI_COMM_WORLD,
     &               req, ierr)
      call MPI_SEND(ia, 4, MPI_INTEGER, rank, 5, MPI_COMM_WORLD, ierr)
      call MPI_WAIT(req, st, ierr)
      call chk(ib(4) .eq. 40 .and. st(MPI_TAG) .eq. 5, 3)
      call MPI_ISEND(MPI_BOTTOM, 1, newtyp, rank, 6, MPI_COMM_WORLD,
     &               req, ierr)
      call MPI_PROBE(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, st, ierr)
      call MPI_GET_COUNT(st, newtyp, n, ierr)
      call chk(n .eq. 1, 4)
      da = 1.5d0
      call MPI_RECV(MPI_BOTTOM, 1, newtyp, rank, 6, MPI_COMM_WORLD,
     &              MPI_STATUS_IGNORE, ierr)
      call MPI_WAIT(req, MPI_STATUS_IGNORE, ierr)
      db = da
      call chk(db .eq. 1.5d0 .and. ia(3) .eq. 30, 5)
      call MPI_TYPE_FREE(newtyp, ierr)
      call MPI_TYPE_HVECTOR(2, 1, 12, MPI_INTEGER, newtyp, ierr)
      call MPI_TYPE_UB(newtyp, n, ierr)
      call chk(n .eq. 16, 6)
      call MPI_TYPE_LB(newtyp, n, ierr)
      call chk(n .eq. 0, 7)
      call MPI_KEYVAL_CREATE(oldcpy, olddel, key, 9, ierr)
      call MPI_ATTR_PUT(MPI_COMM_SELF, key, 33, ierr)
      call MPI_ATTR_GET(MPI_COMM_SELF, key, val, flag, ierr)
      call chk(flag .and. val .eq. 33, 8)
      call MPI_OP_CREATE(oldadd, .true., n, ierr)
      call MPI_ALLREDUCE(ia, ib, 4, MPI_INTEGER, n, MPI_COMM_SELF,
     &                   ierr)
      call chk(ib(2) .eq. 20, 9)
      call MPI_ERRHANDLER_SET(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
      call MPI_ERRHANDLER_GET(MPI_COMM_WORLD, errh, ierr)
      call chk(errh .eq. MPI_ERRORS_RETURN, 10)
      call MPI_SEND(ia, 1, MPI_INTEGER, 1000, 0, MPI_COMM_WORLD, ierr)
      call MPI_ERROR_CLASS(ierr, n, i)
      call chk(n .eq. MPI_ERR_RANK, 11)
      call chk(MPI_WTIME() .gt. 0d0, 12)
      call MPI_FINALIZE(ierr)
      end

      subroutine chk(good, n)
      logical good
      integer n
      if (good) return
      print *, 'FAILED: check', n
      stop 1
      end

      subroutine oldcpy(comm, key, extra, vin, vout, flag, ierr)
      integer comm, key, extra, vin, vout, ierr
      logical flag
      vout = vin
      flag = .true.
      ierr = 0
      end

      subroutine olddel(comm, key, val, extra, ierr)
      integer comm, key, val, extra, ierr
      ierr = 0
      end

      subroutine oldadd(in, inout, len, type)
      integer len, type, i
      integer in(len), inout(len)
      do 20 i = 1, len
        inout(i) = inout(i) + in(i)
   20 continue
      end
