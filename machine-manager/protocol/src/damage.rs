//! Damaged messages, through what launchers and daemons receive them with: what is decoded is valid and can
//! be used, everything else closes the connection and nothing else happens ([`bcs_core::damage`]).

use crate::node::{CommonPart, FromNode, LaunchOrder, ToNode, User, VERSION};
use bcs_core::PortRange;
use bcs_core::damage::{DamagedStream, Rng, allocated, run};
use bcs_core::wire::WireMessage;
use bcs_core::{JobId, NetworkCard, NodeId, Placement, Transport, TransportChoice, TypeCheck};
use bcs_stream::damage::check_receiver;
use mds::EmdsConfig;
use nic_emu::hang::{self, HangReport};
use program_launcher::control::{Channel, Command, Notice, Received};
use program_launcher::job::{Application, Description, Job, Recording, StdinTo};
use program_launcher::launch::{JobNetwork, Launch, Member, Surroundings};
use program_launcher::nic::JobNic;
use program_launcher::verdict::{Exit, RankName, Verdict};
use std::fmt::Debug;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// A job with something in every field.
fn job() -> Job {
    let program = Application {
        arguments: vec!["-x".into(), "".into()],
        environment: vec![("PATH".into(), "/bin".into())],
        working_directory: Some("/work".into()),
        ..Application::new(2, "./a")
    };
    let recording = Recording {
        mmds: Some("all".into()),
        emds: Some("1:4".into()),
        slices: Some(EmdsConfig::default()),
        trace_directory: Some("/work/trace".into()),
    };
    let description = Description {
        stdin: StdinTo::All,
        timeout: Some(Duration::from_millis(1500)),
        type_check: Some(TypeCheck::Kinds),
        transport: Some(TransportChoice::Auto),
        recording,
        library_directory: Some("/lib".into()),
        ..Job::new(vec![program, Application::new(1, "b")]).description
    };
    let placement = Placement::by_rank(&[0, 1, 0]).unwrap();
    Job { id: JobId(17), run: "run-17".into(), placement, description }
}

fn card() -> NetworkCard {
    "verbs mlx5_0".parse().unwrap()
}

fn launch() -> Launch {
    Launch {
        job: job(),
        node: NodeId(1),
        hosts: vec!["c0".into(), "c1".into()],
        surroundings: Surroundings {
            environment: vec![("HOME".into(), "/home/alice".into())],
            directory: "/work".into(),
            umask: 0o022,
        },
        network: Some(JobNetwork {
            id: 7,
            credential: "a key".into(),
            listen: [10, 0, 0, 7].into(),
            ports: PortRange::ANY,
            transport: Transport::Ofi(Some("verbs".parse().unwrap())),
            seal: false,
        }),
    }
}

fn common() -> CommonPart {
    let Launch { job, hosts, surroundings, .. } = launch();
    CommonPart { job, hosts, surroundings }
}

fn members() -> Vec<Member> {
    let member = |node| Member { name: format!("c{node}"), address: ([10, 0, 0, node], 40112).into() };
    (0..3).map(member).collect()
}

fn verdicts() -> Vec<Verdict> {
    let rank = || RankName { rank: 3, host: "c7".into(), program: Some("./a".into()) };
    let exit = Exit::Signal { signal: libc::SIGSEGV, core_dumped: true };
    let report = || String::from("rank 0 waits");
    let (host, message) = (|| String::from("c7"), || String::from("no mesh"));
    let mut verdicts = every_variant! {
        Verdict::Success => Verdict::Success,
        Verdict::RankFailed { .. } => Verdict::RankFailed { rank: rank(), exit, output_gone: false },
        Verdict::Aborted { .. } => Verdict::Aborted { rank: rank(), code: 7, message: message() },
        Verdict::NotFinalized(_) => Verdict::NotFinalized(rank()),
        Verdict::Stuck(_) => Verdict::Stuck(report()),
        Verdict::TimedOut { .. } => Verdict::TimedOut { limit: Duration::from_secs(9), report: report() },
        Verdict::Interrupted { .. } => Verdict::Interrupted { signal: libc::SIGINT, status: 130 },
        Verdict::NotStarted { .. } => Verdict::NotStarted { message: message(), status: 127 },
        Verdict::NodeLost { .. } => Verdict::NodeLost { host: host(), seen_from: host(), reason: report() },
        Verdict::LauncherLost { .. } => Verdict::LauncherLost { pid: 9, host: host(), exit },
    };
    verdicts.push(Verdict::RankFailed { rank: rank(), exit: Exit::Code(3), output_gone: false });
    verdicts
}

