//! Two runs side by side: the changes, and the verdicts on them.

use std::collections::BTreeMap;

use regex::Regex;

use super::{
    id::Id,
    record::{Figure, MACHINE, Run},
    statistics::{CONFIDENCE, Change, paired, unpaired},
};

/// The verdict on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// The whole interval lies beyond the threshold.
    Slower,
    /// The baseline has it, this run has not.
    Gone,
    Faster,
    /// The interval reaches over the threshold: it may have changed.
    Open,
    /// The rounds scatter too much, or are too few.
    NotJudged,
    New,
    /// The whole interval lies within the threshold.
    Same,
}

impl Verdict {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Slower => "SLOWER",
            Self::Gone => "GONE",
            Self::Faster => "faster",
            Self::Open => "open",
            Self::NotJudged => "not judged",
            Self::New => "new",
            Self::Same => "same",
        }
    }
}

/// One figure of the two.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) base: Option<Figure>,
    pub(crate) this: Option<Figure>,
    pub(crate) change: Option<Change>,
    pub(crate) verdict: Verdict,
    /// Why it is not judged.
    pub(crate) reason: String,
    /// The user said that this one may be slower, or go.
    pub(crate) allowed: bool,
}

impl Row {
    /// Whether the comparison fails by it.
    pub(crate) fn fails(&self) -> bool {
        matches!(self.verdict, Verdict::Slower | Verdict::Gone) && !self.allowed
    }
}

/// How to judge.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// 0.05 for 5 %.
    pub(crate) threshold: f64,
    /// The rounds of the two are of one time, in turn.
    pub(crate) interleaved: bool,
    /// Figures that may be slower, or go.
    pub(crate) allow: Vec<Regex>,
}

impl Rules {
    /// Half an interval may be as wide as this: a figure that scatters more is not judged, unless all of it lies farther off than it is wide. Twice
    /// the threshold, so that a slowdown well beyond the threshold is still found where rounds scatter by about as much.
    fn scatter(&self) -> f64 {
        2.0 * self.threshold
    }

    fn change(&self, this: &Figure, base: &Figure) -> Option<Change> {
        if self.interleaved && this.rounds.len() == base.rounds.len() {
            paired(&this.rounds, &base.rounds)
        } else {
            unpaired(&this.rounds, &base.rounds)
        }
    }

    fn verdict(&self, change: Option<Change>) -> (Verdict, String) {
        let Some(change) = change else { return (Verdict::NotJudged, "no times".to_owned()) };
        let (slow, fast) = (1.0 + self.threshold, 1.0 / (1.0 + self.threshold));
        if change.confidence < CONFIDENCE {
            (Verdict::NotJudged, format!("too few rounds: {:.0} % sure at most", 100.0 * change.confidence))
        } else if change.half_width() > self.scatter() && change.low - 1.0 <= change.half_width() {
            (Verdict::NotJudged, format!("rounds scatter by {:.0} %", 100.0 * change.half_width()))
        } else if change.low > slow {
            (Verdict::Slower, String::new())
        } else if change.high < fast {
            (Verdict::Faster, String::new())
        } else if change.low >= fast && change.high <= slow {
            (Verdict::Same, String::new())
        } else {
            (Verdict::Open, String::new())
        }
    }
}

