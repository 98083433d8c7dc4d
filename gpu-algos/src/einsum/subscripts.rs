//! The text of an einsum: the labels of the axes of each operand and of the result, and their lengths.

use std::{collections::BTreeMap, fmt};

use crate::{AlgoError, Result};

/// The name of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Label {
    /// An axis of the ellipsis, counted from its last one.
    Ellipsis(usize),
    Letter(char),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ellipsis(0) => f.write_str("of the last place of `...`"),
            Self::Ellipsis(number) => write!(f, "of place {} from the last of `...`", number),
            Self::Letter(letter) => write!(f, "`{letter}`"),
        }
    }
}

/// The letters of one operand, or of the result, on both sides of the ellipsis.
struct Term {
    before: Vec<char>,
    after: Vec<char>,
    has_ellipsis: bool,
}

impl Term {
    fn parse(subscripts: &str, term: &str) -> Result<Self> {
        let parts: Vec<&str> = term.split("...").collect();
        if parts.len() > 2 {
            return Err(out_of_place(subscripts, "...", "stands twice in the subscripts of one array"));
        }
        let letters = |part: Option<&&str>| {
            let signs = part.into_iter().flat_map(|part| part.chars()).filter(|sign| *sign != ' ');
            let letter = |sign: char| match sign {
                _ if sign.is_ascii_alphabetic() => Ok(sign),
                '.' => Err(out_of_place(subscripts, ".", "is not part of an ellipsis, `...`")),
                _ => Err(out_of_place(subscripts, sign, "is no letter from a to z or from A to Z")),
            };
            signs.map(letter).collect::<Result<Vec<char>>>()
        };
        Ok(Self { before: letters(parts.first())?, after: letters(parts.get(1))?, has_ellipsis: parts.len() == 2 })
    }

    /// Number of letters.
    fn named(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// The labels of an array that has so many axes in the place of the ellipsis.
    fn labels(&self, axes: usize) -> Vec<Label> {
        let letters = |letters: &[char]| letters.iter().copied().map(Label::Letter).collect::<Vec<_>>();
        let ellipsis: Vec<Label> = (0..axes).rev().map(Label::Ellipsis).collect();
        [letters(&self.before), ellipsis, letters(&self.after)].concat()
    }
}

fn out_of_place(subscripts: &str, found: impl ToString, why: &'static str) -> AlgoError {
    AlgoError::Subscripts { subscripts: subscripts.to_owned(), found: found.to_string(), why }
}

/// The labels of all axes, checked against the shapes of the operands.
#[derive(Clone, Debug)]
pub(crate) struct Subscripts {
    /// The labels of each operand.
    pub(crate) operands: Vec<Vec<Label>>,
    /// The labels of the result, each once.
    pub(crate) output: Vec<Label>,
    /// The length of each label: that of its axes, of which those of length 1 are broadcast.
    pub(crate) lengths: BTreeMap<Label, usize>,
}

impl Subscripts {
    /// # Errors
    /// `Subscripts`, `SubscriptOperands`, `SubscriptAxes`, `LabelLength`.
    pub(crate) fn new(text: &str, shapes: &[&[usize]]) -> Result<Self> {
        let (inputs, output) = text.split_once("->").map_or((text, None), |(inputs, output)| (inputs, Some(output)));
        let terms = inputs.split(',').map(|term| Term::parse(text, term)).collect::<Result<Vec<_>>>()?;
        let output = output.map(|output| Term::parse(text, output)).transpose()?;
        let (expected, got) = (terms.len(), shapes.len());
        if expected != got {
            return Err(AlgoError::SubscriptOperands { subscripts: text.to_owned(), expected, got });
        }
        let mut operands = Vec::with_capacity(expected);
        let mut ellipsis = 0;
        for (operand, (term, shape)) in terms.iter().zip(shapes).enumerate() {
            let axes = shape.len().checked_sub(term.named()).filter(|&axes| axes == 0 || term.has_ellipsis);
            let axes = axes.ok_or_else(|| AlgoError::SubscriptAxes {
                subscripts: text.to_owned(),
                operand,
                labels: term.named(),
                shape: shape.to_vec(),
            })?;
            ellipsis = ellipsis.max(axes);
            operands.push(term.labels(axes));
        }
        let output = match output {
            None => implicit_output(&operands, ellipsis),
            Some(output) => explicit_output(text, &output, &operands, ellipsis)?,
        };
        let lengths = lengths(text, &operands, shapes)?;
        Ok(Self { operands, output, lengths })
    }

