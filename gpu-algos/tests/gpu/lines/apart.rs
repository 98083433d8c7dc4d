//! Elements at other places: moved, joined, selected, written; scans; products; linear algebra.
#![allow(unused_parens, clippy::double_parens, clippy::op_ref, reason = "lines as a user writes them")]

use gpu_algos::{
    einsum,
    gpu_array::{
        GpuArray, INFER, concatenate,
        expression::{
            Outside, diag, diff, diff_n, eye_of, flip, index, outer, pad, ravel_multi_index, repeat, roll, take,
            take_along_axis, take_axis, tile, tril, triu, unravel_index, where_,
        },
        hstack, meshgrid, stack, vstack,
    },
    inner, kron,
    linalg::{self, Triangle},
    prelude::*,
    tensordot,
};
use ndarray::{Axis, Ix2, MeshIndex, s};

use super::{Lines, OnDevice, OnHost, array_lines, device_lines, lines};

pub fn moved(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    lines! { lines, gpu, host, "Elements at other places", [x v i k];
        "np.roll(x, 1, axis=0)" => roll(x, 1, Axis(0));
        "np.roll(x, -2, axis=1)" => roll(x, -2, Axis(1));
        "np.flip(x, axis=1)" => flip(x, Axis(1));
        "np.tile(v, 3)" => tile(v, 3, Axis(0));
        "np.repeat(v, 2)" => repeat(v, 2, Axis(0));
        "np.repeat(x, 2, axis=0)" => repeat(x, 2, Axis(0));
        "np.pad(v, (1, 2))" => pad(v, 1, 2, Axis(0), Outside::Value(0.0));
        "np.pad(v, (1, 2), mode='edge')" => pad(v, 1, 2, Axis(0), Outside::Clip);
        "np.pad(v, (2, 1), mode='wrap')" => pad(v, 2, 1, Axis(0), Outside::Wrap);
        "np.pad(v, (2, 2), mode='reflect')" => pad(v, 2, 2, Axis(0), Outside::Reflect);
        "np.diff(v)" => diff(v, Axis(0));
        "np.diff(x, axis=1)" => diff(x, Axis(1));
        "np.diff(i, n=2, axis=1)" => diff_n(i, 2, Axis(1));
        "np.unravel_index(i % 12, (3, 4))[0]" => unravel_index(i % 12, (3, 4)).swap_remove(0);
        "np.unravel_index(i % 12, (3, 2, 2))[1]" => unravel_index(i % 12, (3, 2, 2)).swap_remove(1);
        "np.ravel_multi_index((i % 3, i % 4), (3, 4))" => ravel_multi_index(&[i % 3, i % 4], (3, 4));
        "np.tril(x)" => tril(x, 0);
        "np.triu(x, 1)" => triu(x, 1);
        "np.diag(v, 1)" => diag(v, 1);
        "np.outer(v, k)" => outer(v, k);
        "np.outer(v, v) + np.eye(4, 4, -1)" => outer(v, v) + eye_of::<f64, _>(4, 4, -1);
        "v[k]" => take(v, k, Outside::Wrap);
        "v.take(k, mode='clip')" => take(v, k, Outside::Clip);
        "x[:, k]" => take_axis(x, k, Axis(1), Outside::Wrap);
        "np.take(x, k, axis=0, mode='wrap')" => take_axis(x, k, Axis(0), Outside::Wrap);
        "np.take_along_axis(x, i % 4, axis=1)" => take_along_axis(x, i, Axis(1), Outside::Wrap);
    }
}

