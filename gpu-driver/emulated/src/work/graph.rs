//! Captured work, and graphs made of it.

use std::fmt::Write;

use super::Op;
use crate::random::Random;

/// Why a capture gives no graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaptureError {
    Invalidated,
    Unjoined,
}

/// One operation, and the nodes that must run before it.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) after: Vec<usize>,
}

/// A capture under way.
#[derive(Clone, Default)]
pub(crate) struct Capture {
    pub(crate) origin: usize,
    pub(crate) nodes: Vec<Node>,
    /// Something was done that a capture does not allow.
    pub(crate) invalid: bool,
}

/// Work to run again and again. A node comes behind those it depends on.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
}

impl Capture {
    /// The graph, when all that was captured is joined to `last`.
    pub(crate) fn finish(self, last: &[usize]) -> Result<Graph, CaptureError> {
        if self.invalid {
            return Err(CaptureError::Invalidated);
        }
        let mut reached = vec![false; self.nodes.len()];
        let mut open = last.to_vec();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                open.extend(&self.nodes[node].after);
            }
        }
        if reached.iter().all(|&reached| reached) {
            Ok(Graph { nodes: self.nodes })
        } else {
            Err(CaptureError::Unjoined)
        }
    }
}

impl Graph {
    /// Whether the other graph has the same kinds of work in the same order, and no memory of its own.
    pub(crate) fn can_become(&self, other: &Self) -> bool {
        let same = |(a, b): (&Node, &Node)| {
            a.after == b.after
                && std::mem::discriminant(&a.op) == std::mem::discriminant(&b.op)
                && !matches!(a.op, Op::Begin(_) | Op::Release(_))
        };
        self.nodes.len() == other.nodes.len() && self.nodes.iter().zip(&other.nodes).all(same)
    }

    /// The nodes and their order in the language of Graphviz.
    pub(crate) fn to_dot(&self) -> String {
        let mut text = String::from("digraph graph_of_work {\n");
        for (at, Node { op, after }) in self.nodes.iter().enumerate() {
            let label = match op {
                Op::Launch(order) => format!(
                    "KERNEL {} grid ({}, {}, {}) block ({}, {}, {})",
                    order.name, order.grid.x, order.grid.y, order.grid.z, order.block.x, order.block.y, order.block.z
                ),
                Op::Write { data, .. } => format!("MEMCPY of {} bytes from the host", data.len()),
                Op::Copy { bytes, .. } => format!("MEMCPY of {bytes} bytes"),
                Op::Fill { width, count, .. } => format!("MEMSET of {count} x {width} bytes"),
                Op::CopyRows { rows, .. } => {
                    format!("MEMCPY of {} x {} rows of {} bytes", rows.depth, rows.height, rows.width)
                }
                Op::FillRows { rows, .. } => format!("MEMSET of {} rows of {} bytes", rows.height, rows.width),
                Op::Begin(_) => "MEM_ALLOC".to_owned(),
                Op::Release(_) => "MEM_FREE".to_owned(),
                Op::Record(_) => "EVENT_RECORD".to_owned(),
                Op::Wait(_) => "EVENT_WAIT".to_owned(),
                Op::Call(_) => "HOST".to_owned(),
                Op::Graph(_) => "GRAPH".to_owned(),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "    node_{at} [label=\"{}\"];", label.replace(['"', '\\'], "'"));
            for before in after {
                let _ = writeln!(text, "    node_{before} -> node_{at};");
            }
        }
        text + "}\n"
    }

    /// An order that the dependencies allow, chosen at random.
    pub(crate) fn random_order(&self, random: &mut Random) -> Vec<usize> {
        let mut missing: Vec<usize> = self.nodes.iter().map(|node| node.after.len()).collect();
        let mut followers = vec![Vec::new(); self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            node.after.iter().for_each(|&before| followers[before].push(at));
        }
        let mut ready: Vec<usize> = (0..self.nodes.len()).filter(|&at| missing[at] == 0).collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while !ready.is_empty() {
            let chosen = ready.swap_remove(random.below(ready.len() as u64) as usize);
            order.push(chosen);
            for &follower in &followers[chosen] {
                missing[follower] -= 1;
                if missing[follower] == 0 {
                    ready.push(follower);
                }
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diamond() -> Capture {
        let node = |after: &[usize]| Node { op: Op::Release(0), after: after.to_vec() };
        Capture { nodes: vec![node(&[]), node(&[0]), node(&[0]), node(&[1, 2])], ..Capture::default() }
    }

    #[test]
    fn orders_respect_dependencies_and_differ() {
        let graph = diamond().finish(&[3]).ok().unwrap();
        let orders: Vec<_> = (0..50).map(|seed| graph.random_order(&mut Random::new(seed))).collect();
        assert!(orders.iter().all(|order| order[0] == 0 && order[3] == 3));
        assert!(orders.contains(&vec![0, 1, 2, 3]) && orders.contains(&vec![0, 2, 1, 3]));
    }

    #[test]
    fn forks_that_never_join_are_errors() {
        assert!(matches!(diamond().finish(&[1]), Err(CaptureError::Unjoined)));
        let invalid = Capture { invalid: true, ..diamond() };
        assert!(matches!(invalid.finish(&[3]), Err(CaptureError::Invalidated)));
    }
}
