//! Designs: what they combine, what they refuse, and that a design written as text is read back unchanged.

use workload::{Design, PRESETS, preset};

const SMALL: &str = r#"
title = "small"
[constants]
runtime = "1s"
[axes]
rw = ["read", { name = "random", rw = "randread", iodepth = 4 }]
bs = ["4k", "64k"]
hipri = [false, true]
[[skip]]
rw = "random"
except = { bs = "4k" }
[[contrast]]
axis = "rw"
base = "read"
by = ["bs"]
[protocol.paper]
runtime = "60s"
ramp_time = "30s"
"#;

fn small() -> Design {
    Design::parse("small", SMALL).unwrap()
}

fn error(text: &str) -> String {
    Design::parse("mine", text).unwrap_err().to_string()
}

#[test]
fn combinations_are_the_product_less_what_is_skipped_with_the_last_axis_fastest() {
    let flags: Vec<String> =
        small().combinations().iter().map(|combination| combination.flags().join(" ")).collect();
    assert_eq!(
        flags,
        [
            "--runtime 1s --rw read --bs 4k",
            "--runtime 1s --rw read --bs 4k --hipri",
            "--runtime 1s --rw read --bs 64k",
            "--runtime 1s --rw read --bs 64k --hipri",
            "--runtime 1s --rw randread --iodepth 4 --bs 4k",
            "--runtime 1s --rw randread --iodepth 4 --bs 4k --hipri",
        ]
    );
    let last = small().combinations().pop().unwrap();
    let levels: Vec<_> = last.levels.values().map(String::as_str).collect();
    assert_eq!(levels, ["4k", "true", "random"]);
}

#[test]
fn a_level_stands_above_a_constant_and_a_later_axis_above_an_earlier_one() {
    let text = "[constants]\niodepth = 1\nbs = \"4k\"\n[axes]\nway = [{ name = \"a\", iodepth = 2 }]\n\
                iodepth = [3]\n";
    let design = Design::parse("x", text).unwrap();
    assert_eq!(design.combinations()[0].flags(), ["--iodepth", "3", "--bs", "4k"]);
}

#[test]
fn a_design_written_and_read_again_is_the_same_design() {
    assert_eq!(Design::parse("small", &small().to_toml()), Ok(small()));
    for known in PRESETS {
        let design = preset(known.name).unwrap();
        assert_eq!(Design::parse(known.name, &design.to_toml()).as_ref(), Ok(&design));
        assert!(!design.title.is_empty() && !design.about.is_empty(), "{}", known.name);
        assert!(design.title.len() <= 80, "{}: the title is too long for a line", known.name);
    }
}

#[test]
fn a_text_with_quotes_and_control_characters_survives() {
    let design = Design { title: "a \"b\" \\ \n\t\u{1} ü".to_owned(), ..small() };
    assert_eq!(Design::parse("small", &design.to_toml()), Ok(design));
}

#[test]
fn a_protocol_replaces_constants_and_can_take_one_out() {
    let design = small().with_protocol("paper").unwrap();
    assert!(
        design.combinations()[0].flags().join(" ").starts_with("--runtime 60s --ramp-time 30s")
    );
    let text = small().with_protocol("nobody").unwrap_err().to_string();
    assert!(text.contains("\"nobody\" is not a protocol of this design; use paper"), "{text}");
    let paper = preset("friedman").unwrap().with_protocol("paper").unwrap();
    let flags = paper.combinations()[0].flags().join(" ");
    assert!(flags.contains("--ramp-time 30s --runtime 60s"), "{flags}");
    assert!(!flags.contains("until-precision"), "{flags}");
}

