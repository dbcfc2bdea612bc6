//! In which order a signal and its data are written.

/// What makes a signal be seen only after the data before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignalOrder {
    /// The provider lets no write overtake another one to the same node (`FI_ORDER_WAW`, and data up to
    /// `max_order_waw_size`): the signal is posted behind the data.
    WriteAfterWrite,
    /// The signal is posted when the completion of the data says that the data has been delivered
    /// (`FI_DELIVERY_COMPLETE`).
    Completion,
}
