//! Choices by measuring: kept on disk, made by hand, and refused where answers differ.

use std::{cell::Cell, fs, os::unix::fs::PermissionsExt, path::PathBuf};

use gpu_driver::{Device, DeviceVec, DriverError, Stream, Tuner, Variants};
use testkit::{Outcome, ensure, ensure_eq};

type X = DeviceVec<f32>;

/// A copy of the input, made again and again.
fn copies(count: usize) -> impl Fn(&Stream, &X) -> gpu_driver::Result<X> {
    move |_, x| {
        let mut copy = x.try_clone()?;
        for _ in 1..count {
            copy = x.try_clone()?;
        }
        Ok(copy)
    }
}

/// Three variants with equal answers, of which the second is the fastest; each run is counted.
fn variants<'a>(runs: &'a Cell<usize>) -> Variants<'a, X, X> {
    let counted = |count| {
        let copy = copies(count);
        move |stream: &Stream, x: &X| {
            runs.set(runs.get() + 1);
            copy(stream, x)
        }
    };
    Variants::new("copy").variant("100 copies", counted(100)).variant("one", counted(1)).variant("50", counted(50))
}

/// The files of choices in a folder.
fn files(folder: &std::path::Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

pub fn the_fastest_variant_is_kept_for_later_programs(device: &Device) -> Outcome {
    let (folder, stream, runs) = (tempfile::tempdir()?, Stream::new(device)?, Cell::new(0));
    let place = folder.path().join("tuned");
    let (x, variants) = (DeviceVec::from_slice(&stream, &[1.5f32; 1000])?, variants(&runs));
    let tuner = Tuner::in_folder(device, &place)?;
    ensure_eq!((tuner.choice("copy", 1000), tuner.known().len()), (None, 0));
    let choice = tuner.tune(&variants, x.len(), &x, &stream)?;
    ensure!(choice.variant == "one" && !choice.is_pinned, "{choice:?}");
    ensure_eq!((choice.kernel.as_str(), choice.sizes.clone()), ("copy", 512..=1023));
    let names: Vec<_> = choice.times_ms.iter().map(|(name, _)| name.as_str()).collect();
    ensure_eq!(names, ["100 copies", "one", "50"]);
    ensure!(choice.times_ms.iter().all(|(_, ms)| ms.is_finite() && *ms > 0.0), "{choice:?}");
    // The folder and the file are this user's alone.
    let mode = |path: &std::path::Path| fs::metadata(path).map(|is| is.permissions().mode() & 0o777);
    ensure_eq!((mode(&place)?, files(&place).len(), mode(&files(&place)[0])?), (0o700, 1, 0o600));

    // Another tuner measures nothing for the sizes of the class, nor does this one.
    let (again, before) = (Tuner::in_folder(device, &place)?, runs.get());
    ensure_eq!((again.tune(&variants, 1023, &x, &stream)?, runs.get()), (choice.clone(), before));
    ensure_eq!((tuner.tune(&variants, 512, &x, &stream)?, runs.get()), (choice.clone(), before));
    ensure_eq!((again.choice("copy", 600), again.known()), (Some(choice.clone()), vec![choice.clone()]));
    ensure_eq!(variants.run(&choice.variant, &x, &stream)?.to_vec()?, vec![1.5; 1000]);
    // A known choice is taken within a capture too; a measurement is not.
    let mut within = None;
    stream.capture(|| {
        within = Some(again.tune(&variants, 1000, &x, &stream)?);
        Ok::<_, DriverError>(())
    })?;
    ensure_eq!(within, Some(choice));
    let refused = stream.capture(|| again.tune(&variants, 1024, &x, &stream)).err();
    ensure!(matches!(refused, Some(DriverError::InCapture { op: "Tuner::tune" })), "{refused:?}");
    // Another size class, and another list of variants, are measured.
    let before = runs.get();
    again.tune(&variants, 1024, &x, &stream)?;
    let after = runs.get();
    ensure!(after > before && again.known().len() == 2, "{before}, {after}, {:?}", again.known());
    let fewer = Variants::new("copy").variant("two", copies(2)).variant("100 copies", copies(100));
    ensure_eq!(again.tune(&fewer, 1000, &x, &stream)?.variant, "two");
    Ok(())
}

pub fn error_variants_with_other_answers(device: &Device) -> Outcome {
    let (folder, stream) = (tempfile::tempdir()?, Stream::new(device)?);
    let tuner = Tuner::in_folder(device, folder.path())?.rounds(1);
    let x = DeviceVec::from_slice(&stream, &[1.0f32, 2.0])?;
    let wrong = |_: &Stream, x: &X| DeviceVec::from_slice(x.home(), &[1.0, 2.0000002]);
    let variants = Variants::new("copy").variant("right", copies(1)).variant("wrong", wrong);
    let error = tuner.tune(&variants, 2, &x, &stream).unwrap_err();
    ensure!(matches!(&error, DriverError::VariantsDiffer { variant, .. } if &**variant == "wrong"), "{error:?}");
    ensure!(error.to_string().contains("element 1 is 2.0000002, not 2.0"), "{error}");
    let short =
        Variants::new("copy").variant("right", copies(1)).variant("short", |_, x: &X| x.slice(..1)?.try_clone());
    let error = tuner.tune(&short, 2, &x, &stream).unwrap_err().to_string();
    ensure!(error.contains("`short` of `copy`") && error.contains("1 elements, not 2"), "{error}");
    ensure!(tuner.known().is_empty(), "{:?}", tuner.known());
    // A comparison of one's own.
    let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
    tuner.tune_with(&variants, 2, &x, &stream, close)?;

    let none = Variants::<X, X>::new("none");
    let error = tuner.tune(&none, 2, &x, &stream).unwrap_err().to_string();
    ensure!(error.contains("it has none"), "{error}");
    let twice = Variants::new("copy").variant("a", copies(1)).variant("a", copies(2));
    let error = tuner.tune(&twice, 2, &x, &stream).unwrap_err().to_string();
    ensure!(error.contains("`a` twice"), "{error}");
    let error = variants.run("other", &x, &stream).unwrap_err().to_string();
    ensure!(error.contains("`other`") && error.contains("`right`, `wrong`"), "{error}");
    Ok(())
}

pub fn variants_are_chosen_by_hand_and_forgotten(device: &Device) -> Outcome {
    let (folder, stream, runs) = (tempfile::tempdir()?, Stream::new(device)?, Cell::new(0));
    let (x, variants) = (DeviceVec::from_slice(&stream, &[1.5f32; 1000])?, variants(&runs));
    let tuner = Tuner::in_folder(device, folder.path())?;
    tuner.pin("copy", 1000, "50");
    for tuner in [&tuner, &Tuner::in_folder(device, folder.path())?] {
        let choice = tuner.tune(&variants, 1000, &x, &stream)?;
        ensure!(choice.variant == "50" && choice.is_pinned && runs.get() == 0, "{choice:?}");
    }
    tuner.pin("copy", 1000, "gone");
    let error = tuner.tune(&variants, 1000, &x, &stream).unwrap_err();
    ensure!(matches!(&error, DriverError::NoVariant { variant, .. } if variant == "gone"), "{error:?}");
    tuner.forget("another")?;
    ensure_eq!(tuner.known().len(), 1);
    tuner.forget("copy")?;
    ensure_eq!((tuner.known(), files(folder.path()).len()), (Vec::new(), 0));
    ensure_eq!(tuner.tune(&variants, 1000, &x, &stream)?.variant, "one");

    // Broken files, and those that others can write, are as none, and are written anew.
    let file = files(folder.path()).pop().ok_or("no file")?;
    let whole = fs::read(&file)?;
    let damages: [&dyn Fn() -> std::io::Result<()>; 3] =
        [&|| fs::write(&file, &whole[..whole.len() - 1]), &|| fs::write(&file, "not a choice"), &|| {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o666))
        }];
    for damage in damages {
        damage()?;
        let (another, before) = (Tuner::in_folder(device, folder.path())?, runs.get());
        ensure_eq!((another.choice("copy", 1000), another.known()), (None, Vec::new()));
        ensure_eq!(another.tune(&variants, 1000, &x, &stream)?.variant, "one");
        ensure!(runs.get() > before, "not measured");
        let third = Tuner::in_folder(device, folder.path())?;
        ensure_eq!(third.choice("copy", 1000).map(|choice| choice.variant), Some("one".to_owned()));
    }
    fs::write(&file, "")?;
    fs::write(folder.path().join("another file"), "")?;
    tuner.clear()?;
    ensure_eq!((tuner.known(), files(folder.path()).len()), (Vec::new(), 1));

    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
    let refused = Tuner::in_folder(device, folder.path()).err();
    ensure!(matches!(refused, Some(DriverError::UnsafeCache { .. })), "{refused:?}");
    Ok(())
}