fn commands() -> Vec<Command> {
    every_variant! {
        Command::Launch(_) => Command::Launch(Box::new(launch())),
        Command::Roster(_) => Command::Roster(members()),
        Command::Go => Command::Go,
        Command::Forward(_) => Command::Forward(libc::SIGUSR1),
        Command::End => Command::End,
        Command::Finish => Command::Finish,
        Command::Report { .. } => Command::Report { round: 5 },
    }
}

fn notices() -> Vec<Notice> {
    let plain = Job { placement: Placement::one_node(3), ..Job::new(job().description.applications) };
    let state = JobNic::create(&plain, NodeId(0)).unwrap().state();
    let mut notices = every_variant! {
        Notice::Remark(_) => Notice::Remark("one\ntwo".into()),
        Notice::Listening(_) => Notice::Listening(([10, 0, 0, 7], 40112).into()),
        Notice::Prepared => Notice::Prepared,
        Notice::Started(_) => Notice::Started(vec![101, 102]),
        Notice::Failed(_) => Notice::Failed(Verdict::Success),
        Notice::Unreachable { .. } => Notice::Unreachable { node: 1, reason: "timed out".into() },
        Notice::RanksGone(_) => Notice::RanksGone(Verdict::Success),
        Notice::Blocked => Notice::Blocked,
        Notice::Report { .. } => Notice::Report { round: 5, state },
        Notice::Over(_) => Notice::Over(Verdict::Success),
    };
    notices.extend(verdicts().into_iter().map(Notice::Over));
    notices
}

fn order(job: JobId, common: Arc<[u8]>) -> LaunchOrder {
    let Launch { node, network, .. } = launch();
    LaunchOrder { slot: 3, user: User { uid: 1000, gid: 100 }, job, node, network, common }
}

fn to_nodes() -> Vec<ToNode> {
    let job = JobId(17);
    let common = LaunchOrder::encode(&common()).unwrap();
    let mut messages = every_variant! {
        ToNode::Welcome { .. } => ToNode::Welcome { heartbeat_ms: 100, missed: 3 },
        ToNode::Refused(_) => ToNode::Refused("unknown".into()),
        ToNode::Bind { .. } => ToNode::Bind { view: 4, network: 9 },
        ToNode::View { .. } => ToNode::View { view: 4, roster: members() },
        ToNode::Launch(_) => ToNode::Launch(Box::new(order(job, common))),
        ToNode::Launcher { .. } => ToNode::Launcher { job, command: Command::Go },
        ToNode::Input { .. } => ToNode::Input { job, bytes: b"line\n".repeat(20) },
        ToNode::OutputTaken { .. } => ToNode::OutputTaken { job, bytes: 4096 },
    };
    messages.extend(commands().into_iter().map(|command| ToNode::Launcher { job, command }));
    messages
}

fn from_nodes() -> Vec<FromNode> {
    let job = JobId(17);
    let address = ([10, 0, 0, 7], 40112).into();
    let mut messages = every_variant! {
        FromNode::Hello { .. } =>
            FromNode::Hello {
                version: VERSION,
                release: "0.1.0".into(),
                cores: 2,
                memory: 1 << 34,
                card: Some(card()),
            },
        FromNode::Bound { .. } => FromNode::Bound { view: 4, address },
        FromNode::Launcher { .. } => FromNode::Launcher { job, notice: Notice::Prepared },
        FromNode::Output { .. } => FromNode::Output { job, is_error: true, bytes: b"line\n".repeat(20) },
        FromNode::InputTaken { .. } => FromNode::InputTaken { job, bytes: 4096, closed: true },
    };
    messages.extend(notices().into_iter().map(|notice| FromNode::Launcher { job, notice }));
    messages
}