pub fn parts(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    array_lines! { lines, gpu, host, "Parts and joins", [x y v c f i k];
        "x[1:, :2]" => x.slice(s![1.., ..2])?;
        "x[:, 1]" => x.slice(s![.., 1])?;
        "x[1, 2]" => x.slice(s![1, 2])?;
        "x[-1]" => x.slice(s![-1, ..])?;
        "x[:, ::2]" => x.slice(s![.., ..;2])?;
        "x[::-1]" => x.slice(s![..;-1, ..])?;
        "f[::-1, ::2] * 2" => (f.slice(s![..;-1, ..;2])? * 2).eval()?;
        "x.T" => x.t();
        "x.reshape(4, 3)" => x.reshape((4, 3))?;
        "x.reshape(2, -1)" => x.reshape((2, INFER))?;
        "x.ravel()" => x.reshape(12)?;
        "x[np.newaxis]" => x.insert_axis(Axis(0))?;
        "np.expand_dims(v, 1)" => v.insert_axis(Axis(1))?;
        "np.squeeze(c)" => c.squeeze();
        "np.swapaxes(x, 0, 1)" => x.swap_axes(Axis(0), Axis(1))?;
        "np.transpose(x, (1, 0))" => x.permuted_axes((1, 0))?;
        "np.moveaxis(x[np.newaxis], 0, 2)" => x.insert_axis(Axis(2))?;
        "np.split(x, 3)[1]" => x.split(Axis(0), 3)?.swap_remove(1);
        "np.split(v, [1, 3])[1]" => v.split_at_indices(Axis(0), &[1, 3])?.swap_remove(1);
        "np.array_split(x, 3, axis=1)[0]" => x.array_split(Axis(1), 3)?.swap_remove(0);
        "np.hsplit(x, 2)[1]" => x.split(Axis(1), 2)?.swap_remove(1);
        "np.lib.stride_tricks.sliding_window_view(v, 2)" => v.as_strided((3, 2), &[1, 1])?;
        "np.lib.stride_tricks.as_strided(v, (2, 2), (16, 8))" => v.as_strided((2, 2), &[2, 1])?;
        "np.diagonal(x)" => x.diagonal();
        "np.diagonal(x, 1)" => x.diagonal_of(1, Axis(0), Axis(1))?;
        "np.trace(x)" => x.diagonal().sum().eval()?;
        "np.trace(i, -1)" => i.diagonal_of(-1, Axis(0), Axis(1))?.sum().eval()?;
        "np.concatenate((x, y), axis=0)" => concatenate(Axis(0), [x, y])?;
        "np.concatenate((x, c), axis=1)" => concatenate(Axis(1), [x, c])?;
        "np.append(v, v)" => concatenate(Axis(0), [v, v])?;
        "np.stack((x, y))" => stack(Axis(0), [x, y])?;
        "np.stack((x, y), axis=-1)" => stack(Axis(2), [x, y])?;
        "np.hstack((x, y))" => hstack([x, y])?;
        "np.vstack((x, y))" => vstack([x, y])?;
        "np.vstack((v, v))" => vstack([v, v])?;
        "np.meshgrid(v, v)[0]" => { let [columns, _] = meshgrid([v, v], MeshIndex::XY)?; columns };
        "np.zeros_like(x)" => x.zeros_like()?;
        "np.ones_like(x)" => x.ones_like()?;
        "np.full_like(x, 7)" => x.full_like(7.0)?;
        "x.copy()" => x.to_owned()?;
        "np.flatnonzero(x > 0)" => x.gt(0.0).nonzero().to_array()?;
        "x[:, k > 0]" => x.compress(k.gt(0), Axis(1))?;
        "x[k % 3, k % 4]" => take(x.reshape(12)?, k % 3 * 4 + k % 4, Outside::Wrap).eval()?;
    }
}

