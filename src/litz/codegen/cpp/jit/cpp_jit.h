#pragma once
// C++ text to running code in this process: clang and LLVM are linked in, no compiler is looked for and no file is
// touched. This header and its users know nothing of LLVM (clang_library.h is the boundary). Compiles run on threads of
// their own, so any number of them may be asked for at once, from any thread; results do not depend on the order.
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "litz/support/check.h"

namespace litz {

class ThreadPool;

/// The processor that code is made for; equal values give equal objects, so it belongs in cache keys.
struct CompileTarget {
  std::string cpu;       ///< LLVM's name, as in "sapphirerapids", "x86-64-v3"
  std::string features;  ///< LLVM's list, as in "+avx2,-amx-tile"
  int vector_bytes = 16;
  bool operator==(const CompileTarget&) const = default;
};

/// This machine. `instruction_set` restricts it: "sse", "avx2", "avx512" or "neon"; "" takes the widest there is.
/// Unsupported when the machine lacks it or the name is none of these.
Result<CompileTarget> host_target(std::string_view instruction_set = "");

/// Loaded code; copies share it, and the last one frees it. Nothing may run the code then.
class CompiledModule {
 public:
  CompiledModule() = default;
  /// The address of an `extern "C"` function or variable that the source defines; null if there is none.
  void* find(const char* symbol) const;

  template <typename Function>
  Function* function(const char* symbol) const {
    return reinterpret_cast<Function*>(find(symbol));
  }

 private:
  friend class CppJit;
  std::shared_ptr<void> code_;
};

/// One text to compile. `headers` are what `#include "name"` finds; the texts must live until the result is there.
struct CppSource {
  std::string_view name = "kernel.cpp";  ///< appears in diagnostics
  std::string_view text;
  std::vector<std::pair<std::string_view, std::string_view>> headers = {};
  /// The header of these that the text includes first, if it does: it is parsed once and not with every text.
  std::string_view prelude = {};
};

class CppJit {
 public:
  struct Options {
    int threads = 0;   ///< compiling at once; 0: one per processor
    int optimize = 2;  ///< as in -O2
    /// What code may call beside memcpy, memmove, memset, memcmp, the functions of <cmath> and the conversions
    /// of small floating-point types; nothing else of the process is visible to it.
    std::vector<std::pair<std::string, void*>> symbols = {};
  };
  explicit CppJit(Options options);
  CppJit(const CppJit&) = delete;
  CppJit& operator=(const CppJit&) = delete;

  /// Compiles and loads. The reason of a failure is clang's or the loader's own text, every line of it.
  Result<CompiledModule> compile(const CppSource& source, const CompileTarget& target);
  std::future<Result<CompiledModule>> start_compile(CppSource source, CompileTarget target);

  /// A relocatable object, the same bytes for the same input: what caches and packages store.
  Result<std::string> compile_object(const CppSource& source, const CompileTarget& target);
  Result<CompiledModule> load_object(std::string_view object);

 private:
  static Result<CompiledModule> load_module(std::string_view object, const Options& options);

  std::shared_ptr<const Options> options_;  // shared with compiles that still run when this goes away
  ThreadPool& pool_;
};

/// The version of the compiler inside, for cache keys.
const char* cpp_compiler_version();

}  // namespace litz
