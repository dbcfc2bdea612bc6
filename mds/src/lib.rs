//! MDS, the Monitoring and Debugging System (paper, §5): MMDS per process, EMDS per node and slice.
