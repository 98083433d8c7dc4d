use std::{fs, path::Path, process::Command, time::Instant};

use super::*;

/// A kernel with all that is rewritten.
const SAMPLE: &str = r#"// A sum over a block.
#include "prelude.cuh"

namespace {

template <class T, int THREADS> struct Storage {
    T values[THREADS];
};

template <class T, int THREADS>
__device__ __forceinline__ T sum(T value, Storage<T, THREADS> &storage) {
    storage.values[threadIdx.x] = value;
    __syncthreads();
#pragma unroll
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) storage.values[threadIdx.x] += storage.values[threadIdx.x + half];
        __syncthreads();
    }
    return storage.values[0];
}

} // namespace

template <class T, int THREADS, int BLOCKS> __global__ void
__launch_bounds__(THREADS,
                  (BLOCKS > 1 ? BLOCKS : 1))
    sum_of_block(const T *__restrict__ x, T *out, uint64_t n) {
    typedef Storage<T, THREADS> Shared;
    __shared__ Shared storage;
    extern __shared__ __align__(16) unsigned char more[];
    const uint64_t i = uint64_t(blockIdx.x) * THREADS + threadIdx.x;
    const T all = sum<T, THREADS>(i < n ? x[i] : T(0), storage);
    if (threadIdx.x == 0) out[blockIdx.x] = all + T(more[0] * 0);
}
"#;

/// The sample and, where the tests run in the workspace, all its kernels: a package of this crate holds none of the others.
fn sources() -> Vec<String> {
    fn add(folder: &Path, sources: &mut Vec<String>) {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                add(&path, sources);
            } else if path.extension().is_some_and(|extension| extension == "cu" || extension == "cuh") {
                sources.extend(fs::read_to_string(&path));
            }
        }
    }
    let mut sources = vec![SAMPLE.to_owned()];
    for package in ["gpu-driver", "gpu-array", "gpu-algos", "gpu-random", "gpu-sparse"] {
        add(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(package), &mut sources);
    }
    sources
}

/// The rewritten inside of a function.
fn inside(text: &str) -> String {
    let whole = rewrite(&format!("void f() {{{text}}}")).text;
    whole.strip_prefix("void f() {").and_then(|rest| rest.strip_suffix('}')).unwrap_or(&whole).to_owned()
}

/// One blank for each run of blanks, none at the ends.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Compiles rewritten text against the stand-in header: the compiler's messages where it fails.
fn compile(text: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("stand_in.h"), include_str!("stand_in.h")).unwrap();
    let program = [super::super::program::PREAMBLE, "#include \"stand_in.h\"\n", &rewrite(text).text].concat();
    fs::write(folder.path().join("program.cpp"), program).unwrap();
    let mut command = Command::new("c++");
    command.current_dir(&folder).args(["-std=c++17", "-fsyntax-only", "-Werror=vla", "program.cpp"]);
    let output = command.output().expect("the compiler that was there when this was built");
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn a_declaration_becomes_a_typedef_and_a_macro() {
    for (text, want) in [
        ("__shared__ float a[4];", "typedef float gpu_shared_type_a[4]; GPU_EMULATED_SHARED(gpu_shared_type_a, a);"),
        ("float __shared__ a;", "typedef float gpu_shared_type_a; GPU_EMULATED_SHARED(gpu_shared_type_a, a);"),
        (
            "static __shared__ volatile Foo<A, B> x[N][M + 1];",
            "typedef volatile Foo<A, B> gpu_shared_type_x[N][M + 1]; GPU_EMULATED_SHARED(gpu_shared_type_x, x);",
        ),
        (
            "__shared__ int a[2], *b;",
            "typedef int gpu_shared_type_a[2], *gpu_shared_type_b; \
             GPU_EMULATED_SHARED(gpu_shared_type_a, a); GPU_EMULATED_SHARED(gpu_shared_type_b, b);",
        ),
        ("__shared__ int (*p)[4];", "typedef int (*gpu_shared_type_p)[4]; GPU_EMULATED_SHARED(gpu_shared_type_p, p);"),
        (
            "extern __shared__ __align__(16) unsigned char s[];",
            "typedef __attribute__((aligned(16))) unsigned char gpu_shared_type_s[]; \
             GPU_EMULATED_SHARED_DYNAMIC(gpu_shared_type_s, s);",
        ),
        (
            "alignas(T) __shared__ char s[sizeof(T)];",
            "typedef __attribute__((aligned(gpu_emulated_alignment<T>()))) char gpu_shared_type_s[sizeof(T)]; \
             GPU_EMULATED_SHARED(gpu_shared_type_s, s);",
        ),
        (
            "foo(); if (x) { } __shared__ struct { int a; } s;",
            "foo(); if (x) { } typedef struct { int a; } gpu_shared_type_s; GPU_EMULATED_SHARED(gpu_shared_type_s, s);",
        ),
        (
            "struct S { int a; } __shared__ s;",
            "typedef struct S { int a; } gpu_shared_type_s; GPU_EMULATED_SHARED(gpu_shared_type_s, s);",
        ),
    ] {
        assert_eq!(squeezed(&inside(text)), squeezed(want), "{text}");
    }
}

