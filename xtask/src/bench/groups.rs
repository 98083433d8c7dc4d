//! Figures of the same work by different hands, which stand in a table together.

use std::collections::BTreeMap;

use super::{
    id::Id,
    record::{Figure, Run},
    units,
};

/// All figures of one group.
#[derive(Debug, Default)]
pub(crate) struct Group<'a> {
    /// By whom, in the order of the alphabet.
    pub(crate) ours: Vec<(&'a str, &'a Figure)>,
    pub(crate) peers: Vec<(&'a str, &'a Figure)>,
}

impl<'a> Group<'a> {
    pub(crate) fn best_peer(&self) -> Option<(&'a str, &'a Figure)> {
        best(&self.peers)
    }

    pub(crate) fn best_of_ours(&self) -> Option<(&'a str, &'a Figure)> {
        best(&self.ours)
    }

    /// How many times as long the best peer takes.
    pub(crate) fn ratio(&self) -> Option<f64> {
        Some(self.best_peer()?.1.median / self.best_of_ours()?.1.median)
    }
}

fn best<'a>(figures: &[(&'a str, &'a Figure)]) -> Option<(&'a str, &'a Figure)> {
    figures.iter().copied().min_by(|(_, a), (_, b)| a.median.total_cmp(&b.median))
}

/// The groups of a run by their name.
pub(crate) fn groups(run: &Run) -> BTreeMap<String, Group<'_>> {
    let mut groups: BTreeMap<String, Group<'_>> = BTreeMap::new();
    for (id, figure) in &run.figures {
        let Id { group, by } = Id::parse(id);
        let group = groups.entry(group).or_default();
        if figure.peer { &mut group.peers } else { &mut group.ours }.push((by, figure));
    }
    groups
}

/// The groups that have peers, a row each: its name, the ratio, who of ours took how long, who of the peers.
pub(crate) fn against_peers(run: &Run) -> Vec<Vec<String>> {
    let list = |figures: &[(&str, &Figure)]| {
        let all: Vec<String> =
            figures.iter().map(|(by, figure)| format!("{by} {}", units::time(figure.median))).collect();
        if all.is_empty() { "–".to_owned() } else { all.join(", ") }
    };
    let row = |(name, group): (String, Group<'_>)| {
        let ratio = group.ratio().map_or_else(|| "–".to_owned(), units::times);
        (!group.peers.is_empty()).then(|| vec![name, ratio, list(&group.ours), list(&group.peers)])
    };
    groups(run).into_iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_of_either_side_make_the_ratio() {
        let figure = |peer, median| Figure { peer, median, ..Figure::default() };
        let figures = [
            ("spmv/f64/a/csr/device", figure(false, 3.0)),
            ("spmv/f64/a/packets/device", figure(false, 2.0)),
            ("spmv/f64/a/cusparse/device", figure(true, 5.0)),
            ("spmv/f64/a/cupy/device", figure(true, 4.0)),
            ("spmv/f64/a/cupy/wall", figure(true, 4.0)),
            ("odd", figure(false, 1.0)),
        ];
        let run = Run {
            figures: figures.into_iter().map(|(id, figure)| (id.to_owned(), figure)).collect(),
            ..Run::default()
        };
        let groups = groups(&run);
        assert_eq!(groups.keys().collect::<Vec<_>>(), ["odd", "spmv/f64/a/device", "spmv/f64/a/wall"]);
        assert_eq!(groups["spmv/f64/a/device"].ratio(), Some(2.0));
        assert_eq!((groups["spmv/f64/a/wall"].ratio(), groups["odd"].ratio()), (None, None));
    }
}
