//! Native arithmetic beside SoftFloat and beside a plain loop over aligned slices, as a compiler vectorises
//! it.
//!
//! `cargo bench -p benchmarks --bench arith`

// criterion makes a public function without a comment.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use nic_engine::arithmetic::{Arithmetic, ElementType, ReduceOp, combine};

/// The loop that a C programmer would write.
macro_rules! plain_sum {
    ($name:ident, $type:ty, $sum:expr) => {
        #[inline(never)]
        fn $name(left: &[$type], inout: &mut [$type]) {
            for (left, inout) in left.iter().zip(inout) {
                *inout = $sum(*left, *inout);
            }
        }
    };
}
plain_sum!(plain_f64, f64, |left, right| left + right);
plain_sum!(plain_f32, f32, |left, right| left + right);
plain_sum!(plain_i64, i64, i64::wrapping_add);
plain_sum!(plain_i32, i32, i32::wrapping_add);

fn sums_beside_plain_loops(criterion: &mut Criterion) {
    for bytes in [8, 64, 1024, 65536] {
        let mut group = criterion.benchmark_group(format!("sum of {bytes} bytes"));
        group.throughput(Throughput::Bytes(bytes as u64));
        macro_rules! one {
            ($element:ident, $type:ty, $plain:ident) => {{
                let count = bytes / size_of::<$type>();
                let left: Vec<$type> = (0..count).map(|i| i as $type).collect();
                let mut inout = left.clone();
                group.bench_function(BenchmarkId::new("plain", stringify!($element)), |bencher| {
                    bencher.iter(|| $plain(black_box(&left), black_box(&mut inout)));
                });
                let left: Vec<u8> = left.iter().flat_map(|value| value.to_ne_bytes()).collect();
                let mut inout = left.clone();
                for arithmetic in [Arithmetic::Native, Arithmetic::SoftFloat] {
                    let id = BenchmarkId::new(format!("{arithmetic:?}"), stringify!($element));
                    group.bench_function(id, |bencher| {
                        bencher.iter(|| {
                            combine(
                                black_box(ReduceOp::Sum),
                                black_box(ElementType::$element),
                                black_box(&left),
                                black_box(&mut inout),
                                arithmetic,
                            )
                        });
                    });
                }
            }};
        }
        one!(F64, f64, plain_f64);
        one!(F32, f32, plain_f32);
        one!(I64, i64, plain_i64);
        one!(I32, i32, plain_i32);
        group.finish();
    }
}

fn other_operations(criterion: &mut Criterion) {
    use ElementType as E;
    let bytes = 65536;
    let mut group = criterion.benchmark_group(format!("others, {bytes} bytes"));
    group.throughput(Throughput::Bytes(bytes as u64));
    for (op, element) in [
        (ReduceOp::Max, E::F64),
        (ReduceOp::Max, E::F32),
        (ReduceOp::Max, E::I32),
        (ReduceOp::Prod, E::F64),
        (ReduceOp::Sum, E::F16),
        (ReduceOp::Sum, E::Bf16),
        (ReduceOp::Prod, E::ComplexF64),
        (ReduceOp::Maxloc, E::F64I32),
        (ReduceOp::Land, E::I32),
    ] {
        // 1.0 in every format: sums and products stay finite or saturate, no NaN.
        let one: &[u8] = match element {
            E::F64 | E::ComplexF64 | E::F64I32 => &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
            E::F16 => &[0, 0x3c],
            _ => &[0, 0, 0x80, 0x3f],
        };
        let left = one.repeat(bytes / one.len());
        for arithmetic in [Arithmetic::Native, Arithmetic::SoftFloat] {
            let mut inout = left.clone();
            let id = BenchmarkId::new(format!("{arithmetic:?}"), format!("{op:?} {element:?}"));
            group.bench_function(id, |bencher| {
                bencher.iter(|| combine(op, element, black_box(&left), black_box(&mut inout), arithmetic));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(600));
    targets = sums_beside_plain_loops, other_operations
}
criterion_main!(benches);
