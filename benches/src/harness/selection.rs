//! Which figures the command line chooses: criterion does not tell before it calls a bench, and set-ups can take seconds.

use regex::Regex;

/// The options of criterion 0.8 that take the next argument as their value.
const WITH_VALUE: [&str; 20] = [
    "-c",
    "--color",
    "--colour",
    "-s",
    "--save-baseline",
    "-b",
    "--baseline",
    "--baseline-lenient",
    "--load-baseline",
    "--format",
    "--output-format",
    "--plotting-backend",
    "--profile-time",
    "--sample-size",
    "--warm-up-time",
    "--measurement-time",
    "--nresamples",
    "--noise-threshold",
    "--confidence-level",
    "--significance-level",
];

/// The figures and the mode that criterion's arguments choose.
#[derive(Debug, Default)]
pub(super) struct Selection {
    filter: Option<Filter>,
    list: bool,
    bench: bool,
    test: bool,
}

#[derive(Debug)]
enum Filter {
    Exact(String),
    Matches(Regex),
    Nothing,
}

impl Selection {
    pub(super) fn from_arguments(arguments: impl IntoIterator<Item = String>) -> Self {
        let mut arguments = arguments.into_iter();
        let (mut selection, mut text, mut exact, mut ignored) = (Self::default(), None, false, false);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--exact" => exact = true,
                "--ignored" => ignored = true,
                "--list" => selection.list = true,
                "--bench" => selection.bench = true,
                "--test" => selection.test = true,
                option if WITH_VALUE.contains(&option) => drop(arguments.next()),
                option if option.starts_with('-') => {}
                _ => text = Some(argument),
            }
        }
        // Criterion has the last word on an expression that cannot be read.
        selection.filter = match text {
            _ if ignored => Some(Filter::Nothing),
            Some(text) if exact => Some(Filter::Exact(text)),
            Some(text) => Regex::new(&text).ok().map(Filter::Matches),
            None => None,
        };
        selection
    }

    pub(super) fn chooses(&self, id: &str) -> bool {
        match &self.filter {
            None => true,
            Some(Filter::Exact(exact)) => exact == id,
            Some(Filter::Matches(expression)) => expression.is_match(id),
            Some(Filter::Nothing) => false,
        }
    }

    /// Whether figures are only named.
    pub(super) fn is_list(&self) -> bool {
        self.list
    }

    /// Whether each figure is called once and not timed.
    pub(super) fn is_test(&self) -> bool {
        self.test || !self.bench
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Selection {
        Selection::from_arguments(arguments.iter().map(|&argument| argument.to_owned()))
    }

    #[test]
    fn filters_are_found_among_options() {
        let all = "--bench --noplot --sample-size 10 --warm-up-time 0.1 --measurement-time 0.2 --nresamples 1001";
        let with = |filter: &[&str]| read(&[&all.split(' ').collect::<Vec<_>>()[..], filter].concat());
        assert!(with(&[]).chooses("spmv/f64/a/b/wall") && !with(&[]).is_test());
        let products = with(&["^spmv/.*/wall$"]);
        assert!(products.chooses("spmv/f64/a/b/wall") && !products.chooses("spmv/f64/a/b/device"));
        let exact = with(&["--exact", "a.b"]);
        assert!(exact.chooses("a.b") && !exact.chooses("a.bc") && !exact.chooses("acb"));
        assert!(!read(&["--ignored"]).chooses("a"));
    }

    #[test]
    fn modes_are_criterions() {
        assert!(read(&[]).is_test() && read(&["--bench", "--test"]).is_test());
        assert!(read(&["--list"]).is_list() && !read(&["--bench"]).is_list());
    }
}