/// Receives a stream through the channel of a launcher, in parts of any size.
fn check_channel<S, R>(stream: &DamagedStream<R>, random: &mut Rng)
where
    S: WireMessage,
    R: WireMessage + Clone + Debug + PartialEq,
{
    let (mut far, near) = UnixStream::pair().unwrap();
    let mut channel = Channel::<S, R>::new(near.into());
    let (mut messages, mut is_closed, mut rest) = (Vec::new(), false, &stream.bytes[..]);
    let before = allocated();
    while !rest.is_empty() {
        let (part, after) = rest.split_at(random.usize(1..=rest.len()));
        far.write_all(part).unwrap();
        rest = after;
        loop {
            match channel.receive() {
                Received::Message(message) => {
                    assert!(!is_closed, "nothing comes after the end: {message:?}");
                    messages.push(message);
                }
                Received::Nothing => break assert!(!is_closed),
                Received::Closed => break is_closed = true,
            }
        }
    }
    let bytes = allocated() - before;
    assert!(bytes <= stream.most_allocated(), "{bytes} bytes of memory for {}", stream.bytes.len());
    assert_eq!(messages, stream.messages);
    assert_eq!(is_closed, stream.is_refused, "at what is refused, and not before the other end closes");
    drop(far);
    assert_eq!(channel.receive(), Received::Closed);
}

/// What is done with a verdict that somebody has sent.
fn read_verdict(verdict: &Verdict) {
    let _ = (verdict.status(), verdict.message());
}

/// What the machine manager does with a notice that it prints.
fn read_notice(notice: &Notice) {
    match notice {
        Notice::Failed(verdict) | Notice::RanksGone(verdict) | Notice::Over(verdict) => read_verdict(verdict),
        Notice::Report { state, .. } => {
            let states = [state.clone(), state.clone()];
            assert!(!HangReport(hang::merge(&states)).to_string().is_empty());
            let _ = hang::is_deadlock(&states, &states);
        }
        _ => {}
    }
}

#[test]
fn damaged_commands_close_the_channel_of_a_launcher() {
    let examples = commands();
    run(|random| check_channel::<Notice, _>(&DamagedStream::of(&examples, random), random));
}

#[test]
fn damaged_notices_close_the_channel_of_storm() {
    let examples = notices();
    run(|random| {
        let stream = DamagedStream::of(&examples, random);
        check_channel::<Command, _>(&stream, random);
        stream.messages.iter().for_each(read_notice);
    });
}

#[test]
fn damaged_notices_end_the_stream_of_a_node_manager() {
    let examples = notices();
    run(|random| check_receiver(&DamagedStream::of(&examples, random), random));
}

#[test]
fn damaged_messages_to_a_node_end_its_stream() {
    let examples = to_nodes();
    run(|random| check_receiver(&DamagedStream::of(&examples, random), random));
}

#[test]
fn damaged_messages_of_a_node_end_its_stream() {
    let examples = from_nodes();
    run(|random| check_receiver(&DamagedStream::of(&examples, random), random));
}

#[test]
fn damaged_orders_to_launch_a_job_are_refused_and_give_no_other_job() {
    let examples = [common()];
    run(|random| check_receiver(&DamagedStream::of(&examples, random), random));
    let encoded = LaunchOrder::encode(&common()).unwrap();
    let id = launch().job.id;
    assert_eq!(order(id, encoded.clone()).into_launch(), Ok(launch()));
    let other = order(JobId(id.0 + 1), encoded.clone()).into_launch().unwrap_err();
    assert_eq!(other, format!("job {} is ordered with what is told of job {}", id.0 + 1, id.0));
    let short = order(id, encoded[..encoded.len() - 1].into()).into_launch().unwrap_err();
    assert!(short.contains("malformed launch of a job"), "{short}");
}
