//! The MPI calls that MMDS knows, one line each. A new call is a new line here and nothing else: arrays size
//! themselves by [`Primitive::COUNT`], and files hold names, not numbers.

use std::fmt;

macro_rules! primitives {
    (@blocks blocking) => { true };
    (@blocks immediate) => { false };
    (@sized sized) => { true };
    (@sized plain) => { false };
    ($($variant:ident $name:literal $blocking:ident $size:ident)+) => {
        /// An MPI call that MMDS profiles (paper, §5.1; table 4.2).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Primitive {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl Primitive {
            /// Every primitive, in the order of the summary table; `ALL[p.index()] == p`.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The call's name in the C binding.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Whether the call may wait for another process, and so ends an interval of computation and is
            /// communication overhead itself (paper, §5.1.1, figure 5.1). The time of other calls is part of
            /// the computation around them.
            pub const fn is_blocking(self) -> bool {
                match self { $(Self::$variant => primitives!(@blocks $blocking),)+ }
            }

            /// Whether the call names a message's size, so that its bytes are counted and a size distribution
            /// makes sense.
            pub const fn is_sized(self) -> bool {
                match self { $(Self::$variant => primitives!(@sized $size),)+ }
            }
        }
    };
}

primitives! {
    Init               "MPI_Init"                 blocking  plain
    InitThread         "MPI_Init_thread"          blocking  plain
    Finalize           "MPI_Finalize"             blocking  plain
    Send               "MPI_Send"                 blocking  sized
    Bsend              "MPI_Bsend"                blocking  sized
    Ssend              "MPI_Ssend"                blocking  sized
    Rsend              "MPI_Rsend"                blocking  sized
    Isend              "MPI_Isend"                immediate sized
    Ibsend             "MPI_Ibsend"               immediate sized
    Issend             "MPI_Issend"               immediate sized
    Irsend             "MPI_Irsend"               immediate sized
    BufferAttach       "MPI_Buffer_attach"        immediate plain
    BufferDetach       "MPI_Buffer_detach"        blocking  plain
    BufferFlush        "MPI_Buffer_flush"         blocking  plain
    BufferIflush       "MPI_Buffer_iflush"        immediate plain
    CommAttachBuffer   "MPI_Comm_attach_buffer"   immediate plain
    CommDetachBuffer   "MPI_Comm_detach_buffer"   blocking  plain
    CommFlushBuffer    "MPI_Comm_flush_buffer"    blocking  plain
    CommIflushBuffer   "MPI_Comm_iflush_buffer"   immediate plain
    SessionAttachBuffer "MPI_Session_attach_buffer" immediate plain
    SessionDetachBuffer "MPI_Session_detach_buffer" blocking plain
    SessionFlushBuffer "MPI_Session_flush_buffer" blocking  plain
    SessionIflushBuffer "MPI_Session_iflush_buffer" immediate plain
    SessionFinalize    "MPI_Session_finalize"     blocking  plain
    Recv               "MPI_Recv"                 blocking  sized
    Irecv              "MPI_Irecv"                immediate sized
    Sendrecv           "MPI_Sendrecv"             blocking  sized
    SendrecvReplace    "MPI_Sendrecv_replace"     blocking  sized
    Isendrecv          "MPI_Isendrecv"            immediate sized
    IsendrecvReplace   "MPI_Isendrecv_replace"    immediate sized
    Probe              "MPI_Probe"                blocking  plain
    Iprobe             "MPI_Iprobe"               immediate plain
    Mprobe             "MPI_Mprobe"               blocking  plain
    Improbe            "MPI_Improbe"              immediate plain
    Mrecv              "MPI_Mrecv"                blocking  sized
    Imrecv             "MPI_Imrecv"               immediate sized
    Start              "MPI_Start"                immediate plain
    Startall           "MPI_Startall"             immediate plain
    Wait               "MPI_Wait"                 blocking  plain
    Waitany            "MPI_Waitany"              blocking  plain
    Waitsome           "MPI_Waitsome"             blocking  plain
    Waitall            "MPI_Waitall"              blocking  plain
    Test               "MPI_Test"                 immediate plain
    Testany            "MPI_Testany"              immediate plain
    Testsome           "MPI_Testsome"             immediate plain
    Testall            "MPI_Testall"              immediate plain
    RequestGetStatus   "MPI_Request_get_status"   immediate plain
    RequestFree        "MPI_Request_free"         immediate plain
    Cancel             "MPI_Cancel"               immediate plain
    PsendInit          "MPI_Psend_init"           immediate plain
    PrecvInit          "MPI_Precv_init"           immediate plain
    Pready             "MPI_Pready"               immediate plain
    PreadyRange        "MPI_Pready_range"         immediate plain
    PreadyList         "MPI_Pready_list"          immediate plain
    Parrived           "MPI_Parrived"             immediate plain
    Barrier            "MPI_Barrier"              blocking  plain
    Bcast              "MPI_Bcast"                blocking  sized
    Reduce             "MPI_Reduce"               blocking  sized
    Allreduce          "MPI_Allreduce"            blocking  sized
    ReduceScatter      "MPI_Reduce_scatter"       blocking  sized
    ReduceScatterBlock "MPI_Reduce_scatter_block" blocking  sized
    Scan               "MPI_Scan"                 blocking  sized
    Exscan             "MPI_Exscan"               blocking  sized
    Scatter            "MPI_Scatter"              blocking  sized
    Scatterv           "MPI_Scatterv"             blocking  sized
    Gather             "MPI_Gather"               blocking  sized
    Gatherv            "MPI_Gatherv"              blocking  sized
    Allgather          "MPI_Allgather"            blocking  sized
    Allgatherv         "MPI_Allgatherv"           blocking  sized
    Alltoall           "MPI_Alltoall"             blocking  sized
    Alltoallv          "MPI_Alltoallv"            blocking  sized
    Alltoallw              "MPI_Alltoallw"                    blocking  sized
    NeighborAllgather      "MPI_Neighbor_allgather"           blocking  sized
    NeighborAllgatherv     "MPI_Neighbor_allgatherv"          blocking  sized
    NeighborAlltoall       "MPI_Neighbor_alltoall"            blocking  sized
    NeighborAlltoallv      "MPI_Neighbor_alltoallv"           blocking  sized
    NeighborAlltoallw      "MPI_Neighbor_alltoallw"           blocking  sized
    Ibarrier               "MPI_Ibarrier"                     immediate plain
    Ibcast                 "MPI_Ibcast"                       immediate sized
    Ireduce                "MPI_Ireduce"                      immediate sized
    Iallreduce             "MPI_Iallreduce"                   immediate sized
    IreduceScatter         "MPI_Ireduce_scatter"              immediate sized
    IreduceScatterBlock    "MPI_Ireduce_scatter_block"        immediate sized
    Iscan                  "MPI_Iscan"                        immediate sized
    Iexscan                "MPI_Iexscan"                      immediate sized
    Iscatter               "MPI_Iscatter"                     immediate sized
    Iscatterv              "MPI_Iscatterv"                    immediate sized
    Igather                "MPI_Igather"                      immediate sized
    Igatherv               "MPI_Igatherv"                     immediate sized
    Iallgather             "MPI_Iallgather"                   immediate sized
    Iallgatherv            "MPI_Iallgatherv"                  immediate sized
    Ialltoall              "MPI_Ialltoall"                    immediate sized
    Ialltoallv             "MPI_Ialltoallv"                   immediate sized
    Ialltoallw             "MPI_Ialltoallw"                   immediate sized
    IneighborAllgather     "MPI_Ineighbor_allgather"          immediate sized
    IneighborAllgatherv    "MPI_Ineighbor_allgatherv"         immediate sized
    IneighborAlltoall      "MPI_Ineighbor_alltoall"           immediate sized
    IneighborAlltoallv     "MPI_Ineighbor_alltoallv"          immediate sized
    IneighborAlltoallw     "MPI_Ineighbor_alltoallw"          immediate sized
    BarrierInit            "MPI_Barrier_init"                 immediate plain
    BcastInit              "MPI_Bcast_init"                   immediate plain
    ReduceInit             "MPI_Reduce_init"                  immediate plain
    AllreduceInit          "MPI_Allreduce_init"               immediate plain
    ReduceScatterInit      "MPI_Reduce_scatter_init"          immediate plain
    ReduceScatterBlockInit "MPI_Reduce_scatter_block_init"    immediate plain
    ScanInit               "MPI_Scan_init"                    immediate plain
    ExscanInit             "MPI_Exscan_init"                  immediate plain
    ScatterInit            "MPI_Scatter_init"                 immediate plain
    ScattervInit           "MPI_Scatterv_init"                immediate plain
    GatherInit             "MPI_Gather_init"                  immediate plain
    GathervInit            "MPI_Gatherv_init"                 immediate plain
    AllgatherInit          "MPI_Allgather_init"               immediate plain
    AllgathervInit         "MPI_Allgatherv_init"              immediate plain
    AlltoallInit           "MPI_Alltoall_init"                immediate plain
    AlltoallvInit          "MPI_Alltoallv_init"               immediate plain
    AlltoallwInit          "MPI_Alltoallw_init"               immediate plain
    NeighborAllgatherInit  "MPI_Neighbor_allgather_init"      immediate plain
    NeighborAllgathervInit "MPI_Neighbor_allgatherv_init"     immediate plain
    NeighborAlltoallInit   "MPI_Neighbor_alltoall_init"       immediate plain
    NeighborAlltoallvInit  "MPI_Neighbor_alltoallv_init"      immediate plain
    NeighborAlltoallwInit  "MPI_Neighbor_alltoallw_init"      immediate plain
    CommSetInfo        "MPI_Comm_set_info"        immediate plain
    CommDup            "MPI_Comm_dup"             blocking  plain
    CommDupWithInfo    "MPI_Comm_dup_with_info"   blocking  plain
    CommCreate         "MPI_Comm_create"          blocking  plain
    CommCreateGroup    "MPI_Comm_create_group"    blocking  plain
    CommSplit          "MPI_Comm_split"           blocking  plain
    CommSplitType      "MPI_Comm_split_type"      blocking  plain
    CommFree           "MPI_Comm_free"            blocking  plain
    WinCreate          "MPI_Win_create"           blocking  plain
    WinAllocate        "MPI_Win_allocate"         blocking  plain
    WinAllocateShared  "MPI_Win_allocate_shared"  blocking  plain
    WinCreateDynamic   "MPI_Win_create_dynamic"   blocking  plain
    WinFree            "MPI_Win_free"             blocking  plain
    WinFence           "MPI_Win_fence"            blocking  plain
    WinPost            "MPI_Win_post"             immediate plain
    WinStart           "MPI_Win_start"            blocking  plain
    WinComplete        "MPI_Win_complete"         blocking  plain
    WinWait            "MPI_Win_wait"             blocking  plain
    WinTest            "MPI_Win_test"             immediate plain
    WinLock            "MPI_Win_lock"             blocking  plain
    WinLockAll         "MPI_Win_lock_all"         blocking  plain
    WinUnlock          "MPI_Win_unlock"           blocking  plain
    WinUnlockAll       "MPI_Win_unlock_all"       blocking  plain
    WinFlush           "MPI_Win_flush"            blocking  plain
    WinFlushAll        "MPI_Win_flush_all"        blocking  plain
    WinFlushLocal      "MPI_Win_flush_local"      blocking  plain
    WinFlushLocalAll   "MPI_Win_flush_local_all"  blocking  plain
    Put                "MPI_Put"                  immediate sized
    Get                "MPI_Get"                  immediate sized
    Accumulate         "MPI_Accumulate"           immediate sized
    GetAccumulate      "MPI_Get_accumulate"       immediate sized
    FetchAndOp         "MPI_Fetch_and_op"         immediate plain
    CompareAndSwap     "MPI_Compare_and_swap"     immediate plain
    Rput               "MPI_Rput"                 immediate sized
    Rget               "MPI_Rget"                 immediate sized
    Raccumulate        "MPI_Raccumulate"          immediate sized
    RgetAccumulate     "MPI_Rget_accumulate"      immediate sized
    FileOpen "MPI_File_open" blocking plain
    FileClose "MPI_File_close" blocking plain
    FileSetSize "MPI_File_set_size" blocking plain
    FilePreallocate "MPI_File_preallocate" blocking plain
    FileSetInfo "MPI_File_set_info" blocking plain
    FileSetView "MPI_File_set_view" blocking plain
    FileSetAtomicity "MPI_File_set_atomicity" blocking plain
    FileSync "MPI_File_sync" blocking plain
    FileSeekShared "MPI_File_seek_shared" blocking plain
    FileRead "MPI_File_read" immediate sized
    FileReadAt "MPI_File_read_at" immediate sized
    FileReadShared "MPI_File_read_shared" immediate sized
    FileReadAll "MPI_File_read_all" blocking sized
    FileReadAtAll "MPI_File_read_at_all" blocking sized
    FileReadOrdered "MPI_File_read_ordered" blocking sized
    FileIread "MPI_File_iread" immediate sized
    FileIreadAt "MPI_File_iread_at" immediate sized
    FileIreadShared "MPI_File_iread_shared" immediate sized
    FileIreadAll "MPI_File_iread_all" immediate sized
    FileIreadAtAll "MPI_File_iread_at_all" immediate sized
    FileReadAllBegin "MPI_File_read_all_begin" immediate sized
    FileReadAllEnd "MPI_File_read_all_end" blocking plain
    FileReadAtAllBegin "MPI_File_read_at_all_begin" immediate sized
    FileReadAtAllEnd "MPI_File_read_at_all_end" blocking plain
    FileReadOrderedBegin "MPI_File_read_ordered_begin" blocking sized
    FileReadOrderedEnd "MPI_File_read_ordered_end" blocking plain
    FileWrite "MPI_File_write" immediate sized
    FileWriteAt "MPI_File_write_at" immediate sized
    FileWriteShared "MPI_File_write_shared" immediate sized
    FileWriteAll "MPI_File_write_all" blocking sized
    FileWriteAtAll "MPI_File_write_at_all" blocking sized
    FileWriteOrdered "MPI_File_write_ordered" blocking sized
    FileIwrite "MPI_File_iwrite" immediate sized
    FileIwriteAt "MPI_File_iwrite_at" immediate sized
    FileIwriteShared "MPI_File_iwrite_shared" immediate sized
    FileIwriteAll "MPI_File_iwrite_all" immediate sized
    FileIwriteAtAll "MPI_File_iwrite_at_all" immediate sized
    FileWriteAllBegin "MPI_File_write_all_begin" immediate sized
    FileWriteAllEnd "MPI_File_write_all_end" blocking plain
    FileWriteAtAllBegin "MPI_File_write_at_all_begin" immediate sized
    FileWriteAtAllEnd "MPI_File_write_at_all_end" blocking plain
    FileWriteOrderedBegin "MPI_File_write_ordered_begin" blocking sized
    FileWriteOrderedEnd "MPI_File_write_ordered_end" blocking plain
    CommDisconnect     "MPI_Comm_disconnect"      blocking  plain
    CommIdup           "MPI_Comm_idup"            immediate plain
    CommIdupWithInfo   "MPI_Comm_idup_with_info"  immediate plain
    CommCreateFromGroup "MPI_Comm_create_from_group" blocking plain
    IntercommCreate    "MPI_Intercomm_create"     blocking  plain
    IntercommCreateFromGroups "MPI_Intercomm_create_from_groups" blocking plain
    IntercommMerge     "MPI_Intercomm_merge"      blocking  plain
    CartCreate         "MPI_Cart_create"          blocking  plain
    CartSub            "MPI_Cart_sub"             blocking  plain
    GraphCreate        "MPI_Graph_create"         blocking  plain
    DistGraphCreate    "MPI_Dist_graph_create"    blocking  plain
    DistGraphCreateAdjacent "MPI_Dist_graph_create_adjacent" blocking plain
}

