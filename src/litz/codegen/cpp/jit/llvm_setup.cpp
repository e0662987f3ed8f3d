#include "litz/codegen/cpp/jit/llvm_setup.h"

#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "litz/codegen/cpp/jit/clang_library.h"

namespace litz::jit {
namespace {

std::atomic<void (*)(const char*)> fatal_handler{nullptr};

void on_fatal_error(void*, const char* reason, bool) {
  if (auto* handler = fatal_handler.load()) handler(reason);
  std::fprintf(stderr, "litz: fatal error in the compiler: %s\n", reason);
  std::abort();
}

}  // namespace

void set_up_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    llvm::install_fatal_error_handler(on_fatal_error);
    llvm::install_bad_alloc_error_handler(on_fatal_error);
  });
}

}  // namespace litz::jit

extern "C" void jit_clang_set_fatal_handler(void (*handler)(const char* reason)) { litz::jit::fatal_handler.store(handler); }
