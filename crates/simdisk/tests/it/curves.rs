//! The curves of Riedel, van Ingen and Gray 1997 that one machine and one loop make.
//!
//! Two series of them are missing. 2 and 4 KB, 8 deep, over four disks come out at half of what was
//! measured: the program of the paper lets each of its buffers go on by itself (its figure 21), so
//! that they drift apart over the disks; a loop with one sequence, as here, keeps them together.
//! And writes to two Fast drives without their write cache, 3 deep, come out a fifth too fast from
//! 16 KB on: these begin with the first burst, as the Ultra drives' must for figure 12.
//!
//! Published values are MiB/s at 2, 4, 8, 16, 32, 64, 128 and 192 KiB (riedel_excel). Nothing in
//! the crate reads them.

use crate::closed::Loop;
use record::OpKind;
use std::fmt::Write;

struct Curve {
    figure: &'static str,
    target: &'static str,
    op: OpKind,
    depth: u32,
    published: [f64; 8],
}

const READ: OpKind = OpKind::Read;
const WRITE: OpKind = OpKind::Write;

const KIB: [u64; 8] = [2, 4, 8, 16, 32, 64, 128, 192];

const CURVES: &[Curve] = &[
    Curve {
        figure: "3 ultra read",
        target: "st34371w",
        op: READ,
        depth: 1,
        published: [5.506, 8.621, 8.779, 8.584, 8.892, 8.646, 8.646, 8.804],
    },
    Curve {
        figure: "3 fast read",
        target: "st15150w",
        op: READ,
        depth: 1,
        published: [2.469, 4.847, 6.535, 6.431, 6.602, 6.639, 6.610, 6.377],
    },
    Curve {
        figure: "3 ultra write wce",
        target: "st34371w",
        op: WRITE,
        depth: 1,
        published: [5.142, 8.462, 8.929, 8.969, 8.961, 8.958, 8.937, 8.953],
    },
    Curve {
        figure: "3 fast write wce",
        target: "st15150w",
        op: WRITE,
        depth: 1,
        published: [2.228, 4.383, 5.148, 5.672, 5.958, 6.351, 6.219, 6.270],
    },
    Curve {
        figure: "3 ultra write",
        target: "st34371w,wce=off",
        op: WRITE,
        depth: 1,
        published: [0.229, 0.447, 0.852, 1.555, 2.649, 4.082, 5.595, 6.413],
    },
    Curve {
        figure: "3 fast write",
        target: "st15150w,wce=off",
        op: WRITE,
        depth: 1,
        published: [0.226, 0.437, 0.821, 1.460, 2.390, 3.505, 4.583, 5.092],
    },
    Curve {
        figure: "6 fast read 3",
        target: "st15150w",
        op: READ,
        depth: 3,
        published: [2.455, 4.461, 6.703, 6.729, 6.759, 6.843, 7.046, 7.317],
    },
    Curve {
        figure: "6 fast read 8",
        target: "st15150w",
        op: READ,
        depth: 8,
        published: [2.349, 4.197, 6.737, 6.838, 7.022, 7.080, 7.312, 7.676],
    },
    Curve {
        figure: "6 fast write 3",
        target: "st15150w,wce=off",
        op: WRITE,
        depth: 3,
        published: [0.635, 1.191, 2.067, 5.461, 5.798, 6.171, 6.249, 6.381],
    },
    Curve {
        figure: "6 fast write 8",
        target: "st15150w,wce=off",
        op: WRITE,
        depth: 8,
        published: [1.340, 2.451, 3.923, 6.155, 6.071, 6.180, 6.127, 6.126],
    },
    Curve {
        figure: "7 fast x4 read 1",
        target: "st15150w,disks=4,raid=0",
        op: READ,
        depth: 1,
        published: [1.882, 3.491, 5.611, 7.767, 9.336, 10.866, 12.619, 14.232],
    },
    Curve {
        figure: "7 fast x4 read 3",
        target: "st15150w,disks=4,raid=0",
        op: READ,
        depth: 3,
        published: [1.953, 5.068, 10.417, 12.735, 14.663, 15.435, 15.751, 16.090],
    },
    Curve {
        figure: "8 fast x2 read 3",
        target: "st15150w,disks=2,raid=0",
        op: READ,
        depth: 3,
        published: [2.024, 4.850, 9.686, 11.281, 12.138, 12.689, 12.969, 13.773],
    },
    Curve {
        figure: "8 fast x3 read 3",
        target: "st15150w,disks=3,raid=0",
        op: READ,
        depth: 3,
        published: [1.959, 5.105, 10.388, 12.800, 14.663, 15.530, 16.272, 15.316],
    },
    Curve {
        figure: "8 fast x1 write wce 3",
        target: "st15150w,disks=1,raid=0",
        op: WRITE,
        depth: 3,
        published: [2.314, 4.255, 5.119, 5.765, 6.152, 6.389, 6.368, 6.348],
    },
    Curve {
        figure: "8 fast x2 write wce 3",
        target: "st15150w,disks=2,raid=0",
        op: WRITE,
        depth: 3,
        published: [2.288, 4.322, 6.837, 10.281, 10.604, 11.356, 11.548, 11.950],
    },
    Curve {
        figure: "8 fast x3 write wce 3",
        target: "st15150w,disks=3,raid=0",
        op: WRITE,
        depth: 3,
        published: [2.144, 4.017, 6.568, 9.570, 11.965, 13.888, 14.830, 13.947],
    },
    Curve {
        figure: "8 fast x4 write wce 3",
        target: "st15150w,disks=4,raid=0",
        op: WRITE,
        depth: 3,
        published: [2.192, 4.080, 6.594, 9.881, 12.678, 14.664, 15.363, 15.569],
    },
    Curve {
        figure: "8n fast x3 write 3",
        target: "st15150w,disks=3,raid=0,wce=off",
        op: WRITE,
        depth: 3,
        published: [0.643, 1.198, 2.123, 3.937, 6.305, 9.719, 12.260, 13.354],
    },
    Curve {
        figure: "8n fast x4 write 3",
        target: "st15150w,disks=4,raid=0,wce=off",
        op: WRITE,
        depth: 3,
        published: [0.648, 1.215, 2.215, 3.928, 6.433, 9.827, 12.373, 13.974],
    },
    Curve {
        figure: "10 ultra x3 read 1",
        target: "st34371w,disks=3,raid=0",
        op: READ,
        depth: 1,
        published: [5.144, 8.596, 12.026, 15.450, 18.277, 23.168, 26.774, 27.184],
    },
    Curve {
        figure: "10 ultra x3 write wce 1",
        target: "st34371w,disks=3,raid=0",
        op: WRITE,
        depth: 1,
        published: [4.600, 7.257, 9.723, 12.099, 14.514, 17.295, 19.179, 19.492],
    },
    Curve {
        figure: "12 ultra write 8",
        target: "st34371w,wce=off",
        op: WRITE,
        depth: 8,
        published: [1.568, 2.879, 5.056, 8.770, 8.643, 8.869, 8.814, 8.895],
    },
    Curve {
        figure: "12 ultra x4 write 1",
        target: "st34371w,disks=4,raid=0,wce=off",
        op: WRITE,
        depth: 1,
        published: [0.222, 0.453, 0.883, 1.659, 2.874, 4.645, 7.828, 10.049],
    },
    Curve {
        figure: "12 ultra x4 write 8",
        target: "st34371w,disks=4,raid=0,wce=off",
        op: WRITE,
        depth: 8,
        published: [1.557, 2.871, 5.192, 10.313, 14.860, 17.689, 17.509, 17.540],
    },
    Curve {
        figure: "13 aligned read",
        target: "st34371w,disks=4,raid=0",
        op: READ,
        depth: 3,
        published: [4.204, 8.771, 16.103, 22.697, 29.340, 30.978, 31.368, 31.807],
    },
    Curve {
        figure: "13 unaligned read",
        target: "st34371w,disks=4,raid=0,align=12k",
        op: READ,
        depth: 3,
        published: [4.098, 8.194, 13.122, 22.025, 25.734, 27.766, 29.427, 30.666],
    },
    Curve {
        figure: "13 aligned write",
        target: "st34371w,disks=4,raid=0",
        op: WRITE,
        depth: 3,
        published: [2.936, 5.999, 10.224, 14.486, 17.556, 21.217, 21.323, 21.337],
    },
    Curve {
        figure: "13 unaligned write",
        target: "st34371w,disks=4,raid=0,align=12k",
        op: WRITE,
        depth: 3,
        published: [2.871, 5.956, 7.883, 12.119, 15.902, 19.329, 19.546, 20.078],
    },
];

#[test]
fn published_curves_come_out_of_the_machines_that_they_were_measured_on() {
    let mut bad: Vec<String> = Vec::new();
    for curve in CURVES {
        let mut deviations = Vec::new();
        let mut line = String::new();
        for (kib, published) in KIB.into_iter().zip(curve.published) {
            let mut load = Loop::sequential(curve.op, kib, curve.depth);
            load.count = load.count.min(20_000);
            let value = load.run(curve.target).mib_per_s();
            let deviation = value / published - 1.0;
            let _ = write!(line, " {value:6.2}({:+3.0})", deviation * 100.0);
            deviations.push(deviation.abs());
        }
        deviations.sort_by(f64::total_cmp);
        let median = (deviations[3] + deviations[4]) / 2.0;
        if median > 0.15 || deviations[7] > 0.40 {
            bad.push(format!("{}:{line}", curve.figure));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
