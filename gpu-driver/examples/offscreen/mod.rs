//! An OpenGL context without a window, by EGL.
use std::{
    error::Error,
    ffi::{c_uint, c_void},
    mem,
    rc::Rc,
};

use gpu_driver::Device;
use khronos_egl::{self as egl, EGL1_5};

type Egl = egl::DynamicInstance<EGL1_5>;

/// A context that is current to this thread until it is dropped.
pub(crate) struct Offscreen {
    egl: Rc<Egl>,
    display: egl::Display,
    context: egl::Context,
}

impl Offscreen {
    /// A context that the device draws for, or the reasons why there is none.
    pub(crate) fn of(device: &Device) -> Result<Self, Box<dyn Error>> {
        // SAFETY: loading runs the initialisers of the machine's EGL.
        let egl = unsafe { Egl::load_required() }.map_err(|error| format!("EGL 1.5 is not here: {error}"))?;
        let (egl, mut reasons) = (Rc::new(egl), Vec::new());
        for display in displays(&egl) {
            match open(&egl, display).map(|context| (Device::gl_ordinals(), context)) {
                Ok((Ok(ordinals), context)) if ordinals.contains(&device.ordinal()) => return Ok(context),
                Ok((Ok(ordinals), _)) => reasons.push(format!("one draws on {ordinals:?}")),
                Ok((Err(error), _)) => reasons.push(error.to_string()),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(format!("no EGL display draws on {device}: {}", reasons.join("; ")).into())
    }

    /// OpenGL's functions, to be called while the context is current.
    pub(crate) fn functions(&self) -> glow::Context {
        let find = |name: &str| self.egl.get_proc_address(name).map_or(std::ptr::null(), |at| at as *const c_void);
        // SAFETY: the functions of the context, which is current.
        unsafe { glow::Context::from_loader_function(find) }
    }
}

impl Drop for Offscreen {
    fn drop(&mut self) {
        // A display that is left goes with the process.
        let _ = self.egl.make_current(self.display, None, None, None);
        let _ = self.egl.destroy_context(self.display, self.context);
    }
}

/// A display for each device, where EGL can list them, and the usual one.
fn displays(egl: &Egl) -> Vec<egl::Display> {
    const DEVICE: egl::Enum = 0x313f;
    type QueryDevices = extern "system" fn(egl::Int, *mut *mut c_void, *mut egl::Int) -> c_uint;
    let (mut devices, mut count) = ([std::ptr::null_mut(); 16], 0);
    if let Some(query) = egl.get_proc_address("eglQueryDevicesEXT") {
        // SAFETY: the function of this name has that signature.
        let query: QueryDevices = unsafe { mem::transmute(query) };
        if query(devices.len() as egl::Int, devices.as_mut_ptr(), &mut count) == 0 {
            count = 0;
        }
    }
    let of_device = |&device: &*mut c_void| {
        // SAFETY: a device that EGL has listed.
        unsafe { egl.get_platform_display(DEVICE, device, &[egl::ATTRIB_NONE]).ok() }
    };
    // SAFETY: EGL's own default.
    let usual = unsafe { egl.get_display(egl::DEFAULT_DISPLAY) };
    devices.iter().take(count as usize).filter_map(of_device).chain(usual).collect()
}

/// Makes a context without a surface current.
fn open(egl: &Rc<Egl>, display: egl::Display) -> Result<Offscreen, Box<dyn Error>> {
    egl.initialize(display)?;
    egl.bind_api(egl::OPENGL_API)?;
    let wanted = [egl::SURFACE_TYPE, egl::PBUFFER_BIT, egl::RENDERABLE_TYPE, egl::OPENGL_BIT, egl::NONE];
    let config = egl.choose_first_config(display, &wanted)?.ok_or("a display without OpenGL")?;
    let context = egl.create_context(display, config, None, &[egl::NONE])?;
    let made = Offscreen { egl: egl.clone(), display, context };
    made.egl.make_current(display, None, None, Some(context))?;
    Ok(made)
}