#[test]
fn namespaces_and_functions_are_told_apart() {
    let global = |text: &str| rewrite(text).text.contains("GPU_EMULATED_SHARED_GLOBAL(gpu_shared_type_x, x);");
    for text in [
        "__shared__ int x;",
        "namespace a::b { __shared__ int x; }",
        "inline namespace a { namespace { __shared__ int x; } }",
        "extern \"C\" { __shared__ int x; }",
        "extern \"C++\" { __shared__ int x; }",
        "struct S { void f() { } }; void g() { if (1) { } } __shared__ int x;",
        "template <class T> struct S : B<T> { enum : int { A }; T f() { return {}; } }; __shared__ int x;",
        "#if A\nvoid f() {\n#else\nvoid f(int) {\n#endif\n}\n__shared__ int x;",
    ] {
        assert!(global(text), "{text}\n{}", rewrite(text).text);
    }
    for text in [
        "void f() { __shared__ int x; }",
        "auto f = [] { __shared__ int x; };",
        "void f() { g([&] { __shared__ int x; }); }",
    ] {
        let got = rewrite(text).text;
        assert!(got.contains("GPU_EMULATED_SHARED(gpu_shared_type_x, x);"), "{got}");
    }
    let dynamic = rewrite("namespace n { extern __shared__ float x[]; }").text;
    assert!(dynamic.contains("GPU_EMULATED_SHARED_DYNAMIC_GLOBAL(gpu_shared_type_x, x);"), "{dynamic}");
}

#[test]
fn what_only_looks_like_a_declaration_stays() {
    for text in [
        "// __shared__ int x;",
        "/* __shared__ int x; */",
        "const char *s = \"__shared__ int x;\";",
        "const char *s = R\"(__shared__ int x;)\";",
        "#define SHARED(type, name) __shared__ type \\\n name; __global__",
        "void f(__shared__ int *x);",
        "typedef __shared__ int x;",
        "template <class T> __shared__ T x;",
        "void f() { __shared__; }",
        "void f() { __shared__ x; }",
        "void f() { __shared__ int; }",
        "void f() { __shared__ int x[3 }",
        "struct S { __shared__ int x; };",
    ] {
        assert_eq!(rewrite(text).text, text);
    }
}

#[test]
fn launch_bounds_move_into_the_body() {
    for (text, want) in [
        ("__global__ void f(int *x) { }", "__global__ void f(int *x) { GPU_EMULATED_ENTER(0); }"),
        ("__global__ void __launch_bounds__(256) f() {}", "__global__ void f() { GPU_EMULATED_ENTER(256);}"),
        ("__launch_bounds__(N, 2) __global__ void f() {}", "__global__ void f() { GPU_EMULATED_ENTER(N , 2);}"),
        ("__global__ __launch_bounds__(N, 2, 8) void f() {}", "__global__ void f() { GPU_EMULATED_ENTER(N , 2);}"),
        (
            "void __global__ __launch_bounds__(P<A, B>::N, 2) f() {}",
            "void __global__ f() { GPU_EMULATED_ENTER(P < A , B > :: N , 2);}",
        ),
        ("__global__ void __launch_bounds__(1) f();", "__global__ void f();"),
        (
            "template <> __global__ void f<int, (3 > 2)>(int) {}",
            "template <> __global__ void f<int, (3 > 2)>(int) { GPU_EMULATED_ENTER(0);}",
        ),
        ("__global__ ATTRIBUTE(3) void f() {}", "__global__ ATTRIBUTE(3) void f() { GPU_EMULATED_ENTER(0);}"),
        (
            "__global__ auto f() noexcept(true) -> void {}",
            "__global__ auto f() noexcept(true) -> void { GPU_EMULATED_ENTER(0);}",
        ),
        ("template __global__ void f<int>(int);", "template __global__ void f<int>(int);"),
    ] {
        let got = rewrite(text);
        assert_eq!((squeezed(&got.text), got.all_kernels_enter), (squeezed(want), true), "{text}");
    }
}

#[test]
fn kernels_that_cannot_be_read_are_told() {
    for text in [
        "#define KERNEL __global__ void\nKERNEL f() {}",
        "__global__ void (f)(int) {}",
        "__global__",
        "__global__ void f(",
    ] {
        let got = rewrite(text);
        assert!(!got.all_kernels_enter && got.text == text, "{text}");
    }
    assert!(rewrite("// __global__\n#define A 1\nvoid f() {}").all_kernels_enter);
}

