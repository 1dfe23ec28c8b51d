// Stands in for ATen/record_function.h while allocator_recorder.cpp is compiled. torch's profiler header asks
// for that file but needs only these names of it, and the real one takes 7 of 9 seconds to compile. Should
// a torch need more, this does not compile and the build goes on to the real file.
#pragma once

#include <c10/core/Allocator.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace c10 {
struct IValue;
}

namespace at {
using c10::IValue;
using CallbackHandle = uint64_t;
}  // namespace at
