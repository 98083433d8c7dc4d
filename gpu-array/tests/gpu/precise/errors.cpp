// The errors of computed values of a function, from the functions of long double of the C library.
//
//   errors FUNCTION TYPE ORDER ALLOWED < arrays
//
// TYPE is f32 or f64. The input is npy files of that type, one behind the other: the arguments,
// the second arguments (also of functions that have none), and the values that each place computed
// for the first of them, as many as it has. For each place a line is written:
//
//   ULPS X Y GOT WANT ABSOLUTE X AMPLITUDE X
//
// the largest error in units in the last place of the exact value, among the errors that are larger
// than ALLOWED, with its arguments and both values; the largest error as a number; and of functions
// with many zeros the largest in units in the last place of the larger of the value and an
// amplitude (see amplitude_at). NaN in place of a number is an infinite error, and so is a zero of
// the other sign where ALLOWED is 0. Infinity is as near as the largest number is.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

typedef long double Wide;

static int order;

template <class T> struct Format;
template <> struct Format<float> {
    enum { digits = 24, least = -149 };
    static constexpr Wide most = 0x1.fffffep127L;
    static float next(float x, float y) { return nextafterf(x, y); }
    static float root(float x) { return sqrtf(x); }
};
template <> struct Format<double> {
    enum { digits = 53, least = -1074 };
    static constexpr Wide most = 0x1.fffffffffffffp1023L;
    static double next(double x, double y) { return nextafter(x, y); }
    static double root(double x) { return sqrt(x); }
};

// The functions whose values are numbers of T, or rounded to one once, are compared as such: the
// conversion to T rounds, and IEEE 754 has roots rounded.
template <class T> struct Functions {
    struct Entry {
        const char *name;
        Wide (*value)(Wide x, Wide y);
    };

    static Wide mantissa(Wide x, Wide) {
        int exponent;
        return isfinite(x) ? frexpl(x, &exponent) : x;
    }
    static Wide exponent(Wide x, Wide) {
        int exponent = 0;
        if (isfinite(x)) frexpl(x, &exponent);
        return exponent;
    }
    static Wide fraction(Wide x, Wide) {
        Wide integer;
        return modfl(x, &integer);
    }
    static Wide integer(Wide x, Wide) {
        Wide integer;
        modfl(x, &integer);
        return integer;
    }
    static Wide scaled(Wide x, Wide y) {
        const int power = y < -10000 ? -10000 : y > 10000 ? 10000 : int(y);
        return T(ldexpl(x, power));
    }

    static Wide (*named(const char *name))(Wide, Wide) {
#define OF_ONE(name, function)                                                                     \
    {                                                                                              \
        name, [](Wide x, Wide) -> Wide { return function(x); }                                     \
    }
#define OF_TWO(name, function)                                                                     \
    {                                                                                              \
        name, [](Wide x, Wide y) -> Wide { return function(x, y); }                                \
    }
        static const Entry all[] = {
            OF_ONE("exp", expl),
            OF_ONE("exp2", exp2l),
            OF_ONE("expm1", expm1l),
            OF_ONE("log", logl),
            OF_ONE("log2", log2l),
            OF_ONE("log10", log10l),
            OF_ONE("log1p", log1pl),
            OF_ONE("sin", sinl),
            OF_ONE("cos", cosl),
            OF_ONE("tan", tanl),
            OF_ONE("asin", asinl),
            OF_ONE("acos", acosl),
            OF_ONE("atan", atanl),
            OF_ONE("sinh", sinhl),
            OF_ONE("cosh", coshl),
            OF_ONE("tanh", tanhl),
            OF_ONE("asinh", asinhl),
            OF_ONE("acosh", acoshl),
            OF_ONE("atanh", atanhl),
            OF_ONE("cbrt", cbrtl),
            OF_ONE("erf", erfl),
            OF_ONE("erfc", erfcl),
            OF_ONE("log_gamma", lgammal),
            OF_ONE("gamma", tgammal),
            OF_ONE("j0", j0l),
            OF_ONE("j1", j1l),
            OF_ONE("y0", y0l),
            OF_ONE("y1", y1l),
            {"jn", [](Wide x, Wide) -> Wide { return jnl(order, x); }},
            {"yn", [](Wide x, Wide) -> Wide { return ynl(order, x); }},
            OF_TWO("pow", powl),
            OF_TWO("atan2", atan2l),
            OF_TWO("hypot", hypotl),
            {"mantissa", mantissa},
            {"exponent", exponent},
            {"fraction", fraction},
            {"integer", integer},
            {"ldexp", scaled},
            OF_ONE("sqrt", Format<T>::root),
            OF_TWO("copysign", copysignl),
            OF_TWO("nextafter", Format<T>::next),
        };
        for (const Entry &entry : all) {
            if (strcmp(entry.name, name) == 0) return entry.value;
        }
        fprintf(stderr, "no function is called %s\n", name);
        exit(2);
    }
};

