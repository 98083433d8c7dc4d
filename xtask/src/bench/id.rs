//! The names of figures.

/// `operation/dtype/case/by/measure`, apart.
pub(crate) struct Id<'a> {
    /// `operation/dtype/case/…/measure`: figures that share it are set against each other.
    pub(crate) group: String,
    pub(crate) by: &'a str,
}

impl<'a> Id<'a> {
    /// An id of another form is a group of its own, by nobody.
    pub(crate) fn parse(id: &'a str) -> Self {
        match id.split('/').collect::<Vec<_>>()[..] {
            [operation, dtype, case, by, measure] => {
                Self { group: format!("{operation}/{dtype}/{case}/{measure}"), by }
            }
            _ => Self { group: id.to_owned(), by: "" },
        }
    }
}
