//! What is asked for on the command line, and refused there.

use super::*;
use bcs_config::{DEFAULT_FILE, VARIABLE};
use bcs_core::{Rank, Transport, TransportChoice};
use std::time::Duration;

fn requested(line: &str) -> Result<Requested, RequestError> {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    let place = Place { host: "n7.cluster", job: JobId(1), run: "run".into(), library_directory: None };
    read("mpiexec", &words, place)
}

#[test]
fn help_tells_where_the_configuration_is() {
    let Err(RequestError::Help(help)) = requested("--help") else { panic!("--help prints help") };
    let help = help.to_string();
    assert!(help.contains(DEFAULT_FILE) && help.contains(VARIABLE), "{help}");
}

fn request(line: &str) -> Result<Job, RequestError> {
    requested(line)?.on_one_node("n7.cluster", "no cluster is configured")
}

fn wish(line: &str) -> Wish {
    requested(line).unwrap().wish
}

#[test]
fn programs_of_one_job_have_their_own_ranks_and_variables() {
    let job = request("-genv A 1 -n 2 -env B 2 ./a -n x : -np 3 --wdir /tmp -x A=3 b").unwrap();
    let [a, b] = &job.applications[..] else { panic!("{job:?}") };
    assert_eq!((a.ranks, a.program.to_str(), a.arguments.len()), (2, Some("./a"), 2));
    assert_eq!(a.environment, [("A".into(), "1".into()), ("B".into(), "2".into())]);
    assert_eq!((b.ranks, b.program.to_str()), (3, Some("b")));
    assert_eq!(b.environment, [("A".into(), "1".into()), ("A".into(), "3".into())]);
    assert_eq!(b.working_directory.as_deref(), Some(Path::new("/tmp")));
}

#[test]
fn algorithms_that_are_wanted_are_told_to_all_programs() {
    let job = request("--collective bcast=nic,scan=board --collective=reduce=tree a : -n 2 b").unwrap();
    for application in &job.applications {
        let wanted = ("BCS_COLLECTIVE".into(), "bcast=nic,scan=board,reduce=tree".into());
        assert_eq!(application.environment, [wanted]);
    }
}

#[test]
fn programs_of_one_job_have_the_same_algorithms_of_collectives() {
    for line in [
        "-n 2 a : --env BCS_COLLECTIVE=scan=direct b",
        "--env BCS_COLLECTIVE=scan=direct a : --env BCS_COLLECTIVE=scan=shares b",
    ] {
        let refused = request(line).unwrap_err().to_string();
        assert!(
            refused.starts_with("BCS_COLLECTIVE: the programs want ") && refused.contains("'scan=direct'")
        );
    }
    request("--env BCS_COLLECTIVE=scan=direct a : --env BCS_COLLECTIVE=scan=direct b").unwrap();
}

#[test]
fn a_run_without_options_is_the_plain_job() {
    let plain = Job { id: JobId(1), run: "run".into(), ..Job::new(vec![Application::new(1, "a")]) };
    assert_eq!(request("a").unwrap(), plain);
}

#[test]
fn arguments_of_a_program_reach_it_unchanged() {
    let job = request("-n 2 ./a -n 3 -- --help -- -l").unwrap();
    assert_eq!(job.applications[0].arguments, ["-n", "3", "--", "--help", "--", "-l"].map(OsString::from));
    assert!(!job.labels);
}

#[test]
fn slices_are_cut_as_the_option_says_else_as_the_cluster_does_else_elastic() {
    let fixed = |micros| SliceLength::Fixed(Duration::from_micros(micros));
    let configured = Config::parse("[slices]\nlength = \"500us\"").unwrap();
    let on = |line: &str, config: &Config| {
        let surroundings = Surroundings { environment: Vec::new(), directory: "/".into(), umask: 0 };
        requested(line).unwrap().on_cluster(config, surroundings).job.nic.slice
    };
    assert_eq!(on("a", &configured), fixed(500));
    assert_eq!(on("--slice 2ms a", &configured), fixed(2000));
    assert_eq!(on("--slice elastic a", &configured), SliceLength::Elastic);
    assert_eq!(on("a", &Config::default()), SliceLength::Elastic);
    assert_eq!(request("a").unwrap().nic.slice, SliceLength::Elastic);
    assert_eq!(request("--slice 2ms a").unwrap().nic.slice, fixed(2000));
}

#[test]
fn messages_between_nodes_go_over_the_network_that_is_named_else_over_that_of_the_cluster() {
    assert_eq!(request("a").unwrap().transport, None);
    assert_eq!(
        request("--network quic a").unwrap().transport,
        Some(TransportChoice::Transport(Transport::Quic))
    );
    assert_eq!(request("--network=auto a").unwrap().transport, Some(TransportChoice::Auto));
}

#[test]
fn one_rank_reads_the_input_unless_told_otherwise() {
    assert_eq!(request("a").unwrap().stdin, StdinTo::Rank(Rank(0)));
    assert_eq!(request("--stdin all a").unwrap().stdin, StdinTo::All);
    assert_eq!(request("-n 4 --stdin 3 a").unwrap().stdin, StdinTo::Rank(Rank(3)));
}

#[test]
fn types_are_compared_on_request() {
    assert_eq!(request("a").unwrap().type_check, None);
    assert_eq!(request("--check-types a").unwrap().type_check, Some(TypeCheck::Kinds));
    assert_eq!(request("--check-types=strict a b").unwrap().type_check, Some(TypeCheck::Strict));
}