// The unit in the last place of a number of T that is as large.
template <class T> static Wide unit(Wide value) {
    int exponent = 0;
    if (value != 0) frexpl(value, &exponent);
    exponent -= Format<T>::digits;
    return ldexpl(1, value == 0 || exponent < Format<T>::least ? Format<T>::least : exponent);
}

// The distance of two values; infinite where only one is NaN, or where zeros have to have one sign
// and have not.
template <class T> static Wide distance(Wide got, Wide want, bool signs) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want) ? 0 : INFINITY;
    if (got == want) return signs && signbit(got) != signbit(want) ? INFINITY : 0;
    const Wide most = Format<T>::most;
    return fabsl(fminl(fmaxl(got, -most), most) - fminl(fmaxl(want, -most), most));
}

struct Worst {
    Wide error;
    size_t place;
    void see(Wide other, size_t at) {
        if (other > error) error = other, place = at;
    }
};

template <class T> static std::vector<T> read_array() {
    char start[10], header[65536];
    std::vector<T> values;
    if (fread(start, 1, sizeof start, stdin) != sizeof start) return values;
    const size_t bytes = uint8_t(start[8]) | size_t(uint8_t(start[9])) << 8;
    const char *shape = nullptr;
    if (memcmp(start, "\x93NUMPY\1", 7) == 0 && fread(header, 1, bytes, stdin) == bytes) {
        header[bytes] = 0;
        shape = strstr(header, "'shape': (");
    }
    values.resize(shape ? strtoul(shape + 10, nullptr, 10) : 0);
    if (values.empty() || fread(values.data(), sizeof(T), values.size(), stdin) != values.size()) {
        fprintf(stderr, "the input is no npy file\n");
        exit(2);
    }
    return values;
}

// What the zeros of a function leave: of Bessel functions sqrt(2 / (pi |x|)) where |x| is larger
// than the order, and of the logarithm of the gamma function below -2 the larger of 1 and its value
// at -x. Else 0.
static Wide amplitude_at(Wide x, bool bessel) {
    if (bessel) return fabsl(x) > order ? sqrtl(2 / (3.14159265358979323846L * fabsl(x))) : 0;
    return x < -2 ? fmaxl(1, lgammal(-x)) : 0;
}

template <class T> static int compare(const char *name, Wide allowed) {
    Wide (*const value)(Wide, Wide) = Functions<T>::named(name);
    const bool bessel = strchr("jy", name[0]) != nullptr;
    const bool zeros = bessel || strcmp(name, "log_gamma") == 0;
    const std::vector<T> x = read_array<T>(), y = read_array<T>();
    std::vector<Wide> want(x.size());
    if (y.size() != x.size()) return 2;
    for (size_t i = 0; i < x.size(); ++i) want[i] = value(x[i], y[i]);
    for (;;) {
        const std::vector<T> got = read_array<T>();
        if (got.empty() || got.size() > x.size()) return got.empty() ? 0 : 2;
        Worst ulps = {}, absolute = {}, amplitude = {};
        for (size_t i = 0; i < got.size(); ++i) {
            const Wide error = distance<T>(got[i], want[i], allowed == 0);
            if (error == 0) continue;
            if (error > allowed) ulps.see(error / unit<T>(want[i]), i);
            absolute.see(error, i);
            if (!zeros) continue;
            amplitude.see(error / unit<T>(fmaxl(fabsl(want[i]), amplitude_at(x[i], bessel))), i);
        }
        const size_t i = ulps.place;
        printf("%.4Lg %.17g %.17g %.17g %.21Lg %.3Lg %.17g %.4Lg %.17g\n", ulps.error, double(x[i]),
               double(y[i]), double(got[i]), want[i], absolute.error, double(x[absolute.place]),
               amplitude.error, double(x[amplitude.place]));
    }
}

int main(int count, char **words) {
    if (count != 5) return 2;
    order = atoi(words[3]);
    const Wide allowed = strtold(words[4], nullptr);
    return strcmp(words[2], "f32") == 0 ? compare<float>(words[1], allowed)
                                        : compare<double>(words[1], allowed);
}
