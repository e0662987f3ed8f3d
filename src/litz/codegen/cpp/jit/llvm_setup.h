#pragma once
// LLVM's process-wide state, of which there is as little as can be: the native target and the handlers of fatal
// errors. No command-line option of LLVM is ever set.
namespace litz::jit {

/// Registers the native target and the fatal-error handlers; cheap after the first call, safe from any thread.
void set_up_llvm();

}  // namespace litz::jit