/// All figures of ours in either run, by id. A peer's belong to a table of ratios, not here, and the machine's own are no one's fault.
pub(crate) fn compare(this: &Run, base: &Run, rules: &Rules) -> Vec<Row> {
    let ours = |run: &Run| -> BTreeMap<String, Figure> {
        let is_ours = |(id, figure): &(&String, &Figure)| !figure.peer && Id::parse(id).by != MACHINE;
        run.figures.iter().filter(is_ours).map(|(id, figure)| (id.clone(), figure.clone())).collect()
    };
    let (mut this, mut base) = (ours(this), ours(base));
    let mut ids: Vec<String> = this.keys().chain(base.keys()).cloned().collect();
    ids.sort();
    ids.dedup();
    let row = |id: String| {
        let (this, base) = (this.remove(&id), base.remove(&id));
        let change = this.as_ref().zip(base.as_ref()).and_then(|(this, base)| rules.change(this, base));
        let (verdict, reason) = match (&this, &base) {
            (Some(_), None) => (Verdict::New, String::new()),
            (None, _) => (Verdict::Gone, String::new()),
            _ => rules.verdict(change),
        };
        let allowed = rules.allow.iter().any(|pattern| pattern.is_match(&id));
        Row { id, base, this, change, verdict, reason, allowed }
    };
    ids.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NINE: [f64; 9] = [1.00, 1.01, 0.99, 1.02, 1.00, 0.98, 1.01, 1.00, 1.00];

    fn run(figures: &[(&str, &[f64])]) -> Run {
        let figure = |rounds: &[f64]| Figure { rounds: rounds.to_vec(), ..Figure::default() };
        Run {
            figures: figures.iter().map(|(id, rounds)| ((*id).to_owned(), figure(rounds))).collect(),
            ..Run::default()
        }
    }

    fn rules() -> Rules {
        Rules { threshold: 0.05, interleaved: true, allow: Vec::new() }
    }

    fn one(this: &[f64], base: &[f64], rules: &Rules) -> Row {
        compare(&run(&[("a", this)]), &run(&[("a", base)]), rules).remove(0)
    }

    fn scaled(by: f64) -> Vec<f64> {
        NINE.iter().map(|x| x * by).collect()
    }

    #[test]
    fn only_a_whole_interval_beyond_the_threshold_is_slower() {
        for (by, want) in [(1.2, Verdict::Slower), (1.0, Verdict::Same), (0.8, Verdict::Faster)] {
            assert_eq!(one(&scaled(by), &NINE, &rules()).verdict, want);
        }
        // Its middle lies beyond, its lower end does not.
        let across = [1.04, 1.04, 1.04, 1.06, 1.07, 1.07, 1.08, 1.08, 1.08];
        assert_eq!(one(&across, &[1.0; 9], &rules()).verdict, Verdict::Open);
        assert_eq!(one(&across, &[1.0; 9], &Rules { threshold: 0.03, ..rules() }).verdict, Verdict::Slower);
    }

    #[test]
    fn a_slow_round_of_both_cancels_only_where_they_were_interleaved() {
        let slow_rounds: Vec<f64> = (0..9).map(|i| if i % 2 == 0 { 1.0 } else { 1.5 }).collect();
        let this: Vec<f64> = slow_rounds.iter().map(|x| 1.2 * x).collect();
        assert_eq!(one(&this, &slow_rounds, &rules()).verdict, Verdict::Slower);
        let apart = one(&this, &slow_rounds, &Rules { interleaved: false, ..rules() });
        assert!(apart.verdict == Verdict::NotJudged && apart.reason.contains("scatter"), "{apart:?}");
    }

    #[test]
    fn what_scatters_or_was_hardly_measured_is_not_judged() {
        let wild = [1.2, 2.0, 1.1, 1.6, 1.3, 1.9, 1.5, 1.2, 1.4];
        let row = one(&wild, &[1.0; 9], &rules());
        assert!(row.verdict == Verdict::NotJudged && !row.fails(), "{row:?}");
        let row = one(&[1.3; 3], &[1.0; 3], &rules());
        assert!(row.verdict == Verdict::NotJudged && row.reason.contains("few rounds"), "{row:?}");
    }

    #[test]
    fn what_is_slower_by_far_more_than_it_scatters_cannot_hide() {
        let slow = [2.0, 2.1, 2.2, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9];
        assert_eq!(one(&slow, &[1.0; 9], &rules()).verdict, Verdict::Slower);
    }

    #[test]
    fn what_vanished_fails_unless_it_was_allowed_to() {
        let (this, base) = (run(&[("b", &NINE)]), run(&[("a", &NINE)]));
        let rows = compare(&this, &base, &rules());
        let said: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.verdict, row.fails())).collect();
        assert_eq!(said, [("a", Verdict::Gone, true), ("b", Verdict::New, false)]);
        let allow = vec![Regex::new("^a$").unwrap()];
        assert!(!compare(&this, &base, &Rules { allow, ..rules() }).iter().any(Row::fails));
    }

    #[test]
    fn peers_and_the_machine_are_not_judged() {
        let mut base = run(&[("a", &NINE), ("copy/bytes/9/machine/device", &NINE)]);
        base.figures.get_mut("a").unwrap().peer = true;
        assert!(compare(&run(&[]), &base, &rules()).is_empty());
    }
}
