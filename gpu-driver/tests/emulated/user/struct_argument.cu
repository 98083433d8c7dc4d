// A structure with holes in it, and an array, passed by value.
struct Line {
    char kind;
    double slope;
    short offsets[3];
    float *out;
};

extern "C" __global__ void struct_argument(unsigned n, Line line, char last) {
    unsigned i = threadIdx.x;
    if (i < n) line.out[i] = float(line.slope * i + line.offsets[i % 3]) + (line.kind == 'a' ? 0 : 1000) + last;
}
