// Headers of CUDA and C whose contents every compiler of device code has by itself: assert, printf,
// memcpy, the vector types and the built-in variables.
#pragma once