#[test]
fn habits_of_other_launchers_change_nothing() {
    let line = "--oversubscribe --allow-run-as-root --bind-to none --map-by slot --mca btl ^openib -ppn 2 \
                -genvall -host localhost,n7:4,n7.cluster,127.0.0.1 -n 2 a";
    assert_eq!(request(line).unwrap().ranks(), 2);
}

#[test]
fn nodes_are_asked_for_in_the_words_of_other_launchers() {
    for line in ["-ppn 2", "--npernode 2", "--ntasks-per-node=2", "-perhost 2", "--map-by ppr:2:node"] {
        assert_eq!(wish(&format!("{line} a")).ranks_per_node, Some(2), "{line}");
    }
    assert_eq!(wish("-N 4 a").nodes, Some(4));
    assert_eq!(wish("--map-by node a").mapping, Mapping::Node);
    assert_eq!(wish("--map-by core --rank-by slot a").mapping, Mapping::Slot);
    let host = |host: &str, slots| HostSlots { host: host.into(), slots };
    assert_eq!(wish("-hosts c1,c0:4 a").hosts, [host("c1", Some(1)), host("c0", Some(4))]);
    assert_eq!(wish("-H localhost a").hosts, [host("n7.cluster", Some(1))], "the host where storm runs");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "c3 slots=2\nc4\n").unwrap();
    let line = format!("-hostfile {} a", file.path().display());
    assert_eq!(wish(&line).hosts, [host("c3", Some(2)), host("c4", None)]);
}

#[test]
fn ranks_that_are_not_counted_are_as_many_as_the_nodes_make() {
    let ranks = |line: &str| requested(line).unwrap().job.ranks();
    assert_eq!((ranks("a"), ranks("-N 4 a"), ranks("-N 4 --ppn 2 a"), ranks("-N 4 -n 6 a")), (1, 4, 8, 6));
    assert_eq!(ranks("-N 4 a : b"), 2);
    assert_eq!(
        (ranks("--host localhost,localhost a"), ranks("-host c0,c1 a"), ranks("-H c[0-3]:2,c4 a")),
        (2, 2, 9)
    );
    assert_eq!(
        (ranks("-host c0,c1,c0 -ppn 2 a"), ranks("-host c0,c1 -n 1 a"), ranks("-host c0,c1 a : b")),
        (4, 1, 2)
    );
}

#[test]
fn programs_of_a_job_share_its_nodes() {
    assert_eq!(wish("-ppn 2 a : -n 3 b").ranks_per_node, Some(2));
    assert_eq!(wish("--host c0 a : --host c0 b").hosts.len(), 1);
    assert_eq!(wish("a : -N 2 b").nodes, Some(2));
    for line in ["--host c0 a : --host c1 b", "-ppn 2 --map-by ppr:3:node a", "-N 2 a : -N 3 b"] {
        let error = requested(line).unwrap_err().to_string();
        assert!(error.contains("given twice"), "{line}: {error}");
    }
}

#[test]
fn everything_wrong_is_one_line_that_names_it() {
    for (line, words) in [
        ("", "name the program"),
        ("-n 2", "name the program"),
        ("-n 0 a", "at least 1 rank"),
        ("-n -1 a", "at least 1 rank"),
        ("-n 99999999 a", "at most 1048576"),
        ("-n 4097 a", "one node runs at most 4096"),
        ("-n four a", "four"),
        ("-n 4096 a : -n 1 b", "4097 ranks together"),
        ("--slice 5x a", "500us"),
        ("--network udp a", "give one of auto, tcp, quic, ofi, ofi:PROVIDER"),
        ("--unheard-of a", "--unheard-of"),
        ("-launcher ssh a", "'--launcher'"),
        ("--timeout 1e12 a", "of at most"),
        ("-host n8 a", "unknown host \"n8\""),
        ("--hostfile /no/such/file a", "/no/such/file"),
        ("--host a:none a", "\"none\" for a"),
        (
            "-N 2 a",
            "--nodes 2 needs 2 nodes: no cluster is configured, so this machine (n7.cluster) is the only one",
        ),
        ("-n 5 -ppn 2 a", "-n 5 with --ppn 2 needs 3 nodes"),
        ("-ppn 0 a", "give a number from 1"),
        ("--map-by rankfile a", "say slot, node, or ppr:N:node"),
        ("-n 2 --stdin 2 a", "ranks 0 to 1"),
        ("-n 2 --mmds=4-9 a", "--mmds 4-9: the job has ranks 0 to 1"),
        ("--timeout soon a", "soon"),
        ("--mmds=some a", "--mmds"),
        ("--emds 9:1 a", "--emds"),
        ("--check-types=all a", "say kinds, strict or off"),
        ("-n 1 a : --check-types b", "--check-types is for the whole job"),
        ("--nic-core 100000 a", "100000"),
        ("--nic-arith exact a", "softfloat"),
        ("-n 1 a : --timeout 3 b", "--timeout is for the whole job"),
        ("-n 1 a : -l b", "-l is for the whole job"),
        ("-n 1 a : ", "name the program"),
        ("-n 1 a : -n 0 b", "at least 1 rank"),
    ] {
        let message = request(line).unwrap_err().to_string();
        assert!(message.contains(words) && !message.contains('\n'), "{line}: {message}");
    }
}
