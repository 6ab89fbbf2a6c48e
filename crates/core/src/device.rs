//! Names of devices, and how a name becomes a device.
//!
//! | name | device |
//! |---|---|
//! | `cpu` | the processor, with the fused kernels |
//! | `gpu`, `gpu:1` | the first GPU, the second; discrete ones come first, then integrated, then virtual |
//! | `gpu-software` | a GPU driver that computes on the processor: slow, but it checks GPU code on any machine |
//!
//! Everything but `cpu` needs the cargo feature `wgpu` (Vulkan, Metal or DirectX 12, whichever the machine has),
//! computes in single precision and takes the composed operations.

use std::{fmt, str::FromStr};

use burn_tensor::Device;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A device by name, whether or not this machine has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DeviceName {
    /// The processor.
    #[default]
    Cpu,
    /// A GPU by number, from 0.
    Gpu(usize),
    /// A GPU driver that computes on the processor.
    SoftwareGpu,
}

impl FromStr for DeviceName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let number =
            |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        match name {
            "cpu" => Ok(Self::Cpu),
            "gpu" => Ok(Self::Gpu(0)),
            "gpu-software" => Ok(Self::SoftwareGpu),
            _ => name.strip_prefix("gpu:").and_then(number).map(Self::Gpu).ok_or_else(|| {
                Error::Config(format!(
                    "unknown device '{name}'; use cpu, gpu, gpu:1 (the second GPU) or gpu-software"
                ))
            }),
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Gpu(0) => f.write_str("gpu"),
            Self::Gpu(number) => write!(f, "gpu:{number}"),
            Self::SoftwareGpu => f.write_str("gpu-software"),
        }
    }
}

impl TryFrom<String> for DeviceName {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<DeviceName> for String {
    fn from(name: DeviceName) -> Self {
        name.to_string()
    }
}

/// The device of this name, ready for work.
pub(crate) fn open(name: &DeviceName) -> Result<Device> {
    match name {
        DeviceName::Cpu => Ok(Device::flex()),
        DeviceName::Gpu(_) | DeviceName::SoftwareGpu => gpu::open(name),
    }
}

/// The name of a device, where it has one of its own.
pub(crate) fn model_name(device: &Device) -> Option<String> {
    gpu::model_name(device)
}

#[cfg(not(feature = "wgpu"))]
mod gpu {
    use super::*;

    pub(super) fn open(name: &DeviceName) -> Result<Device> {
        Err(Error::Config(format!(
            "device {name}: this program was built for the processor only; build it with --features wgpu, or use \
             the device cpu"
        )))
    }

    pub(super) fn model_name(_: &Device) -> Option<String> {
        None
    }
}

#[cfg(feature = "wgpu")]
mod gpu {
    use std::sync::{Mutex, PoisonError};

    use burn_tensor::{
        DeviceKind,
        wgpu::{WgpuBackend, WgpuInitError},
    };

    use super::*;

    pub(super) fn open(name: &DeviceName) -> Result<Device> {
        match name {
            DeviceName::Gpu(number) => nth(name, *number),
            _ => start(name, DeviceKind::Cpu)?.ok_or_else(no_software_driver),
        }
    }

    /// GPU number `n`, the fastest kind first.
    fn nth(name: &DeviceName, n: usize) -> Result<Device> {
        let mut found = 0;
        for kind in [DeviceKind::DiscreteGpu, DeviceKind::IntegratedGpu, DeviceKind::VirtualGpu] {
            for number in 0.. {
                match start(name, kind(number))? {
                    None => break,
                    Some(device) if found == n => return Ok(device),
                    Some(_) => found += 1,
                }
            }
        }
        Err(absent(name, found))
    }

    /// Handles of devices that run already: Burn starts a device once for the whole process, and a second start is an
    /// error. Nothing but these handles is kept, and no result depends on them.
    static RUNNING: Mutex<Vec<(DeviceKind, Device)>> = Mutex::new(Vec::new());

    /// Starts a device, unless it runs; `None` if this machine has none of the kind.
    ///
    /// The first tensor would start it as well, but a failure there is a panic.
    fn start(name: &DeviceName, kind: DeviceKind) -> Result<Option<Device>> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, device)) = running.iter().find(|(known, _)| *known == kind) {
            return Ok(Some(device.clone()));
        }
        // On Linux OpenGL is not even asked: it offers none of these kinds, yet Burn prefers it to a software Vulkan.
        let api = if cfg!(target_os = "linux") { WgpuBackend::Vulkan } else { WgpuBackend::Auto };
        match Device::wgpu_options().device_kind(kind.clone()).graphics_api(api).init() {
            Ok(device) => {
                running.push((kind, device.clone()));
                Ok(Some(device))
            }
            Err(WgpuInitError::AdapterUnavailable { .. }) => Ok(None),
            Err(error) => Err(Error::Config(format!(
                "device {name} does not start: {error}; look at its driver, or use the device cpu"
            ))),
        }
    }

    fn absent(name: &DeviceName, n: usize) -> Error {
        let found = match n {
            0 => "no GPU with a Vulkan, Metal or DirectX 12 driver was found".to_string(),
            n => format!("GPUs are numbered from 0, and {n} were found"),
        };
        Error::Config(format!("device {name}: {found}; install the GPU's driver, or use the device cpu"))
    }

    fn no_software_driver() -> Error {
        Error::Config(
            "device gpu-software: no software driver was found; install one (on Debian: mesa-vulkan-drivers), or \
             use the device cpu"
                .into(),
        )
    }

    pub(super) fn model_name(device: &Device) -> Option<String> {
        device.identity().map(|identity| identity.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Place;

    #[test]
    fn names_are_read_and_written() {
        let names = [
            ("cpu", DeviceName::Cpu),
            ("gpu", DeviceName::Gpu(0)),
            ("gpu:3", DeviceName::Gpu(3)),
            ("gpu-software", DeviceName::SoftwareGpu),
        ];
        for (text, name) in names {
            assert_eq!(text.parse::<DeviceName>().unwrap(), name);
            assert_eq!(name.to_string(), text);
            assert_eq!(serde_json::to_string(&name).unwrap(), format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<DeviceName>(&format!("\"{text}\"")).unwrap(), name);
        }
        assert_eq!("gpu:0".parse::<DeviceName>().unwrap(), DeviceName::Gpu(0));
    }

    #[test]
    fn the_error_of_an_unknown_name_lists_the_known_ones() {
        for wrong in ["", "GPU", "cuda", "gpu:", "gpu:x", "gpu:+1", "gpu:99999999999999999999", "cpu "] {
            let error = wrong.parse::<DeviceName>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{wrong}'")) && error.contains("gpu-software"), "{error}");
        }
    }

    #[test]
    fn the_processor_is_always_there() {
        assert!(Place::on(&DeviceName::Cpu).is_ok());
    }

    #[test]
    #[cfg(not(feature = "wgpu"))]
    fn without_the_feature_a_gpu_is_an_error_that_says_how_to_get_it() {
        for name in [DeviceName::Gpu(0), DeviceName::Gpu(1), DeviceName::SoftwareGpu] {
            let error = Place::on(&name).unwrap_err();
            assert!(matches!(error, Error::Config(_)));
            assert!(error.to_string().contains("--features wgpu"), "{error}");
        }
    }
}
