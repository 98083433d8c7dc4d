// Texture and surface objects: the functions that read and write them. The driver filters (texels/sample.rs).
#pragma once

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };

namespace gpu_emulated {

// One channel out of the 32 bits that the driver gives.
template <class S> GPU_EMULATED_INLINE S channel(unsigned bits) { return (S)bits; }
template <> GPU_EMULATED_INLINE float channel<float>(unsigned bits) { return bit_cast<float>(bits); }

// The types that textures give: the channels, whether they are floats, and the value of the bits.
template <class T> struct Texel;
#define GPU_EMULATED_TEXEL(name, scalar, count, ...)                                                                         \
    template <> struct Texel<name> {                                                                                         \
        static constexpr unsigned wanted = count | (is_same<scalar, float> ? TEXEL_FLOATS : 0);                              \
        GPU_EMULATED_INLINE static name make(const unsigned *bits) {                                                         \
            using S = scalar;                                                                                                \
            return name{__VA_ARGS__};                                                                                        \
        }                                                                                                                    \
    };
#define GPU_EMULATED_TEXEL_VECTORS(name, scalar)                                                                             \
    GPU_EMULATED_TEXEL(scalar, scalar, 1, channel<S>(bits[0]))                                                               \
    GPU_EMULATED_TEXEL(name##1, scalar, 1, channel<S>(bits[0]))                                                              \
    GPU_EMULATED_TEXEL(name##2, scalar, 2, channel<S>(bits[0]), channel<S>(bits[1]))                                         \
    GPU_EMULATED_TEXEL(name##4, scalar, 4, channel<S>(bits[0]), channel<S>(bits[1]), channel<S>(bits[2]), channel<S>(bits[3]))
using SignedChar = signed char;
using UnsignedChar = unsigned char;
using UnsignedShort = unsigned short;
GPU_EMULATED_TEXEL(char, char, 1, channel<S>(bits[0]))
GPU_EMULATED_TEXEL_VECTORS(char, SignedChar)
GPU_EMULATED_TEXEL_VECTORS(uchar, UnsignedChar)
GPU_EMULATED_TEXEL_VECTORS(short, short)
GPU_EMULATED_TEXEL_VECTORS(ushort, UnsignedShort)
GPU_EMULATED_TEXEL_VECTORS(int, int)
GPU_EMULATED_TEXEL_VECTORS(uint, unsigned)
GPU_EMULATED_TEXEL_VECTORS(float, float)
#undef GPU_EMULATED_TEXEL_VECTORS
#undef GPU_EMULATED_TEXEL

// Written by the driver: nothing else runs between its call and the read.
template <class T>
GPU_EMULATED_QUIET T sample(TexelForm form, cudaTextureObject_t object, float x, float y, float z, int layer, float detail,
                            const char *name, const char *file, unsigned line) {
    unsigned bits[4];
    gpu_emulated_runtime->texture(object, form, x, y, z, layer, detail, Texel<T>::wanted, bits, name, file, line);
    return Texel<T>::make(bits);
}

// The last of the channels that are wanted, of four texels. Beyond the fourth there is none.
template <class T>
GPU_EMULATED_QUIET T gather(cudaTextureObject_t object, float x, float y, int channel, const char *file, unsigned line) {
    static_assert((Texel<T>::wanted & 7) == 4, "four elements are gathered: a vector of four");
    unsigned bits[4], last = channel < 0 || channel > 3 ? 7 : channel + 1;
    unsigned wanted = (Texel<T>::wanted & TEXEL_FLOATS) | last | TEXEL_GATHER;
    gpu_emulated_runtime->texture(object, TEXEL_PLANE, x, y, 0, 0, 0, wanted, bits, "tex2Dgather", file, line);
    return Texel<T>::make(bits);
}

template <class T> constexpr bool is_surface_value = sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0;

template <class T>
GPU_EMULATED_QUIET T surface_read(TexelForm form, cudaSurfaceObject_t object, int x, int y, int z, unsigned mode,
                                  const char *name, const char *file, unsigned line) {
    static_assert(is_surface_value<T>, "a surface is read by 1, 2, 4, 8 or 16 bytes");
    T value;
    gpu_emulated_runtime->surface(object, form, x, y, z, READ | (mode + 1) * SURFACE_MODE, &value, sizeof(T), name, file, line);
    return value;
}
template <class T>
GPU_EMULATED_QUIET void surface_write(TexelForm form, T value, cudaSurfaceObject_t object, int x, int y, int z,
                                      unsigned mode, const char *name, const char *file, unsigned line) {
    static_assert(is_surface_value<T>, "a surface is written by 1, 2, 4, 8 or 16 bytes");
    gpu_emulated_runtime->surface(object, form, x, y, z, WRITE | (mode + 1) * SURFACE_MODE, &value, sizeof(T), name, file, line);
}

} // namespace gpu_emulated

// Each in CUDA's two forms: with the value as result, and through a pointer.
#define GPU_EMULATED_TEXTURE(name, form, parameters, ...)                                                                    \
    template <class T>                                                                                                       \
    GPU_EMULATED_INLINE T name(cudaTextureObject_t object, GPU_EMULATED_UNPACK parameters, GPU_EMULATED_PLACE) {             \
        return gpu_emulated::sample<T>(gpu_emulated::form, object, __VA_ARGS__, #name, file, line);                          \
    }                                                                                                                        \
    template <class T>                                                                                                       \
    GPU_EMULATED_INLINE void name(T *value, cudaTextureObject_t object, GPU_EMULATED_UNPACK parameters, GPU_EMULATED_PLACE) { \
        *value = gpu_emulated::sample<T>(gpu_emulated::form, object, __VA_ARGS__, #name, file, line);                        \
    }
#define GPU_EMULATED_UNPACK(...) __VA_ARGS__
GPU_EMULATED_TEXTURE(tex1Dfetch, TEXEL_MEMORY, (int x), 0, 0, 0, x, 0)
GPU_EMULATED_TEXTURE(tex1D, TEXEL_LINE, (float x), x, 0, 0, 0, 0)
GPU_EMULATED_TEXTURE(tex2D, TEXEL_PLANE, (float x, float y), x, y, 0, 0, 0)
GPU_EMULATED_TEXTURE(tex3D, TEXEL_VOLUME, (float x, float y, float z), x, y, z, 0, 0)
GPU_EMULATED_TEXTURE(tex1DLayered, TEXEL_LAYERED_LINE, (float x, int layer), x, 0, 0, layer, 0)
GPU_EMULATED_TEXTURE(tex2DLayered, TEXEL_LAYERED_PLANE, (float x, float y, int layer), x, y, 0, layer, 0)
GPU_EMULATED_TEXTURE(texCubemap, TEXEL_CUBEMAP, (float x, float y, float z), x, y, z, 0, 0)
GPU_EMULATED_TEXTURE(texCubemapLayered, TEXEL_LAYERED_CUBEMAP, (float x, float y, float z, int layer), x, y, z, layer, 0)
GPU_EMULATED_TEXTURE(tex1DLod, TEXEL_LINE, (float x, float level), x, 0, 0, 0, level)
GPU_EMULATED_TEXTURE(tex2DLod, TEXEL_PLANE, (float x, float y, float level), x, y, 0, 0, level)
GPU_EMULATED_TEXTURE(tex3DLod, TEXEL_VOLUME, (float x, float y, float z, float level), x, y, z, 0, level)
GPU_EMULATED_TEXTURE(tex1DLayeredLod, TEXEL_LAYERED_LINE, (float x, int layer, float level), x, 0, 0, layer, level)
GPU_EMULATED_TEXTURE(tex2DLayeredLod, TEXEL_LAYERED_PLANE, (float x, float y, int layer, float level), x, y, 0, layer, level)
GPU_EMULATED_TEXTURE(texCubemapLod, TEXEL_CUBEMAP, (float x, float y, float z, float level), x, y, z, 0, level)
GPU_EMULATED_TEXTURE(texCubemapLayeredLod, TEXEL_LAYERED_CUBEMAP, (float x, float y, float z, int layer, float level), x, y, z, layer, level)
#undef GPU_EMULATED_TEXTURE

template <class T>
GPU_EMULATED_INLINE T tex2Dgather(cudaTextureObject_t object, float x, float y, int channel = 0, GPU_EMULATED_PLACE) {
    return gpu_emulated::gather<T>(object, x, y, channel, file, line);
}
template <class T>
GPU_EMULATED_INLINE void tex2Dgather(T *value, cudaTextureObject_t object, float x, float y, int channel = 0,
                                     GPU_EMULATED_PLACE) {
    *value = gpu_emulated::gather<T>(object, x, y, channel, file, line);
}

#define GPU_EMULATED_SURFACE(name, form, parameters, ...)                                                                    \
    template <class T>                                                                                                       \
    GPU_EMULATED_INLINE T name##read(cudaSurfaceObject_t object, GPU_EMULATED_UNPACK parameters,                             \
                                     cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, GPU_EMULATED_PLACE) {              \
        return gpu_emulated::surface_read<T>(gpu_emulated::form, object, __VA_ARGS__, mode, #name "read", file, line);       \
    }                                                                                                                        \
    template <class T>                                                                                                       \
    GPU_EMULATED_INLINE void name##read(T *value, cudaSurfaceObject_t object, GPU_EMULATED_UNPACK parameters,                \
                                        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, GPU_EMULATED_PLACE) {           \
        *value = gpu_emulated::surface_read<T>(gpu_emulated::form, object, __VA_ARGS__, mode, #name "read", file, line);     \
    }                                                                                                                        \
    template <class T>                                                                                                       \
    GPU_EMULATED_INLINE void name##write(T value, cudaSurfaceObject_t object, GPU_EMULATED_UNPACK parameters,                \
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, GPU_EMULATED_PLACE) {          \
        gpu_emulated::surface_write<T>(gpu_emulated::form, value, object, __VA_ARGS__, mode, #name "write", file, line);     \
    }
GPU_EMULATED_SURFACE(surf1D, TEXEL_LINE, (int x), x, 0, 0)
GPU_EMULATED_SURFACE(surf2D, TEXEL_PLANE, (int x, int y), x, y, 0)
GPU_EMULATED_SURFACE(surf3D, TEXEL_VOLUME, (int x, int y, int z), x, y, z)
GPU_EMULATED_SURFACE(surf1DLayered, TEXEL_LAYERED_LINE, (int x, int layer), x, 0, layer)
GPU_EMULATED_SURFACE(surf2DLayered, TEXEL_LAYERED_PLANE, (int x, int y, int layer), x, y, layer)
GPU_EMULATED_SURFACE(surfCubemap, TEXEL_CUBEMAP, (int x, int y, int face), x, y, face)
GPU_EMULATED_SURFACE(surfCubemapLayered, TEXEL_LAYERED_CUBEMAP, (int x, int y, int face), x, y, face)
#undef GPU_EMULATED_SURFACE
#undef GPU_EMULATED_UNPACK
