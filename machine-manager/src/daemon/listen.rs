//! Who comes through the doors of the machine manager: TCP with mutual TLS for node managers and remote
//! `storm`s, and a Unix socket for local ones.
//!
//! Every connection has a task of its own that reads and writes; what comes is handed to the manager through
//! one bounded channel, so that who sends much waits. Invariants: nothing is read of a message before the
//! other end has proved who it is; what is no message closes that connection and nothing else; unfinished
//! handshakes and the connections of one user are bounded.

use super::HostId;
use super::account;
use super::jobs::{ClientId, Owner};
use super::ledger::{Held, Ledger, Share};
use super::limits::{DECODED_AT_ONCE_BYTES, NODE_BYTES};
use super::nodes::LinkId;
use super::outbox::{Outbox, outbox};
use bcs_config::UserConfig;
use bcs_core::wire::{self, WireMessage};
use bcs_credentials::USER_PREFIX;
use bcs_protocol::node::{FromNode, OUTPUT_CREDIT, ToNode};
use bcs_protocol::storm::{Reply, Request};
use bcs_stream::{Receiver, SecureEnds, StreamError};
use program_launcher::verdict::STATUS_USAGE;
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

/// How long proving who one is may take, and saying the first thing.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// Unfinished handshakes at once.
const HANDSHAKES: usize = 256;
/// How long the other end may take to close when it was told all that there is.
const LINGER: Duration = Duration::from_secs(2);
/// How long nothing is accepted when the process has no more descriptors.
const BREATHER: Duration = Duration::from_millis(100);
/// What may wait to be sent to a `storm`, beside the output of its job: a report of the longest kind, and
/// small messages.
const CLIENT_BYTES: usize = 40 << 20;
/// What may wait of the output of the largest jobs: no `storm` is so slow for nothing.
const CLIENT_OUTPUT_BYTES: usize = 1024 * OUTPUT_CREDIT as usize;

/// What comes in through the doors, and from work that was given away.
#[derive(Debug)]
pub enum Arrival {
    /// A node manager has connected and said who it is.
    Node {
        /// Its connection.
        link: LinkId,
        /// The node.
        host: HostId,
        /// What it said first.
        hello: FromNode,
        /// The address here that it has reached.
        reached_at: IpAddr,
        /// What is to be sent to it.
        outbox: Outbox,
    },
    /// A node manager has said something.
    NodeSaid(LinkId, HostId, FromNode),
    /// The connection of a node manager is over; why, as it follows on its name.
    NodeGone(LinkId, HostId, String),
    /// A user has asked for something.
    Client {
        /// The connection.
        client: ClientId,
        /// Who it is.
        owner: Owner,
        /// What it asks for.
        request: Request,
        /// The bytes of that, held for the user.
        held: Held,
        /// What is to be sent to it.
        outbox: Outbox,
    },
    /// A user has said something more.
    ClientSaid(ClientId, Request),
    /// The connection of a user is over.
    ClientGone(ClientId),
    /// Keys for a job's network were made, or not.
    Keys(bcs_core::JobId, Result<Vec<program_launcher::launch::JobNetwork>, String>),
}

/// Lets others in: what all connections share.
#[derive(Debug)]
pub struct Reception {
    arrivals: mpsc::Sender<Arrival>,
    hosts: HashMap<String, HostId>,
    ends: SecureEnds,
    last: AtomicU64,
    handshakes: Arc<Semaphore>,
    ledger: Arc<Ledger>,
    /// The names of users who get nothing.
    refused: RwLock<HashSet<String>>,
}

impl Reception {
    /// For a cluster of these hosts, with the manager's proof of who it is.
    pub fn new(
        ends: SecureEnds,
        hosts: HashMap<String, HostId>,
        users: UserConfig,
        arrivals: mpsc::Sender<Arrival>,
    ) -> Arc<Self> {
        let refused = RwLock::new(users.refused.iter().cloned().collect());
        Arc::new(Self {
            arrivals,
            hosts,
            ends,
            last: AtomicU64::new(0),
            handshakes: Arc::new(Semaphore::new(HANDSHAKES)),
            ledger: Ledger::new(users),
            refused,
        })
    }

