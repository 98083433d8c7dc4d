//! Reductions: of all values, along axes, within expressions.
#![allow(unused_parens, clippy::double_parens, clippy::op_ref, reason = "lines as a user writes them")]

use gpu_algos::{
    gpu_array::{
        Complex,
        expression::{complex, where_},
    },
    prelude::*,
};
use ndarray::Axis;

use super::{Lines, OnDevice, OnHost, lines};

pub fn whole(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    lines! { lines, gpu, host, "Reductions of all values", [x y v i k n m f z a];
        "x.sum()" => x.sum();
        "np.sum(x * y)" => (x * y).sum();
        "x.prod()" => x.prod();
        "x.mean()" => x.mean();
        "x.std()" => x.std(0);
        "x.std(ddof=1)" => x.std(1);
        "x.var()" => x.var(0);
        "x.var(ddof=1)" => x.var(1);
        "z.sum()" => z.sum();
        "z.prod()" => z.prod();
        "z.mean()" => z.mean();
        "z.var()" => z.var(0);
        "z.var(ddof=1)" => z.var(1);
        "z.std()" => z.std(0);
        "x.min()" => x.min();
        "x.max()" => x.max();
        "x.argmin()" => x.argmin();
        "x.argmax()" => x.argmax();
        "i.sum()" => i.sum();
        "k.sum()" => k.sum();
        "n.sum()" => n.sum();
        "m.sum()" => m.sum();
        "f.sum()" => f.sum();
        "f.mean()" => f.mean();
        "k.mean()" => k.mean();
        "i.max()" => i.max();
        "i.prod()" => i.prod();
        "np.nansum(a)" => a.nansum();
        "np.nanmean(a)" => a.nanmean();
        "np.nanstd(a)" => a.nanstd(0);
        "np.nanprod(a)" => a.nanprod();
        "np.nanvar(a, ddof=1)" => a.nanvar(1);
        "np.nanvar(a + 1j * a)" => complex(a, a).nanvar(0);
        "np.var(a + 1j * a)" => complex(a, a).var(0);
        "np.nanmean(a + 1j * a)" => complex(a, a).nanmean();
        "np.nanmax(a)" => a.nanmax();
        "np.nanmin(a)" => a.nanmin();
        "np.nanargmax(a)" => a.nanargmax();
        "np.nanargmin(a)" => a.nanargmin();
        "a.max()" => a.max();
        "a.argmax()" => a.argmax();
        "np.any(x > 5)" => x.gt(5.0).any();
        "np.all(y > 0)" => y.gt(0.0).all();
        "m.any()" => m.any();
        "m.all()" => m.all();
        "np.allclose(x, y)" => (x - y).abs().le(1e-8 + 1e-5 * y.abs()).all();
        "np.array_equal(x, y)" => x.eq(y).all();
        "np.asarray(np.count_nonzero(i), dtype=np.int64)" => i.count();
        "np.asarray(np.count_nonzero(x > 1), dtype=np.int64)" => x.gt(1.0).count();
        "np.linalg.norm(v)" => v.norm_l2();
        "np.linalg.norm(v, 1)" => v.norm_l1();
        "np.linalg.norm(v, np.inf)" => v.norm_inf();
        "np.linalg.norm(z)" => z.norm_l2();
        "np.linalg.norm(z, np.inf)" => z.norm_inf();
        "np.linalg.norm(x)" => x.norm_l2();
        "np.asarray(np.isnan(a).sum())" => a.is_nan().sum();
        "np.sqrt(np.mean(x ** 2))" => x.square().mean().sqrt();
        "np.abs(x - y).max()" => (x - y).abs().max();
        "np.ptp(x)" => x.max() - x.min();
        "np.average(x, weights=y)" => (x * y).sum() / y.sum();
    }
}