pub fn written(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    array_lines! { lines, gpu, host, "Writes", [x y v i k m];
        "x[m] = 0" => { let mut x = x.to_owned()?; x.assign_where(m, 0.0)?; x };
        "x[m] = y[m]" => { let mut x = x.to_owned()?; x.assign_where(m, y)?; x };
        "x[i > 2] = np.ravel(i)[:6]" => { let mut x = x.to_owned()?; x.assign_selected(i.gt(2), i.reshape(12)?.slice(s![..6])?.cast::<f64>())?; x };
        "x[x < 0] = 0" => { let mut x = x.to_owned()?; x.update(|x| x.maximum(0.0))?; x };
        "x[:] = x * 2 + y" => { let mut x = x.to_owned()?; x.update(|x| x * 2 + y)?; x };
        "x[:] = v" => { let mut x = x.to_owned()?; x.assign_value(v)?; x };
        "x[:] = np.tril(x)" => { let mut x = x.to_owned()?; x.update(|x| tril(x, 0))?; x };
        "np.put(x, k, v)" => { let mut x = x.to_owned()?; x.put(k, v)?; x };
        "np.put(x, k, 7)" => { let mut x = x.to_owned()?; x.put(k, 7.0)?; x };
        "np.add.at(v, k, 1.5)" => { let mut v = v.to_owned()?; v.add_at(k, 1.5)?; v };
        "np.subtract.at(v, k % 2, 1.5)" => { let mut v = v.to_owned()?; v.subtract_at(k % 2, 1.5)?; v };
        "np.multiply.at(v, k % 2, 1.5)" => { let mut v = v.to_owned()?; v.multiply_at(k % 2, 1.5)?; v };
        "np.minimum.at(v, k, 1.5)" => { let mut v = v.to_owned()?; v.minimum_at(k, 1.5)?; v };
        "np.maximum.at(i.reshape(-1), k, 3)" => { let mut i = i.to_owned()?; i.maximum_at(k, 3)?; i };
        "np.bincount(k % 4, minlength=4)" => { let mut counts = k.cast::<i64>().zeros_like()?; counts.add_at(k % 4, 1)?; counts };
        "np.histogram(x, bins=4, range=(-1, 3))[0]" => {
            let (at, inside) = ((x + 1.0).clamp(0.0, 3.0).cast::<i64>(), x.ge(-1.0) & x.le(3.0));
            let mut counts = v.cast::<i64>().zeros_like()?; counts.add_at(at, inside.cast::<i64>())?; counts
        };
        "np.histogram(x, bins=4, range=(-1, 3), density=True)[0]" => {
            let (at, inside) = ((x + 1.0).clamp(0.0, 3.0).cast::<i64>(), x.ge(-1.0) & x.le(3.0));
            let mut counts = v.cast::<i64>().zeros_like()?; counts.add_at(at, inside.cast::<i64>())?;
            let counts = counts.as_expr(); (&counts / counts.sum()).eval()?
        };
    }
}