    /// From now on these users get nothing, and no others.
    pub fn refuse_users(&self, names: Vec<String>) {
        *self.refused.write().unwrap_or_else(PoisonError::into_inner) = names.into_iter().collect();
    }

    fn is_refused(&self, user: &str) -> bool {
        self.refused.read().unwrap_or_else(PoisonError::into_inner).contains(user)
    }

    /// Lets in who comes through the Unix socket.
    pub async fn serve_local(self: Arc<Self>, listener: UnixListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(self.clone().admit_local(stream));
                }
                Err(error) => pause(&error).await,
            }
        }
    }

    /// Lets in who comes through a port.
    pub async fn serve_port(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, from)) => match self.handshakes.clone().try_acquire_owned() {
                    Ok(permit) => {
                        let reception = self.clone();
                        tokio::spawn(async move {
                            if let Err(error) = reception.admit(stream, permit).await {
                                tracing::info!(%from, "refused a connection: {error}");
                            }
                        });
                    }
                    Err(_) => {
                        tracing::warn!(%from, "{HANDSHAKES} handshakes are under way; refused one more")
                    }
                },
                Err(error) => pause(&error).await,
            }
        }
    }

    fn connections(&self) -> u32 {
        self.ledger.limits().connections
    }

    fn number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    async fn admit_local(self: Arc<Self>, stream: UnixStream) {
        let Ok(proved) = stream.peer_cred() else { return };
        let (uid, gid) = (proved.uid(), proved.gid());
        let Some(share) = self.ledger.connect(uid) else {
            return tracing::debug!(
                uid,
                "refused a connection: {} of this user are open",
                self.connections()
            );
        };
        let Ok(owner) = tokio::task::spawn_blocking(move || account::by_number(uid, gid)).await else {
            return;
        };
        if self.is_refused(&owner.name) {
            let _ = refuse(stream, &refusal(&owner.name)).await;
            return;
        }
        self.serve_client(stream, owner, share).await;
    }

    /// Lets in somebody from the network: first the proof of who it is, then what it may be.
    async fn admit(
        self: Arc<Self>,
        stream: TcpStream,
        permit: tokio::sync::OwnedSemaphorePermit,
    ) -> Result<(), StreamError> {
        let reached_at = stream.local_addr()?.ip().to_canonical();
        let late = |_| StreamError::Stranger(format!("it took more than {} s", HANDSHAKE_LIMIT.as_secs()));
        let (stream, name) = timeout(HANDSHAKE_LIMIT, self.ends.accept(stream)).await.map_err(late)??;
        let known = self.hosts.get(&name.to_ascii_lowercase()).copied();
        match (known, name.strip_prefix(USER_PREFIX)) {
            (Some(host), _) => self.serve_node(stream, host, reached_at, permit).await,
            (None, Some(user)) if self.is_refused(user) => {
                tracing::warn!(user, "refused: its name is in users.refused");
                refuse(stream, &refusal(user)).await
            }
            (None, Some(user)) => {
                let account = user.to_owned();
                let found = tokio::task::spawn_blocking(move || account::by_name(&account)).await;
                drop(permit);
                match found {
                    Ok(Ok(owner)) => {
                        let Some(share) = self.ledger.connect(owner.uid) else {
                            let reason =
                                format!("{} connections of user '{user}' are open", self.connections());
                            return Err(StreamError::Stranger(reason));
                        };
                        self.serve_client(stream, owner, share).await;
                        Ok(())
                    }
                    Ok(Err(error)) => {
                        refuse(stream, &Reply::Refused { reason: error.to_string(), status: 1 }).await
                    }
                    Err(error) => Err(StreamError::Stranger(error.to_string())),
                }
            }
            (None, None) => {
                let reason = format!(
                    "host '{name}' is not in the configuration of the machine manager: add it to [[nodes]] and start the manager again"
                );
                tracing::warn!("{reason}");
                refuse(stream, &ToNode::Refused(reason)).await
            }
        }
    }

    async fn serve_node<S: AsyncRead + AsyncWrite>(
        &self,
        stream: S,
        host: HostId,
        reached_at: IpAddr,
        permit: tokio::sync::OwnedSemaphorePermit,
    ) -> Result<(), StreamError> {
        let (reader, writer) = tokio::io::split(stream);
        let mut receiver = Receiver::new(reader);
        let hello = match timeout(HANDSHAKE_LIMIT, receiver.receive::<FromNode>()).await {
            Ok(Ok(Some(hello))) => hello,
            Ok(Err(error)) => return Err(error),
            Ok(Ok(None)) | Err(_) => return Err(StreamError::Stranger("it says nothing".into())),
        };
        drop(permit);
        let link = LinkId(self.number());
        let (outbox, outgoing) = outbox(NODE_BYTES, None);
        let arrival = Arrival::Node { link, host, hello, reached_at, outbox };
        if self.arrivals.send(arrival).await.is_err() {
            return Ok(());
        }
        let reading = async {
            loop {
                match receiver.receive::<FromNode>().await {
                    Ok(Some(message)) => {
                        if self.arrivals.send(Arrival::NodeSaid(link, host, message)).await.is_err() {
                            break "is not needed any more".to_owned();
                        }
                    }
                    Ok(None) | Err(StreamError::Cut) => {
                        break "has closed its connection to the machine manager: its node manager has ended"
                            .into();
                    }
                    Err(error) => break format!("has lost its connection to the machine manager: {error}"),
                }
            }
        };
        let reason = tokio::select! {
            reason = reading => reason,
            written = outgoing.write_to(writer) => match written {
                Ok(()) => "was disconnected by the machine manager".into(),
                Err(error) => format!("has lost its connection to the machine manager: {error}"),
            },
        };
        let _ = self.arrivals.send(Arrival::NodeGone(link, host, reason)).await;
        Ok(())
    }

    async fn serve_client<S: AsyncRead + AsyncWrite>(&self, stream: S, owner: Owner, share: Share) {
        let client = ClientId(self.number());
        let (reader, writer) = tokio::io::split(stream);
        let mut receiver = Receiver::new(reader);
        let user = owner.name.clone();
        let mut held = share.hold();
        let request = match timeout(HANDSHAKE_LIMIT, request(&mut receiver, &share, &mut held)).await {
            Ok(Ok(Some(request))) => request,
            Ok(Ok(None)) => return,
            Ok(Err(StreamError::Refused(reason))) => {
                tracing::info!(user, "refused a request: {reason}");
                let _ = refuse(writer, &Reply::Refused { reason, status: STATUS_USAGE }).await;
                // What is still being sent is read and thrown away, or the other end might not look at the
                // answer.
                let _ = timeout(LINGER, receiver.skip()).await;
                return;
            }
            Ok(Err(error)) => return tracing::info!(user, "closed a connection: {error}"),
            Err(_) => return tracing::info!(user, "closed a connection on which nothing was asked"),
        };
        let (outbox, outgoing) = outbox(CLIENT_BYTES + CLIENT_OUTPUT_BYTES, Some(share.hold()));
        if self.arrivals.send(Arrival::Client { client, owner, request, held, outbox }).await.is_err() {
            return;
        }
        let reading = async {
            loop {
                let mut held = share.hold();
                match self::request(&mut receiver, &share, &mut held).await {
                    Ok(Some(request)) => {
                        if self.arrivals.send(Arrival::ClientSaid(client, request)).await.is_err() {
                            break;
                        }
                    }
                    Ok(None) | Err(StreamError::Cut) => break,
                    Err(error) => break tracing::info!(user, "closed a connection: {error}"),
                }
            }
        };
        tokio::pin!(reading);
        tokio::select! {
            () = &mut reading => {}
            written = outgoing.write_to(writer) => {
                // What the other end has said meanwhile is read, or it might lose the last words: TCP throws
                // away what was not read when its sender closes with something unread.
                if written.is_ok() {
                    let _ = timeout(LINGER, reading).await;
                }
            }
        }
        let _ = self.arrivals.send(Arrival::ClientGone(client)).await;
    }
}

