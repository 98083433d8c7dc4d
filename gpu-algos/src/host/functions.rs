//! Reductions of whole arrays by name. Each is [`reduce`](fn@reduce) with the operator that it names.

use super::reduce;
use crate::operators::named::named_reductions;

named_reductions!(host);