#[test]
fn kernels_with_c_linkage_are_found() {
    let found = |text: &str| -> Vec<String> {
        let show = |kernel: PlainKernel| {
            let condition = if kernel.is_conditional { "?" } else { "" };
            format!(
                "{}{}{}{condition}",
                kernel.namespace,
                if kernel.namespace.is_empty() { "" } else { "::" },
                kernel.name
            )
        };
        rewrite(text).extern_c_kernels.into_iter().map(show).collect()
    };
    assert_eq!(
        found("extern \"C\" __global__ void f() {} __global__ void g() {} extern \"C\" __global__ void h();"),
        ["f"]
    );
    assert_eq!(
        found("extern \"C\" { __global__ void f() {} template <class T> __global__ void g() {} void h() {} }"),
        ["f"]
    );
    assert_eq!(found("extern \"C\" __launch_bounds__(3) __global__ void f() {}"), ["f"]);
    assert_eq!(found("extern \"C\" __global__ void f(); __global__ void f() {}"), ["f"]);
    assert_eq!(
        found("namespace a { namespace { extern \"C\" { namespace b::c { __global__ void f() {} } } } }"),
        ["a::b::c::f"]
    );
    assert_eq!(
        found("#if 0\nextern \"C\" __global__ void f() {}\n#else\nextern \"C\" __global__ void g(int) {}\n#endif"),
        ["f?", "g?"]
    );
    assert_eq!(found("extern \"C\" { __device__ int x; } __global__ void f() {}"), [""; 0]);
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn what_is_rewritten_compiles_and_means_the_same() {
    let text = r#"
        struct Plain { int a; float b; };
        namespace n { template <class A, int B> struct Foo { A a[B]; typedef A type; }; }
        __shared__ int at_file[3];
        extern __shared__ unsigned char dynamic_at_file[];
        namespace n { static __shared__ __align__(32) double in_namespace[2]; }
        template <class T, int N> __global__ void __launch_bounds__(N, 2) many(T *out) {
            __shared__ T a[N], b, *c;
            __shared__ n::Foo<T, (N > 2 ? 3 : 1)> foo[2][N];
            __shared__ typename n::Foo<n::Foo<T, 2>, N>::type nested;
            __shared__ alignas(64) unsigned char raw[sizeof(T) * N];
            __shared__ alignas(T) unsigned char like[sizeof(T) * N];
            __align__(sizeof(T) * 4) __shared__ T front[4];
            __shared__ T behind[4] __attribute__((aligned(16))), behind2 [2] __align__(sizeof(T) * 8);
            T __shared__ middle;
            unsigned long long __shared__ const volatile words[3];
            __shared__ struct { int x; T y; } unnamed[2];
            __shared__ union Both { float f; int i; } both;
            struct Late { int z; } __shared__ late;
            __shared__ int (*pointer)[4];
            __shared__ void (*function)(int, T);
            extern __shared__ T dynamic[];
            __shared__ decltype(T() + 1) again[N]; { __shared__ T a[1]; static_assert(sizeof(a) == sizeof(T), ""); }
            static_assert(sizeof(a) == N * sizeof(T) && sizeof(b) == sizeof(T) && sizeof(c) == sizeof(T *), "");
            static_assert(sizeof(foo) == sizeof(n::Foo<T, 3>) * 2 * N, "");
            static_assert(alignof(gpu_shared_type_raw) == 64 && sizeof(raw) == sizeof(T) * N, "");
            static_assert(alignof(gpu_shared_type_like) == alignof(T), "");
            static_assert(alignof(gpu_shared_type_front) == 4 * sizeof(T), "");
            static_assert(alignof(gpu_shared_type_behind) >= 16 && alignof(gpu_shared_type_behind2) == 8 * sizeof(T), "");
            static_assert(sizeof(unnamed) == sizeof(again) / N * 4 || sizeof(T) != 4, "");
            nested.a[0] = a[0] + at_file[0] + n::in_namespace[0] + late.z + both.i + words[0] + middle + dynamic[0];
            pointer = nullptr, function = nullptr, c = out, unnamed[1].y = dynamic_at_file[0] + behind[0] + front[0] + foo[0][0].a[0];
        }
        template __global__ void many<float, 4>(float *);
        template __global__ void many<double, 8>(double *);
    "#;
    compile(text).unwrap();
}

#[test]
#[cfg_attr(not(has_cxx), ignore = "there was no C++ compiler when this was built")]
fn messages_name_what_is_wrong() {
    let message = |text: &str| compile(text).expect_err(text);
    let got = message("void f() {\n __shared__ int a = 3, b;\n b = a; }");
    assert!(got.contains("shared memory takes no initialiser: a") && got.contains("program.cpp:"), "{got}");
    assert!(!got.contains("not declared"), "{got}");
    assert!(
        message("void f() { __shared__ S s{1,\n2}; }").contains("‘S’")
            || message("void f() { __shared__ S s{1}; }").contains("'S'")
    );
    assert!(message("void f() { __shared__ int; }").contains("memory"));
    assert!(message("void f(int n) { __shared__ int a[n]; }").contains("variable length array"));
}

#[test]
fn kernels_keep_their_lines_and_say_their_bounds() {
    for text in sources() {
        let got = rewrite(&text);
        assert_eq!(got.text.lines().count(), text.lines().count());
        assert!(got.all_kernels_enter, "{text}");
        let mut code = got.text.lines().filter(|line| !line.trim_start().starts_with("//"));
        assert!(!code.any(|line| line.contains("__launch_bounds__")), "{}", got.text);
        let mut above = "";
        for (before, after) in text.lines().zip(got.text.lines()) {
            let is_bound = above.contains("__launch_bounds__") && after.trim().is_empty();
            assert!(before == after || before.contains("__") || before.contains('{') || is_bound, "{before}\n{after}");
            above = before;
        }
    }
}

/// Pieces that are awkward next to each other.
const SNIPPETS: &[&str] = &[
    "__shared__ float a[4];\n",
    "extern\n__shared__\nfloat\nx[];",
    "__shared__ int a = {\n1\n};\n",
    "__launch_bounds__(\n256,\n2)\n",
    "__global__ void f(int a,\n int b) {\n",
    "extern \"C\" ",
    "template <class T>\n",
    "namespace a {\n",
    "}\n",
    "{",
    "(",
    ")",
    "<",
    ">",
    ";",
    ",",
    "[",
    "]",
    "__shared__ ",
    "__global__ ",
    "__align__(\n16\n) ",
    "alignas(int) ",
    "struct S {\n",
    "// __shared__ \\\n more\n",
    "/* __global__\n */",
    "\"a\\\"\n",
    "R\"x(\n)\" )x\"",
    "'",
    "\\\n",
    "\r\n",
    "#if 1\n",
    "#else\n",
    "#endif\n",
    "#define X __shared__ \\\n int\n",
    "é",
    "0x1'0p+3",
    " x ",
    "::",
    "typename ",
    "*",
    "=",
];

/// NumbersText that look random and are the same in every run.
struct NumbersText(u64);

impl NumbersText {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn lines_stay_where_they_are_for_any_snippets() {
    let mut numbers = NumbersText(1);
    for _ in 0..20_000 {
        let text: String = (0..numbers.below(30)).map(|_| SNIPPETS[numbers.below(SNIPPETS.len())]).collect();
        let got = rewrite(&text).text;
        assert_eq!(got.matches('\n').count(), text.matches('\n').count(), "{text}\n---\n{got}");
    }
}

#[test]
fn text_without_cuda_words_stays_as_it_is() {
    let mut numbers = NumbersText(2);
    let plain: Vec<&&str> = SNIPPETS.iter().filter(|snippet| !snippet.contains("__")).collect();
    for _ in 0..5_000 {
        let text: String = (0..numbers.below(60)).map(|_| *plain[numbers.below(plain.len())]).collect();
        assert_eq!(rewrite(&text).text, text);
    }
}

#[test]
fn no_text_makes_it_panic() {
    let (mut numbers, sources) = (NumbersText(3), sources());
    for round in 0..6_000 {
        let mut bytes = sources[round % sources.len()].as_bytes().to_vec();
        for _ in 0..=numbers.below(6) {
            let (at, other) = (numbers.below(bytes.len()), numbers.below(bytes.len()));
            match numbers.below(5) {
                0 => bytes[at] = numbers.below(256) as u8,
                1 => drop(bytes.drain(at.min(other)..at.max(other).min(at.min(other) + 40))),
                2 => bytes.insert(at, b"(){}[]<>\"'\\/*#;,"[numbers.below(16)]),
                3 => drop(bytes.splice(at..at, SNIPPETS[numbers.below(SNIPPETS.len())].bytes())),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let got = rewrite(&text).text;
        assert_eq!(got.matches('\n').count(), text.matches('\n').count());
    }
    for _ in 0..2_000 {
        let bytes: Vec<u8> = (0..numbers.below(200)).map(|_| numbers.below(256) as u8).collect();
        rewrite(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn time_grows_with_the_length_alone() {
    const BYTES: usize = 1_000_000;
    for snippet in SNIPPETS.iter().chain(&[
        SAMPLE,
        "__shared__ a<",
        "__shared__ a[",
        "__shared__ a{",
        "#if 1\n{",
        "struct S {} ",
        "((((",
    ]) {
        let text = snippet.repeat(BYTES / snippet.len());
        let start = Instant::now();
        rewrite(&text);
        let seconds = start.elapsed().as_secs_f64();
        assert!(seconds < 5.0, "{seconds} s for {snippet:?}");
    }
}