pub fn along(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    lines! { lines, gpu, host, "Reductions along axes", [x y i m f];
        "x.sum(axis=0)" => x.sum().axis(Axis(0));
        "x.sum(axis=1)" => x.sum().axis(Axis(1));
        "x.sum(axis=1, keepdims=True)" => x.sum().axis(Axis(1)).keep_dims();
        "x.sum(axis=(0, 1))" => x.sum().axes(&[Axis(0), Axis(1)]);
        "x.mean(axis=0)" => x.mean().axis(Axis(0));
        "x.mean(axis=-1)" => x.mean().axis(Axis(1));
        "x.std(axis=0)" => x.std(0).axis(Axis(0));
        "x.var(axis=1, ddof=1)" => x.var(1).axis(Axis(1));
        "(x + 1j * y).var(axis=0)" => complex(x, y).var(0).axis(Axis(0));
        "(x + 1j * y).std(axis=1, ddof=1, keepdims=True)" => complex(x, y).std(1).axis(Axis(1)).keep_dims();
        "x.std(axis=1, keepdims=True)" => x.std(0).axis(Axis(1)).keep_dims();
        "np.ptp(x, axis=0)" => x.max().axis(Axis(0)) - x.min().axis(Axis(0));
        "x.min(axis=0)" => x.min().axis(Axis(0));
        "x.max(axis=1)" => x.max().axis(Axis(1));
        "x.argmax(axis=0)" => x.argmax().axis(Axis(0));
        "x.argmin(axis=1)" => x.argmin().axis(Axis(1));
        "x.prod(axis=1)" => x.prod().axis(Axis(1));
        "i.sum(axis=0)" => i.sum().axis(Axis(0));
        "i.max(axis=1)" => i.max().axis(Axis(1));
        "m.any(axis=0)" => m.any().axis(Axis(0));
        "m.all(axis=1)" => m.all().axis(Axis(1));
        "m.sum(axis=1)" => m.sum().axis(Axis(1));
        "f.mean(axis=0)" => f.mean().axis(Axis(0));
        "np.count_nonzero(m, axis=0)" => m.count().axis(Axis(0));
        "np.linalg.norm(x, ord=1, axis=0)" => x.norm_l1().axis(Axis(0));
        "np.linalg.norm(x, axis=1)" => x.norm_l2().axis(Axis(1));
        "(x * y).sum(axis=1)" => (x * y).sum().axis(Axis(1));
        "np.abs(x).max(axis=0)" => x.abs().max().axis(Axis(0));
        "np.einsum('ij,ij->i', x, y)" => (x * y).sum().axis(Axis(1));
    }
}

pub fn selected(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    lines! { lines, gpu, host, "Values that a mask selects", [x y i j n m f z a];
        "x[m]" => x.select(m);
        "x[x > 1]" => x.select(x.gt(1.0));
        "i[i % 2 == 0]" => i.select((i % 2).eq(0));
        "a[~np.isnan(a)]" => a.select(!a.is_nan());
        "x[m].mean()" => x.select(m).mean();
        "x[x > 0].sum()" => x.select(x.gt(0.0)).sum();
        "x[m].min()" => x.select(m).min();
        "x[~m].max()" => x.select(!m).max();
        "x[m].var()" => x.select(m).var(0);
        "x[m].std(ddof=1)" => x.select(m).std(1);
        "x[m].prod()" => x.select(m).prod();
        "(x[m] > 2).any()" => x.gt(2.0).select(m).any();
        "m[x > 0].all()" => m.select(x.gt(0.0)).all();
        "np.asarray(np.count_nonzero(i[m]), dtype=np.int64)" => i.select(m).count();
        "i[i > 0].sum()" => i.select(i.gt(0)).sum();
        "i[j < 0].max()" => i.select(j.lt(0)).max();
        "i[m].mean()" => i.select(m).mean();
        "n[n > 100].sum()" => n.select(n.gt(100)).sum();
        "f[m].mean()" => f.select(m).mean();
        "z[z.real > -1].mean()" => z.select(z.real().gt(-1.0)).mean();
        "z[z.imag < 1].var()" => z.select(z.imag().lt(1.0)).var(0);
        "a[a > 0.5].mean()" => a.select(a.gt(0.5)).mean();
        "a[~(a > 2)].max()" => a.select(!a.gt(2.0)).max();
        "np.nanmean(a[~(a > 2)])" => a.select(!a.gt(2.0)).nanmean();
        "x[x > 100].mean()" => x.select(x.gt(100.0)).mean();
        "x[x > 100].sum()" => x.select(x.gt(100.0)).sum();
        "x[m].sum(keepdims=True)" => x.select(m).sum().keep_dims();
        "(x * y)[m].sum()" => (x * y).select(m).sum();
        "x[m].mean() - x[~m].mean()" => x.select(m).mean() - x.select(!m).mean();
        "x - x[m].mean()" => x - x.select(m).mean();
        "(x - x[m].mean()) / x[m].std()" => (x - x.select(m).mean()) / x.select(m).std(0);
        "x[x > x[m].mean()].sum()" => x.select(x.gt(x.select(m).mean())).sum();
        "np.where(np.isnan(a), a[~np.isnan(a)].mean(), a)" => where_(a.is_nan(), a.select(!a.is_nan()).mean(), a);
        "x[m].sum() / x.sum()" => x.select(m).sum() / x.sum();
        "((x - y) ** 2)[m].mean()" => (x - y).square().select(m).mean();
    }
}

