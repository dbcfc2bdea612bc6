//! How often the manager is tried again, and what is said about it: growing patience, and each reason once.
//! No I/O.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// Attempts to reach the manager.
#[derive(Debug)]
pub struct Patience {
    next: Duration,
    reason: Option<String>,
}

impl Default for Patience {
    fn default() -> Self {
        Self { next: FIRST, reason: None }
    }
}

impl Patience {
    /// It was reached: the next failure is the first of its kind.
    pub fn handle_success(&mut self) {
        *self = Self::default();
    }

    /// It could not be reached, or was lost: how long to wait, and whether the reason is news.
    pub fn handle_failure(&mut self, reason: &str) -> (Duration, bool) {
        let wait = self.next;
        self.next = (self.next * 2).min(LONGEST);
        let is_news = self.reason.as_deref() != Some(reason);
        self.reason = Some(reason.to_owned());
        (wait, is_news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_grows_to_its_limit_and_a_reason_is_news_once() {
        let mut patience = Patience::default();
        let mut waits = Vec::new();
        for attempt in 0..8 {
            let (wait, is_news) = patience.handle_failure("refused");
            assert_eq!(is_news, attempt == 0);
            waits.push(wait.as_millis());
        }
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert!(patience.handle_failure("unknown host").1 && patience.handle_failure("refused").1);
        patience.handle_success();
        assert_eq!(patience.handle_failure("refused"), (FIRST, true));
    }
}
