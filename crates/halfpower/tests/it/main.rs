//! Tests the program from outside: command line in; exit code, standard output, standard error, files and
//! database out.
//!
//! No test looks into the program. Simulated targets show whether its numbers are right, because their truth
//! is known. Files, loop devices and mounts show what it does to a machine. Tests that a machine cannot run
//! are skipped, and skips are counted (see the crate `testkit`).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod alerts;
mod areas;
mod arrays;
mod built_devices;
mod cache_modes;
mod caps;
mod clients;
mod closed_pipes;
mod commits;
mod comparisons;
mod cpu_cost;
mod determinism;
mod devices;
mod diagnosing;
mod documents;
mod every_finding;
mod examples;
mod experiments;
mod exporter;
mod exporter_names;
mod exports;
mod findings;
mod fio_results;
mod fio_runs;
mod first_contact;
mod first_contact_recorded;
mod flags;
mod flash_drives;
mod fleets;
mod front_door;
mod full_disks;
mod hostile_inputs;
mod imports;
mod interrupts;
mod light_loads;
mod limits;
mod machine;
mod no_result;
mod output_files;
mod own_devices;
mod pages;
mod papers;
mod predictions;
mod preparing;
mod profiles;
mod program;
mod python_package;
mod real_faults;
mod recordings;
mod refusals;
mod replays;
mod reports;
mod sequence;
mod several_jobs;
mod sharers;
mod simulated_checks;
mod simulated_fleets;
mod simulated_machines;
mod simulated_runs;
mod simulated_truth;
mod sweep_machines;
mod sweep_presets;
mod sweeps;
mod traces;
mod traps;
mod traps_before;
mod traps_device;
mod traps_limits;
mod traps_loop;
mod traps_profile;
mod trims;
mod twisted;
mod unsaved_results;
mod usage;
mod vanishing;
mod verify;
mod watch_screen;
mod watching;
mod whatifs;
mod write_safety;
