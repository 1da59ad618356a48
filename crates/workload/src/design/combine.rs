//! Computes the combinations of a design: the product of its axes, without those that it skips.

use super::{Design, Pick, Setting};
use std::collections::BTreeMap;

/// One combination of levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    /// Levels of the axes.
    pub levels: BTreeMap<String, String>,
    /// Constants and levels together, each key once. A level overrides a constant, and a later axis overrides
    /// an earlier one.
    pub settings: Vec<Setting>,
}

impl Combination {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let setting = self.settings.iter().find(|setting| setting.key == key)?;
        setting.value.as_deref()
    }

    /// The flags among the settings, as command-line words.
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        let is_flag = |setting: &&Setting| !super::SPECIAL_KEYS.contains(&setting.key.as_str());
        let flags = self.settings.iter().filter(is_flag);
        let words = |Setting { key, value }: &Setting| [Some(format!("--{key}")), value.clone()];
        flags.flat_map(words).flatten().collect()
    }

    fn set(&mut self, setting: &Setting) {
        match self.settings.iter_mut().find(|known| known.key == setting.key) {
            Some(known) => *known = setting.clone(),
            None => self.settings.push(setting.clone()),
        }
    }

    fn matches(&self, pick: &Pick) -> bool {
        pick.iter()
            .all(|(axis, levels)| self.levels.get(axis).is_some_and(|level| levels.contains(level)))
    }
}

impl Design {
    /// All combinations; the last axis varies fastest.
    #[must_use]
    pub fn combinations(&self) -> Vec<Combination> {
        let first = Combination { levels: BTreeMap::new(), settings: self.constants.clone() };
        let mut all = vec![first];
        for axis in &self.axes {
            all = all
                .iter()
                .flat_map(|combination| {
                    axis.levels.iter().map(|level| {
                        let mut next = combination.clone();
                        next.levels.insert(axis.name.clone(), level.name.clone());
                        level.settings.iter().for_each(|setting| next.set(setting));
                        next
                    })
                })
                .collect();
        }
        all.retain(|combination| {
            !self.skips.iter().any(|skip| {
                let kept = !skip.except.is_empty() && combination.matches(&skip.except);
                combination.matches(&skip.pick) && !kept
            })
        });
        all
    }
}