#[test]
fn settings_of_the_command_line_replace_levels_by_name_or_by_value() {
    let design = small().with_setting("bs=4k,8k").unwrap().with_setting("rw=random").unwrap();
    let bs: Vec<_> = design.axes[1].levels.iter().map(|level| level.name.as_str()).collect();
    assert_eq!(bs, ["4k", "8k"]);
    // The exception for random names only 4k, which no longer exists. Nothing is excepted, so nothing
    // remains.
    let nothing = small().with_setting("rw=random").unwrap().with_setting("bs=8k");
    assert!(nothing.unwrap_err().to_string().contains("excludes every combination; skip fewer"));
    let flags = design.combinations()[0].flags().join(" ");
    assert!(flags.contains("--rw randread --iodepth 4 --bs 4k"), "{flags}");
    assert_eq!(design.contrasts, [], "its base is gone");
    assert_eq!(Design::parse("small", &design.to_toml()), Ok(design));
    let constant = small().with_setting("numjobs=2").unwrap();
    assert!(constant.combinations()[0].flags().join(" ").contains("--numjobs 2"));
    let gone = small().with_setting("runtime=").unwrap();
    assert!(!gone.combinations()[0].flags().join(" ").contains("runtime"));
    let unknown = small().with_setting("colour=red").unwrap_err();
    assert!(unknown.to_string().contains("--set has an unknown key \"colour\""), "{unknown}");
}

#[test]
fn every_mistake_is_told_with_its_place_and_what_is_known_there() {
    let cases = [
        ("\n[axes", "line 2: "),
        ("colour = 1", "line 1: unknown field `colour`, expected one of `title`, `about`"),
        ("title = 1", "line 1: invalid type: integer `1`, expected a string"),
        ("blocks = 0", "blocks must be from 1 to 1000"),
        ("blocks = -1", "line 1: invalid value: integer `-1`"),
        ("order = \"best\"", "line 1: unknown variant `best`, expected `random` or `written`"),
        ("[constants]\nbss = 1", "constants has an unknown key \"bss\""),
        ("[constants]\nseed = 1", "constants has an unknown key \"seed\""),
        ("[constants]\noverwrite = true", "has an unknown key \"overwrite\""),
        (
            "[constants]\nbs = [1]",
            "constants.bs must be a string, a number, true or false, not array",
        ),
        ("[constants]\nbs = \"--json\"", "constants.bs begins with a dash"),
        ("[axes]\nbs = \"4k\"", "axes.bs is not a list of levels"),
        ("[axes]\nbs = []", "axes.bs has no level"),
        ("[axes]\nbs = [4, 4]", "axes.bs has two levels with the same name"),
        ("[axes]\nway = [1]", "axes has an unknown key \"way\""),
        ("[axes]\nway = [{ bs = 1 }]", "axes.way has a level without a name"),
        ("[axes]\nway = [{ name = 1, colour = 2 }]", "axes.way has an unknown key \"colour\""),
        ("[axes]\nbs = [4]\n[[skip]]\nbs = 8", "skip.bs names \"8\", which is not a level"),
        ("[axes]\nbs = [4]\n[[skip]]\nrw = \"read\"", "skip.rw names \"read\""),
        ("[axes]\nbs = [4]\n[[skip]]\nbs = 4", "skip excludes every combination; skip fewer"),
        ("[axes]\nbs = [4]\n[[contrast]]\naxis = \"rw\"\nbase = 4", "contrast names \"rw\""),
        ("[axes]\nbs = [4]\n[[contrast]]\naxis = \"bs\"\nbase = 8", "has the base \"8\""),
        (
            "[axes]\nbs = [4]\n[[contrast]]\naxis = \"bs\"\nbase = 4\nmeasure = \"x\"",
            "line 6: unknown variant `x`, expected one of `throughput`, `latency`",
        ),
    ];
    for (text, words) in cases {
        let said = error(text);
        assert!(said.contains(words), "{text:?}: {said}");
        assert!(said.contains("the design mine"), "{said}");
    }
    let many: Vec<String> = (0..400).map(|n| n.to_string()).collect();
    let list = many.join(", ");
    let text = format!("[axes]\nbs = [{list}]\niodepth = [{list}]\n");
    assert!(error(&text).contains("more than 100000 combinations"));
}

#[test]
fn the_presets_are_there_by_name_and_an_unknown_one_is_told_with_the_others() {
    let text = preset("riedl").unwrap_err().to_string();
    assert!(text.contains("\"riedl\"; use one of friedman, friedman-full, riedel"), "{text}");
    let sizes = |name| preset(name).unwrap().combinations().len();
    assert_eq!((sizes("friedman"), sizes("friedman-full")), (12, 36));
    assert_eq!(sizes("riedel"), 2 * 2 * 8 * 3);
    // Sequential: 2 directions, 7 sizes, 5 depths; random: 2 caches, 2 directions, 6 depths.
    assert_eq!(sizes("chung"), 2 * 7 * 5 + 2 * 2 * 6);
}
