//! The published prices of capacity and accesses.

use plan::limits::cost::row;
use record::Estimate;

fn exact(value: f64) -> Estimate {
    Estimate::symmetric(value, 0.0, 3)
}

/// One value of the paper's data, from the files of the papers.
fn published(id: &str) -> f64 {
    let claims = include_str!("../../../../model/data/chung/claims.csv");
    let line = claims.lines().find(|line| line.starts_with(&format!("{id},"))).unwrap();
    line.rsplit(',').nth(2).unwrap().parse().unwrap()
}

#[test]
fn the_published_prices_per_kaps_come_out() {
    for (kaps, dollars, expected) in [("C245", "C336", "C247"), ("C248", "C337", "C250")] {
        let row = row(1, exact(published(kaps)), 24e6, Some(published(dollars)));
        let expected = published(expected);
        let found = row.price_per_kaps.unwrap();
        assert!((found - expected).abs() < 0.005, "{found} {expected}");
    }
}

/// Table 10 prints whole MAPS and two digits per dollar. The inventory of the paper gives 19.5 and 15.3 for
/// the rates of table 6.
#[test]
fn the_published_maps_and_accesses_per_dollar_come_out() {
    for (kaps, rate, expected, dollars, table) in [
        ("C332", 24e6, 19.5, "C336", ["C334", "C340", "C342"]),
        ("C333", 19e6, 15.3, "C337", ["C335", "C341", "C343"]),
    ] {
        let row = row(1, exact(published(kaps)), rate, Some(published(dollars)));
        assert!((row.maps - expected).abs() < 0.05, "{}", row.maps);
        let [maps, kaps_per, maps_per] = table.map(published);
        assert!((row.maps - maps).abs() <= 0.5, "{} {maps}", row.maps);
        assert!((row.kaps_per_price.unwrap() - kaps_per).abs() < 0.005);
        assert!((row.maps_per_price.unwrap() - maps_per).abs() < 0.005);
    }
}

#[test]
fn the_published_capacity_per_dollar_comes_out() {
    for (gigabytes, dollars, expected) in [("C330", "C336", "C338"), ("C331", "C337", "C339")] {
        let found = published(gigabytes) * 1e3 / published(dollars);
        assert!((found - published(expected)).abs() < 0.5, "{found}");
    }
}

#[test]
fn requests_that_overlap_are_bounded_by_the_transfer_alone() {
    let deep = row(32, exact(1e5), 5e8, None);
    assert_eq!(deep.maps, 500.0);
    assert_eq!((deep.kaps_per_price, deep.price_per_maps), (None, None));
}
