// Structures whose padding nobody writes are copied whole.
struct Padded {
    double value;
    int number;
};
struct alignas(16) Aligned {
    float x, y, z;
};
extern "C" __global__ void padded_structures(unsigned *x) {
    __shared__ Padded padded[32];
    __shared__ Aligned aligned[32];
    unsigned t = threadIdx.x;
    padded[t].value = t;
    padded[t].number = int(t) + 1;
    aligned[t].x = aligned[t].y = aligned[t].z = float(t);
    __syncthreads();
    Padded other = padded[31 - t];
    Aligned vector = aligned[31 - t];
    x[t] = unsigned(other.value) + unsigned(other.number) + unsigned(vector.z);
}
