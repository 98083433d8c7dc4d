//! XORWOW as the engine of a stream.

use gpu_driver::DeviceSliceMut;

use crate::{
    Result, XorwowRng,
    device::xorwow as device,
    distribution::Distribution,
    engine::{Engine, FillRequest, Rules},
    turns::Turn,
    xorwow::host::{self, HostStates},
};

/// The states of a stream's generators where it was last.
#[derive(Default)]
pub(crate) struct States {
    host: HostStates,
    pub(crate) device: device::DeviceStates,
}

impl Engine for XorwowRng {}

impl Rules for XorwowRng {
    const NAME: &'static str = "XORWOW";
    const GENERATORS: u32 = 4096;
    const WORD: Turn = Turn { draws: 1, values: 1, shared: false };
    type States = States;

    fn turn<D: Distribution>() -> Turn {
        Turn { draws: D::WORDS as u32, values: D::VALUES as u32, shared: false }
    }

    fn fill_host<D: Distribution>(request: FillRequest<'_, Self>, distribution: D, out: &mut [D::Value]) {
        let mut states = std::mem::take(&mut request.states.host);
        host::fill(&request, &mut states, distribution, out);
        request.states.host = states;
    }

    fn fill_device<D: Distribution>(
        request: FillRequest<'_, Self>,
        distribution: D,
        out: DeviceSliceMut<'_, D::Value>,
    ) -> Result<()> {
        device::fill(request, distribution, out)
    }
}
