// Words, and the few macros that let one text compile for a device (NVRTC, nvcc) and for the host (g++ -DHOST).
// A kernel written with EACH or EACH_ROW is a grid-stride loop on a device and a plain loop on the host.
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifdef HOST
#define HD inline
#define KERNEL extern "C" void
#define EACH(i, n) for (u64 i = 0; i < (n); ++i)
#define EACH_ROW(row, n) for (u64 row = 0; row < (n); ++row)
#define LANE 0u
#define LANES 1u
#else
#define HD __device__ __forceinline__
#define KERNEL extern "C" __global__ void
#define THREAD (blockIdx.x * (u64)blockDim.x + threadIdx.x)
#define THREADS (gridDim.x * (u64)blockDim.x)
#define EACH(i, n) for (u64 i = THREAD; i < (n); i += THREADS)
// A row belongs to a warp: its threads share the members, LANE of LANES each. blockDim.x is a multiple of 32.
#define EACH_ROW(row, n) for (u64 row = THREAD / 32; row < (n); row += THREADS / 32)
#define LANE (threadIdx.x % 32)
#define LANES 32u
#endif

// What became of one row of a batch. The numbers are those of impl.batched.Status.
enum class Status : u8 { Ok = 0, None = 1, Overflow = 2, BadLength = 3 };

template <class T>
HD constexpr T largest() {
    return static_cast<T>(~static_cast<T>(0));
}

template <class T>
HD T lesser(T a, T b) {
    return a < b ? a : b;
}

template <class T>
HD T greater(T a, T b) {
    return a > b ? a : b;
}

HD u64 product_high(u64 a, u64 b) {
#ifdef HOST
    return static_cast<u64>((static_cast<unsigned __int128>(a) * b) >> 64);
#else
    return __umul64hi(a, b);
#endif
}