pub fn variants_that_reorder_sums_take_part_where_they_are_allowed(device: &Device) -> Outcome {
    let (folder, stream) = (tempfile::tempdir()?, Stream::new(device)?);
    let x = DeviceVec::from_slice(&stream, &[1.0f32; 1000])?;
    let rounded = |_: &Stream, x: &X| DeviceVec::from_slice(x.home(), &[1.0000001; 1000]);
    let variants = || Variants::new("sums").variant("slow", copies(100)).reorders_sums("fast", rounded);
    let tuner = Tuner::in_folder(device, folder.path())?.rounds(1);
    let choice = tuner.tune(&variants(), 1000, &x, &stream)?;
    ensure!(choice.variant == "slow" && choice.times_ms.len() == 1, "{choice:?}");
    // One that is not allowed is not taken by hand either.
    tuner.pin("sums", 1, "fast");
    let error = tuner.tune(&variants(), 1, &x, &stream).unwrap_err().to_string();
    ensure!(error.contains("no variant `fast`") && error.contains("allow_reordered_sums"), "{error}");
    let only = Variants::new("only").reorders_sums("fast", rounded);
    ensure!(matches!(tuner.tune(&only, 1, &x, &stream), Err(DriverError::NoVariant { .. })), "taken");

    let tuner = Tuner::in_folder(device, folder.path())?.rounds(1).allow_reordered_sums();
    let error = tuner.tune(&variants(), 1000, &x, &stream).unwrap_err().to_string();
    ensure!(error.contains("call tune_with with a bound"), "{error}");
    let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
    ensure_eq!(tuner.tune_with(&variants(), 1000, &x, &stream, close)?.times_ms.len(), 2);
    ensure_eq!(tuner.tune_with(&variants(), 1, &x, &stream, close)?.variant, "fast");
    Ok(())
}