pub fn within(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    lines! { lines, gpu, host, "Reductions within expressions", [x y v i f a z];
        "x - x.mean()" => x - x.mean();
        "x - x.mean(axis=0)" => x - x.mean().axis(Axis(0));
        "(x - x.mean(axis=0)) / x.std(axis=0)" => (x - x.mean().axis(Axis(0))) / x.std(0).axis(Axis(0));
        "x - x.mean(axis=1, keepdims=True)" => x - x.mean().axis(Axis(1)).keep_dims();
        "(x - x.min()) / (x.max() - x.min())" => (x - x.min()) / (x.max() - x.min());
        "x / x.sum()" => x / x.sum();
        "z - z.mean()" => z - z.mean();
        "1 - z.mean()" => 1.0 - z.mean();
        "1j * z.sum()" => Complex::new(0.0, 1.0) * z.sum();
        "y / y.sum(axis=1, keepdims=True)" => y / y.sum().axis(Axis(1)).keep_dims();
        "v / np.linalg.norm(v)" => v / v.norm_l2();
        "np.exp(x - x.max(axis=1, keepdims=True))" => (x - x.max().axis(Axis(1)).keep_dims()).exp();
        "np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)" => x.exp() / x.exp().sum().axis(Axis(1)).keep_dims();
        "x.max() + np.log(np.exp(x - x.max()).sum())" => x.max() + (x - x.max()).exp().sum().log();
        "x > x.mean()" => x.gt(x.mean());
        "x == x.max(axis=0)" => x.eq(x.max().axis(Axis(0)));
        "((x - y) ** 2).mean()" => (x - y).square().mean();
        "1 - ((x - y) ** 2).sum() / ((x - x.mean()) ** 2).sum()" => 1.0 - (x - y).square().sum() / (x - x.mean()).square().sum();
        "i - i.min()" => i - i.min();
        "i / i.sum()" => i / i.sum();
        "2 * x.sum() - 1" => 2.0 * x.sum() - 1.0;
        "-x.min()" => -x.min();
        "f - f.mean(axis=0)" => f - f.mean().axis(Axis(0));
        "np.where(np.isnan(a), np.nanmean(a), a)" => where_(a.is_nan(), a.nanmean(), a);
        "((x - x.mean()) * (y - y.mean())).mean() / (x.std() * y.std())" => ((x - x.mean()) * (y - y.mean())).mean() / (x.std(0) * y.std(0));
        "x.mean(axis=0).max()" => x.mean().axis(Axis(0)).max();
        "x.sum(axis=0) * y.sum(axis=1, keepdims=True)" => x.sum().axis(Axis(0)) * y.sum().axis(Axis(1)).keep_dims();
    }
}