impl Primitive {
    /// How many primitives there are.
    pub const COUNT: usize = Self::ALL.len();

    /// The primitive's number, `0..COUNT`; it names it within one build only.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The primitive of that C name, whatever its case; `PMPI_` names the same call.
    pub const fn from_name(name: &str) -> Option<Self> {
        let name = match name.as_bytes() {
            [b'P' | b'p', b'M' | b'm', ..] => name.split_at(1).1,
            _ => name,
        };
        let mut left = Self::ALL;
        while let [first, others @ ..] = left {
            if first.name().eq_ignore_ascii_case(name) {
                return Some(*first);
            }
            left = others;
        }
        None
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_primitive_is_found_by_its_number_and_by_its_name() {
        for (i, &p) in Primitive::ALL.iter().enumerate() {
            assert_eq!(p.index(), i);
            assert_eq!(Primitive::from_name(p.name()), Some(p));
            assert_eq!(Primitive::from_name(&format!("P{}", p.name())), Some(p));
            assert_eq!(Primitive::from_name(&p.name().to_lowercase()), Some(p));
        }
        assert_eq!(Primitive::ALL.iter().map(|p| p.name()).collect::<HashSet<_>>().len(), Primitive::COUNT);
        assert_eq!(Primitive::from_name("MPI_Sendd"), None);
        assert_eq!(Primitive::from_name("p"), None);
        assert_eq!(Primitive::from_name("é"), None);
    }

    #[test]
    fn every_call_of_the_papers_table_is_there() {
        let table_4_2 = "Send Isend Recv Irecv Probe Iprobe Test Wait Testall Waitall Barrier Reduce Allreduce \
                         Scatter Gather Gatherv Allgather Allgatherv Alltoall Alltoallv Bcast";
        for name in table_4_2.split_whitespace() {
            assert!(Primitive::from_name(&format!("MPI_{name}")).is_some(), "MPI_{name}");
        }
    }

    #[test]
    fn immediate_calls_do_not_end_computation() {
        for p in [Primitive::Isend, Primitive::Irecv, Primitive::Test, Primitive::Iprobe, Primitive::Testall]
        {
            assert!(!p.is_blocking(), "{p}");
        }
        for p in [Primitive::Send, Primitive::Recv, Primitive::Wait, Primitive::Allreduce, Primitive::Probe] {
            assert!(p.is_blocking(), "{p}");
        }
    }
}
