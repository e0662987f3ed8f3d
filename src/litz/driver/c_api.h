#pragma once
// The C API of liblitz.so: about the library itself. Thread-safe; no exception leaves; text that is returned lives as
// long as the process.
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LITZ_API __attribute__((visibility("default")))

/// As in "0.1.0".
LITZ_API const char* litz_version(void);
/// The C++ compiler inside, as in "clang 19.1.7".
LITZ_API const char* litz_compiler_version(void);
/// Compiles a small kernel for this machine in process, runs it and checks the result: 0 when it is right; otherwise
/// 1, with the reason in `message` (`size` bytes with the terminating zero, cut when longer).
LITZ_API int litz_selftest_jit(char* message, size_t size);

#ifdef __cplusplus
}
#endif
