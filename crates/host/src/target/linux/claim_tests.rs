//! Tests the messages to the user; the permission to write is tested through the program.

use super::*;

fn node() -> Node {
    Node { name: "sdb".to_owned(), directory: "/x/sdb".into(), numbers: (8, 16) }
}

fn told(stable: &[&str], typed: &[&str]) -> String {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let error = not_named(Path::new("/dev/sdb"), &node(), &owned(stable), &owned(typed));
    assert_eq!(error.exit_code(), 3);
    error.to_string()
}

#[test]
fn a_missing_or_wrong_name_is_answered_with_the_flag_to_type() {
    let missing = told(&["ata-ACME_S1", "S1"], &[]);
    assert!(missing.contains("all data on it would be lost"), "{missing}");
    assert!(missing.contains("add --destroy-data-on ata-ACME_S1,"), "{missing}");
    let wrong = told(&["ata-ACME_S1"], &["sdc"]);
    assert!(wrong.contains("--destroy-data-on names \"sdc\", which is another device"), "{wrong}");
    assert!(wrong.contains("add --destroy-data-on ata-ACME_S1,"), "{wrong}");
    for typed in ["sdb", "/dev/sdb"] {
        let unstable = told(&["ata-ACME_S1"], &[typed]);
        assert!(unstable.contains("sdb may be another device after a restart"), "{unstable}");
        assert!(unstable.contains("add --destroy-data-on ata-ACME_S1,"), "{unstable}");
    }
    let none = told(&[], &[]);
    assert!(none.contains("no unique name") && !none.contains("add --"), "{none}");
}