/// The next request of a user, none at the end. Its bytes are held for the user before they are kept.
async fn request<R: AsyncRead + Unpin>(
    receiver: &mut Receiver<R>,
    share: &Share,
    held: &mut Held,
) -> Result<Option<Request>, StreamError> {
    let limit = share.limits().request_bytes as usize;
    let admit = |bytes: usize| match bytes <= limit {
        true => held.grow(bytes as u64).map_err(|error| error.to_string()),
        false => Err(format!(
            "a request of {bytes} bytes is too long: at most {limit} are allowed (request_bytes of [users]); give the job a smaller environment, and fewer arguments and hosts"
        )),
    };
    let Some(bytes) = receiver.receive_bytes::<Request>(admit).await? else { return Ok(None) };
    if bytes.len() <= DECODED_AT_ONCE_BYTES {
        return Ok(Some(wire::decode(&bytes)?));
    }
    // Others are served meanwhile, those of this user one after the other.
    let Ok(turn) = share.decoding().acquire_owned().await else { return Ok(None) };
    let decoding = tokio::task::spawn_blocking(move || {
        let decoded = wire::decode(&bytes);
        drop(turn);
        decoded
    });
    match decoding.await {
        Ok(decoded) => Ok(Some(decoded?)),
        Err(_) => Err(StreamError::Refused("the request cannot be decoded".into())),
    }
}