#[expect(unsafe_code, reason = "memory that is written next")]
pub fn on_device(lines: &mut Lines, gpu: Option<&OnDevice>) {
    device_lines! { lines, gpu, "Made arrays, views to write, products, on a device", [x y v c f i j];
        "np.broadcast_to(v, (3, 4))" => v.broadcast((3, 4))?;
        "np.broadcast_to(c, (3, 4))" => c.broadcast((3, 4))?;
        "f.view(np.uint32)" => f.view_as::<u32>()?;
        "np.zeros((2, 3))" => GpuArray::<f64, _>::zeros(x.stream(), (2, 3))?;
        "np.add(x, 1, out=np.empty_like(x))" => {
            // SAFETY: `assign` writes all of it.
            let mut sum = unsafe { x.empty_like()? }; sum.assign(x + 1.0)?; sum
        };
        "np.full(3, 2.5)" => GpuArray::full(x.stream(), 3, 2.5)?;
        "np.arange(0, 10, 3)" => GpuArray::arange(x.stream(), 0i64, 10, 3)?;
        "np.linspace(0, 1, 5)" => GpuArray::linspace(x.stream(), 0.0, 1.0, 5)?;
        "np.eye(3)" => GpuArray::<f64, _>::eye(x.stream(), 3)?;
        "x[[True, False, True]]" => x.compress(&GpuArray::from_vec(x.stream(), vec![true, false, true])?, Axis(0))?;
        "x[:, 1] = 0" => { let mut x = x.try_clone()?; x.slice_mut(s![.., 1])?.fill(0.0)?; x };
        "x[1:] = v" => { let mut x = x.try_clone()?; x.slice_mut(s![1.., ..])?.assign(v)?; x };
        "x += y" => { let mut x = x.try_clone()?; x += y; x };
        "x *= 2" => { let mut x = x.try_clone()?; x *= 2.0; x };
        "x[:, 1] += 5" => { let mut x = x.try_clone()?; let mut column = x.slice_mut(s![.., 1])?; column += 5.0; x };
        "x @ y.T" => x.matmul(y.t()).eval()?;
        "x @ v" => x.matmul(v).eval()?;
        "np.dot(x, v)" => x.matmul(v).eval()?;
        "np.maximum(x @ y.T + 0.5, 0)" => (x.matmul(y.t()) + 0.5).maximum(0.0).eval()?;
        "np.where(x @ y.T > 0, x @ y.T, 0.1 * (x @ y.T))" => { let p = x.matmul(y.t()).into_expr(); where_(p.gt(0.0), &p, &p * 0.1).eval()? };
        "(x @ y.T @ x).sum(axis=0)" => x.matmul(y.t()).matmul(x).sum().axis(Axis(0)).eval()?;
        "v @ v" => v.dot(v).eval()?;
        "i @ j.T" => i.matmul(j.t()).eval()?;
        "np.vdot(x, y)" => x.vdot(y).eval()?;
    }
}

pub fn small_matrices(lines: &mut Lines, gpu: Option<&OnDevice>) {
    device_lines! { lines, gpu, "Linear algebra of small matrices, on a device", [x y v];
        "np.linalg.solve(x[:, :3], y)" => linalg::solve(x.slice(s![.., ..3])?, y).eval()?;
        "np.linalg.inv(x[:, :3])" => linalg::inv(x.slice(s![.., ..3])?).eval()?;
        "np.linalg.det(x[:, :3])" => linalg::det(x.slice(s![.., ..3])?).eval()?;
        "np.linalg.slogdet(x[:, :3])[0]" => linalg::slogdet(x.slice(s![.., ..3])?).eval()?.0;
        "np.linalg.slogdet(x[:, :3])[1]" => linalg::slogdet(x.slice(s![.., ..3])?).eval()?.1;
        "np.linalg.cholesky(x @ x.T)" => linalg::cholesky(&x.matmul(x.t()).eval()?).eval()?;
        "np.linalg.qr(x.T)[0]" => linalg::qr(x.t()).eval()?.0;
        "np.linalg.qr(x.T)[1]" => linalg::qr(x.t()).eval()?.1;
        "np.linalg.lstsq(x.T, v)[0]" => {
            let (q, r) = linalg::qr(x.t()).eval()?;
            linalg::solve_triangular(&r, &q.t().matmul(v).eval()?, Triangle::Upper).eval()?
        };
        "np.linalg.solve(np.triu(x[:, :3]), v[:3])" =>
            linalg::solve_triangular(x.slice(s![.., ..3])?, v.slice(s![..3])?, Triangle::Upper).eval()?;
    }
}

