//! What the node says of its network when it joins: whether there is a network card for RDMA.

use super::node::Node;
use bcs_core::NetworkCard;
use program_launcher::network_card;
use rustix::process::Pid;
use std::net::IpAddr;
use std::time::Duration;
use tokio::process::Command;
use tokio::time::timeout;

/// How long libfabric may look for network cards. A driver that hangs keeps no node from joining.
const PATIENCE: Duration = Duration::from_secs(3);

/// The network card of this node for RDMA, where libfabric finds one.
pub(super) async fn network_card(node: &Node, listen: IpAddr) -> Option<NetworkCard> {
    let mut question = Command::from(network_card::question(&node.launcher, node.provider.as_ref(), listen));
    let asked = match question.kill_on_drop(true).spawn() {
        Ok(asked) => asked,
        Err(error) => {
            tracing::warn!(%error, "cannot look for network cards with {}", node.launcher.display());
            return None;
        }
    };
    let pid = asked.id().and_then(|id| Pid::from_raw(id as i32));
    pid.inspect(|pid| node.children.add(*pid));
    let answer = timeout(PATIENCE, asked.wait_with_output()).await;
    pid.inspect(|pid| node.children.remove(*pid));
    match answer {
        Ok(Ok(output)) => {
            let card = network_card::told(&String::from_utf8_lossy(&output.stdout));
            if let Err(error) = &card {
                match String::from_utf8_lossy(&output.stderr).trim() {
                    "" => tracing::warn!(%error, "cannot look for network cards"),
                    said => tracing::info!("{said}"),
                }
            }
            card.ok()
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "cannot look for network cards");
            None
        }
        Err(_) => {
            tracing::warn!("libfabric has not found out within {PATIENCE:?} which network cards there are");
            None
        }
    }
}