    pub(crate) fn length(&self, label: Label) -> usize {
        self.lengths.get(&label).copied().unwrap_or(1)
    }

    /// The shape of the result.
    pub(crate) fn shape(&self) -> Vec<usize> {
        self.output.iter().map(|&label| self.length(label)).collect()
    }
}

/// The axes of the ellipsis, then each letter that stands once, in alphabetic order.
fn implicit_output(operands: &[Vec<Label>], ellipsis: usize) -> Vec<Label> {
    let mut letters: Vec<Label> = operands.iter().flatten().copied().collect();
    letters.sort_unstable();
    let once = letters.chunk_by(|a, b| a == b).filter(|labels| labels.len() == 1).map(|labels| labels[0]);
    let once = once.filter(|label| matches!(label, Label::Letter(_)));
    (0..ellipsis).rev().map(Label::Ellipsis).chain(once).collect()
}

fn explicit_output(text: &str, output: &Term, operands: &[Vec<Label>], ellipsis: usize) -> Result<Vec<Label>> {
    if ellipsis > 0 && !output.has_ellipsis {
        return Err(out_of_place(text, "...", "stands for axes of operands, so the result needs it too"));
    }
    let labels = output.labels(ellipsis);
    for (place, label) in labels.iter().enumerate() {
        let Label::Letter(letter) = label else { continue };
        if labels[..place].contains(label) {
            return Err(out_of_place(text, letter, "stands twice in the result"));
        }
        if !operands.iter().any(|operand| operand.contains(label)) {
            return Err(out_of_place(text, letter, "stands in the result and in no operand"));
        }
    }
    Ok(labels)
}

/// The length of each label. Axes of one operand with one label have one length; of two operands one may have length 1.
fn lengths(text: &str, operands: &[Vec<Label>], shapes: &[&[usize]]) -> Result<BTreeMap<Label, usize>> {
    let mut known: BTreeMap<Label, (usize, usize)> = BTreeMap::new();
    for (operand, (labels, shape)) in operands.iter().zip(shapes).enumerate() {
        for (axis, (&label, &got)) in labels.iter().zip(*shape).enumerate() {
            let differ = |other, expected| AlgoError::LabelLength {
                subscripts: text.to_owned(),
                label: label.to_string(),
                operand,
                got,
                other,
                expected,
            };
            if let Some(first) = labels[..axis].iter().position(|&other| other == label)
                && shape[first] != got
            {
                return Err(differ(operand, shape[first]));
            }
            match known.get(&label) {
                Some(&(_, expected)) if got == expected || got == 1 => {}
                Some(&(other, expected)) if expected != 1 => return Err(differ(other, expected)),
                _ => _ = known.insert(label, (operand, got)),
            }
        }
    }
    Ok(known.into_iter().map(|(label, (_, length))| (label, length)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(labels: &[Label]) -> String {
        let sign = |label: &Label| match label {
            Label::Ellipsis(number) => number.to_string(),
            Label::Letter(letter) => letter.to_string(),
        };
        labels.iter().map(sign).collect()
    }

    /// Subscripts and shapes, with the labels of the result and its shape.
    type Case = (&'static str, &'static [&'static [usize]], &'static str, &'static [usize]);

    /// The labels of the result and its shape, or the error.
    fn output(text: &str, shapes: &[&[usize]]) -> Result<(String, Vec<usize>), String> {
        let subscripts = Subscripts::new(text, shapes).map_err(|error| error.to_string())?;
        Ok((told(&subscripts.output), subscripts.shape()))
    }

    #[test]
    fn results_are_those_of_numpy() {
        let cases: [Case; 18] = [
            ("ij,jk->ik", &[&[2, 3], &[3, 4]], "ik", &[2, 4]),
            ("ij,jk", &[&[2, 3], &[1, 4]], "ik", &[2, 4]),
            ("Ba", &[&[2, 3]], "Ba", &[2, 3]),
            ("ba", &[&[2, 3]], "ab", &[3, 2]),
            ("ii", &[&[3, 3]], "", &[]),
            (" i j , j k -> i k ", &[&[2, 3], &[3, 4]], "ik", &[2, 4]),
            ("...i->...", &[&[2, 3]], "0", &[2]),
            ("i...->...i", &[&[2, 3]], "0i", &[3, 2]),
            ("...ij,...jk", &[&[5, 2, 3], &[3, 4]], "0ik", &[5, 2, 4]),
            ("...,...", &[&[2, 3], &[1, 3]], "10", &[2, 3]),
            ("...i,...i->...", &[&[2, 0, 3], &[1, 3]], "10", &[2, 0]),
            ("ij->ij...", &[&[2, 3]], "ij", &[2, 3]),
            ("i->...", &[&[3]], "", &[]),
            ("", &[&[]], "", &[]),
            (",", &[&[], &[]], "", &[]),
            ("i,,i", &[&[2], &[], &[2]], "", &[]),
            ("ii,i->i", &[&[1, 1], &[3]], "i", &[3]),
            ("ij,i", &[&[0, 3], &[1]], "j", &[3]),
        ];
        for (text, shapes, labels, shape) in cases {
            assert_eq!(output(text, shapes), Ok((labels.to_owned(), shape.to_vec())), "{text} of {shapes:?}");
        }
    }

    #[test]
    fn wrong_subscripts_are_told() {
        let cases: [(&str, &[&[usize]], &str); 14] = [
            ("i1", &[&[2, 3]], "`1` is no letter from a to z or from A to Z"),
            ("i->->", &[&[2]], "`-` is no letter from a to z or from A to Z"),
            ("i->i,", &[&[2]], "`,` is no letter from a to z or from A to Z"),
            ("i.j", &[&[2, 3]], "`.` is not part of an ellipsis, `...`"),
            ("...i...", &[&[2]], "`...` stands twice in the subscripts of one array"),
            ("ij->ii", &[&[2, 3]], "`i` stands twice in the result"),
            ("ij->ik", &[&[2, 3]], "`k` stands in the result and in no operand"),
            ("...i->i", &[&[2, 3]], "`...` stands for axes of operands, so the result needs it too"),
            ("ij,jk->ik", &[&[2, 3]], "subscripts of 2 operands, 1 were given"),
            ("ij", &[&[2, 3, 4]], "2 labels for operand 0, which has shape [2, 3, 4]"),
            ("i,...jkl", &[&[2], &[2, 3]], "3 labels for operand 1, which has shape [2, 3]"),
            ("ij,jk->ik", &[&[2, 3], &[4, 5]], "an axis `j` has length 4 in operand 1, one of operand 0 has 3"),
            ("ii", &[&[3, 1]], "an axis `i` has length 1 in operand 0, one of operand 0 has 3"),
            (
                "...,...",
                &[&[2, 3], &[4, 3]],
                "an axis of place 1 from the last of `...` has length 4 in operand 1, one of operand 0 has 2",
            ),
        ];
        for (text, shapes, want) in cases {
            assert_eq!(output(text, shapes), Err(format!("einsum of `{text}`: {want}")));
        }
        assert!(output("i,i", &[&[0], &[3]]).is_err() && output("i,i", &[&[0], &[1]]).is_ok());
    }
}