fn refusal(user: &str) -> Reply {
    let reason = format!(
        "user '{user}' is refused here (refused of [users] in the configuration of the machine manager); ask its administrator"
    );
    Reply::Refused { reason, status: STATUS_USAGE }
}

/// Says why somebody is refused, and closes.
async fn refuse<T: WireMessage, S>(mut stream: S, message: &T) -> Result<(), StreamError>
where
    S: AsyncWrite + Unpin,
{
    let saying = async {
        bcs_stream::send(&mut stream, message).await?;
        Ok(tokio::io::AsyncWriteExt::shutdown(&mut stream).await?)
    };
    timeout(HANDSHAKE_LIMIT, saying).await.unwrap_or(Ok(()))
}

/// Nobody can be let in right now: most likely there are no more descriptors.
async fn pause(error: &io::Error) {
    tracing::warn!("cannot accept a connection: {error}");
    tokio::time::sleep(BREATHER).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::damage::{DamagedStream, Rng, run};
    use bcs_protocol::node::VERSION;
    use program_launcher::control::Notice;
    use std::cell::RefCell;
    use std::fmt::Debug;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    const UID: u32 = 1000;
    const HOST: HostId = HostId(3);

    fn reception() -> (Arc<Reception>, mpsc::Receiver<Arrival>) {
        let credential = bcs_credentials::mint("test", ["manager"]).unwrap().remove(0);
        let (sender, arrivals) = mpsc::channel(64);
        let users = UserConfig { request_bytes: 32 << 20, held_bytes: u64::MAX, ..UserConfig::default() };
        let ends = SecureEnds::new(&credential, "test/1").unwrap();
        (Reception::new(ends, HashMap::new(), users, sender), arrivals)
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
    }

    /// Sends a stream in parts of any size to whoever serves the other end, and waits until that is closed:
    /// by itself where something is refused, else when this end is.
    async fn send<T>(stream: &DamagedStream<T>, far: DuplexStream, random: &mut Rng) {
        let (mut reader, mut writer) = tokio::io::split(far);
        let mut rest = &stream.bytes[..];
        while !rest.is_empty() {
            let (part, after) = rest.split_at(random.usize(1..=rest.len()));
            if writer.write_all(part).await.is_err() {
                assert!(stream.is_refused, "it is closed before the end");
                break;
            }
            rest = after;
        }
        if !stream.is_refused {
            writer.shutdown().await.unwrap();
        }
        assert_eq!(reader.read_to_end(&mut Vec::new()).await.unwrap(), 0, "nothing is said to it");
    }

    /// Serves damaged streams of these messages. What has arrived of each is what was said before the damage,
    /// and the end. Of an arrival `told` says the message, none at the end; it is told whether a message has
    /// come before.
    fn check<T: WireMessage + Clone + Debug + PartialEq>(
        examples: &[T],
        serve: impl AsyncFn(&Reception, DuplexStream, &DamagedStream<T>),
        told: impl Fn(Arrival, bool) -> Option<T>,
    ) {
        let (runtime, (reception, arrivals)) = (runtime(), reception());
        let arrivals = RefCell::new(arrivals);
        run(|random| {
            let stream = DamagedStream::of(examples, random);
            let (far, near) = tokio::io::duplex(random.usize(64..4096));
            runtime.block_on(async {
                tokio::join!(serve(&reception, near, &stream), send(&stream, far, random))
            });
            let (mut said, mut is_over) = (Vec::new(), false);
            while let Ok(arrival) = arrivals.borrow_mut().try_recv() {
                assert!(!is_over);
                match told(arrival, !said.is_empty()) {
                    Some(message) => said.push(message),
                    None => is_over = true,
                }
            }
            assert_eq!(said, stream.messages);
            assert_eq!(is_over, !said.is_empty(), "who has said something is reported as gone, nobody else");
            assert!(reception.ledger.is_empty());
        });
    }

    #[test]
    fn damaged_requests_close_the_connection_of_their_user_and_nothing_else() {
        let serve = async |reception: &Reception, near, _: &_| {
            let owner = Owner { uid: UID, gid: UID, name: "alice".into() };
            let share = reception.ledger.connect(UID).expect("no connection is left behind");
            reception.serve_client(near, owner, share).await;
        };
        check(&bcs_protocol::storm::examples::requests(), serve, |arrival, has_spoken| match arrival {
            Arrival::Client { owner, request, .. } if !has_spoken && owner.uid == UID => Some(request),
            Arrival::ClientSaid(_, request) if has_spoken => Some(request),
            Arrival::ClientGone(_) => None,
            other => panic!("{other:?}"),
        });
    }

    #[test]
    fn damaged_messages_of_a_node_close_its_connection_and_nothing_else() {
        let job = bcs_core::JobId(17);
        let examples = [
            FromNode::Hello {
                version: VERSION,
                release: "0.1.0".into(),
                cores: 2,
                memory: 1 << 34,
                card: None,
            },
            FromNode::Bound { view: 4, address: ([10, 0, 0, 7], 40112).into() },
            FromNode::Launcher { job, notice: Notice::Started(vec![101, 102]) },
            FromNode::Output { job, is_error: true, bytes: b"line\n".repeat(20) },
            FromNode::InputTaken { job, bytes: 4096, closed: true },
        ];
        let serve = async |reception: &Reception, near, stream: &DamagedStream<FromNode>| {
            let permit =
                reception.handshakes.clone().try_acquire_owned().expect("no handshake is left behind");
            let served = reception.serve_node(near, HOST, [10, 0, 0, 1].into(), permit).await;
            assert_eq!(served.is_err(), stream.messages.is_empty());
        };
        check(&examples, serve, |arrival, has_spoken| match arrival {
            Arrival::Node { host: HOST, hello, .. } if !has_spoken => Some(hello),
            Arrival::NodeSaid(_, HOST, message) if has_spoken => Some(message),
            Arrival::NodeGone(_, HOST, _) => None,
            other => panic!("{other:?}"),
        });
    }
}
