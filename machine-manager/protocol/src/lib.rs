//! What `storm`, the Machine Manager and the Node Managers of a cluster say to each other.
//!
//! | module | holds |
//! |---|---|
//! | [`storm`] | `storm` and the Machine Manager |
//! | [`node`] | the Machine Manager and a Node Manager |
//! | [`commit`] | the control network's global memory: the beat, and the commit of launches |

/// An example of every variant: the patterns are all that there are.
#[cfg(any(test, feature = "damage"))]
macro_rules! every_variant {
    ($($variant:pat => $example:expr),+ $(,)?) => {{
        let examples = vec![$($example),+];
        for example in &examples {
            match example {
                $($variant => {})+
            }
        }
        let mut each = examples.iter();
        $(assert!(matches!(each.next(), Some($variant)));)+
        examples
    }};
}

pub mod commit;
#[cfg(test)]
mod damage;
pub mod node;
pub mod storm;

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: bcs_core::damage::CountingAllocator = bcs_core::damage::CountingAllocator;
