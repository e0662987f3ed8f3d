#pragma once
// The C boundary between Litz and the clang and LLVM that are linked into it. Everything that includes a header of
// clang or LLVM stands behind these functions, so that a development build links them once into liblitz_clang.so and a
// release links them statically; no C++ type, allocation or exception crosses. Every function may be called from any
// thread at any time. A fatal error of LLVM ends in the handler of `jit_clang_set_fatal_handler` on the thread it
// happened on; the handler must not return.
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LITZ_CLANG_API __attribute__((visibility("default")))  // not litz_*: liblitz.so does not export them

/// Receives `size` bytes, valid only during the call.
typedef void (*jit_clang_sink)(void* context, const char* bytes, size_t size);

typedef struct jit_clang_file {
  const char* name;
  const char* text;
  size_t size;
} jit_clang_file;

typedef struct jit_clang_request {
  jit_clang_file source;         /* C++20, `name` appears in diagnostics */
  const jit_clang_file* headers; /* what `#include "name"` finds; there are no others */
  size_t header_count;
  const char* prelude;  /* a header that the source includes first, parsed once per set of options and headers; or null */
  const char* cpu;      /* LLVM's name of a processor */
  const char* features; /* LLVM's list, "+a,-b" */
  int vector_bits;      /* widest vector to keep whole in registers */
  int optimize;         /* 0 to 3 */
} jit_clang_request;

/// Compiles to a relocatable object, which goes to `object`, and returns 1; or sends diagnostics to `error`, returns 0.
LITZ_CLANG_API int jit_clang_compile(const jit_clang_request* request, jit_clang_sink object, jit_clang_sink error, void* context);

typedef struct jit_clang_symbol {
  const char* name;
  void* address;
} jit_clang_symbol;

typedef struct jit_clang_code jit_clang_code;

/// Loads an object into this process; it sees the given symbols and no others. Null after an error.
LITZ_CLANG_API jit_clang_code* jit_clang_load(const char* object, size_t size, const jit_clang_symbol* symbols, size_t symbol_count,
                                              jit_clang_sink error, void* context);
/// The address of a function or variable that the object defines with external linkage; null if there is none.
LITZ_CLANG_API void* jit_clang_find(const jit_clang_code* code, const char* symbol);
/// Frees the code, which nothing may be running.
LITZ_CLANG_API void jit_clang_unload(jit_clang_code* code);

/// LLVM's name and feature list of the processor that this runs on.
LITZ_CLANG_API void jit_clang_host(jit_clang_sink cpu, jit_clang_sink features, void* context);
/// As in "19.1.7".
LITZ_CLANG_API const char* jit_clang_version(void);
LITZ_CLANG_API void jit_clang_set_fatal_handler(void (*handler)(const char* reason));

#ifdef __cplusplus
}
#endif