pub fn products(lines: &mut Lines, gpu: Option<&OnDevice>) {
    device_lines! { lines, gpu, "Products, diagonals and BLAS, on a device", [x y v i j z];
        "np.einsum('ij,kj->ik', x, y)" => einsum("ij,kj->ik", [x, y])?;
        "np.einsum('ij,j->i', x, v)" => einsum("ij,j->i", (x, v))?;
        "np.einsum('ij->j', x)" => einsum("ij->j", [x])?;
        "np.einsum('ii', x[:, :3])" => einsum("ii", [x.slice(s![.., ..3])?])?;
        "np.einsum('i,j,k', v, v, v)" => einsum("i,j,k", [v, v, v])?;
        "np.einsum('...j,j,...k->k...', x, v, y)" => einsum("...j,j,...k->k...", (x, v, y))?;
        "np.einsum('i,i', z, z)" => einsum("i,i", [z, z])?;
        "np.tensordot(x, y, axes=([1, 0], [1, 0]))" => tensordot(x, y, ([1, 0], [1, 0]))?;
        "np.inner(x, y)" => inner(x, y)?;
        "np.inner(x, v)" => inner(x, v)?;
        "np.kron(x, y)" => kron(x, y)?;
        "np.kron(i, j)" => kron(i, j)?;
        "np.vecdot(x, y)" => (x * y).sum().axis(Axis(1)).eval()?;
        "np.matvec(x, v)" => x.matmul(v).eval()?;
        "np.fill_diagonal(x, 7)" => { let mut x = x.try_clone()?; x.diagonal_mut().fill(7.0)?; x };
        "y + 2 * x  # axpy" => { let mut y = y.try_clone()?; y += 2.0 * x; y };
        "x * 3  # scal" => { let mut x = x.try_clone()?; x *= 3.0; x };
        "x[:, :3] + 2 * np.outer(v[:3], v[:3])  # ger" => { let v = v.slice(s![..3])?; (x.slice(s![.., ..3])? + 2.0 * outer(v, v)).eval()? };
        "np.linalg.norm(z)  # nrm2" => z.norm_l2().eval()?;
        "np.abs(v).sum()  # asum" => v.norm_l1().eval()?;
        "np.abs(v).argmax()  # iamax" => v.abs().argmax().eval()?;
    }
}

pub fn scans(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    lines! { lines, gpu, host, "Scans", [x v i a y m z];
        "np.cumsum(x)" => x.cumsum();
        "np.cumsum(x, axis=0)" => x.cumsum().axis(Axis(0));
        "np.cumsum(x, axis=1)" => x.cumsum().axis(Axis(1));
        "np.cumprod(v)" => v.cumprod();
        "np.cumsum(i)" => i.cumsum();
        "np.nancumsum(a)" => a.nancumsum();
        "np.maximum.accumulate(v)" => v.cummax();
        "np.minimum.accumulate(x, axis=1)" => x.cummin().axis(Axis(1));
        "np.cumsum(v[::-1])[::-1]" => v.cumsum().reverse();
        "np.cumsum(v) - v" => v.cumsum().exclusive();
        "np.cumsum(v) / v.sum()" => (v.cumsum() / v.sum());
        "np.cumsum(y, axis=1) / y.sum(axis=1, keepdims=True)" => (y.cumsum().axis(Axis(1)) / y.sum().axis(Axis(1)).keep_dims());
        "np.cumsum(x - x.mean())" => (x - x.mean()).cumsum();
        "np.cumsum(v * 2) + 1" => (v * 2).cumsum() + 1;
        "np.cumsum(m)" => m.cumsum();
        "np.cumsum(z)" => z.cumsum();
        "np.nancumprod(a)" => a.nancumprod();
        "np.fmax.accumulate(a)" => a.nancummax();
        "np.cumsum(x > 0, axis=1)" => x.gt(0).cumsum().axis(Axis(1));
        "1 - np.cumsum(v) / v.sum()" => 1 - v.cumsum() / v.sum();
        "(np.cumsum(y) >= y.sum() / 2).argmax()" => y.cumsum().ge(y.sum() / 2).argmax();
        "v - np.maximum.accumulate(v)" => v - v.cummax();
        "(np.maximum.accumulate(v) - v).max()" => (v.cummax() - v).max();
        "np.cumsum(x, axis=0) / (np.arange(3)[:, None] + 1)" => x.cumsum().axis(Axis(0)) / (index::<Ix2, _>(Axis(0)) + 1);
    }
}
