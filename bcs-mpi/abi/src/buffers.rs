//! Chapter 3: the buffers of buffered sends, of the process, of communicators and of sessions.

use crate::edge::{narrow, wide};
use bcs_mpi::point_to_point::attached_buffer::{self, Level};

/// A line: whose buffer, the argument that names it, if one does, and the four calls.
macro_rules! buffers {
    ($(
        $level:ident$(($owner:ident))? $attach:ident $detach:ident $flush:ident $iflush:ident;
    )*) => { calls! { $(
        $attach($($owner,)? buffer, size) [timed(0) $(on $owner)?] {
            attached_buffer::attach(Level::$level$(($owner))?, buffer, wide(size))?
        }
        $detach($($owner,)? buffer_addr: POINTER, size: OUT) [timed(0) $(on $owner)?] {
            let (buffer, bytes) = attached_buffer::detach(primitive!($detach), Level::$level$(($owner))?)?;
            buffer_addr.set(buffer);
            size.set(narrow(Some(bytes as u64)))
        }
        $flush($($owner)?) [timed(0) $(on $owner)?] {
            attached_buffer::flush(primitive!($flush), Level::$level$(($owner))?)?
        }
        $iflush($($owner,)? request: OUT) [timed(0) $(on $owner)?] {
            request.set(attached_buffer::iflush(primitive!($iflush), Level::$level$(($owner))?)?)
        }
    )* } };
}

buffers! {
    Process MPI_Buffer_attach MPI_Buffer_detach MPI_Buffer_flush MPI_Buffer_iflush;
    Communicator(comm)
        MPI_Comm_attach_buffer MPI_Comm_detach_buffer MPI_Comm_flush_buffer MPI_Comm_iflush_buffer;
    Session(session)
        MPI_Session_attach_buffer MPI_Session_detach_buffer
        MPI_Session_flush_buffer MPI_Session_iflush_buffer;
}
