// For kernels written for nvcc: everything is there already.
#pragma once
