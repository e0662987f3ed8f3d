#pragma once
// Worker processes that compile generated source to machine code: one server process (started at the first request, or by
// `start`), which forks a child per processor after loading the compiler, so that every child is warm. Requests are answered in any
// order. The server ends when this process does; if it dies, its requests fail and the next request starts another.
//
// On the wire, both ways: one header line of words, then that many bytes.
//   request: "<id> <target> <aligned 0|1> <bytes>\n" source       target: "cuda:90", "hip:gfx942"
//   reply:   "<id> ok <warps> <shared bytes> <extra arguments> <scratch bytes> <pointers> <numbers> <reports errors 0|1>
//             <counts programs 0|1> <cooperative 0|1> <entry> <bytes>\n" machine code
//            "<id> error <bytes>\n" what went wrong
#include <future>
#include <string>
#include <vector>

#include "litz/support/check.h"

namespace litz {

/// Machine code of one kernel and how it is launched.
struct KernelBinary {
  std::string image;
  std::string entry;
  int warps = 4;
  int shared_bytes = 0;
  int extra_arguments = 0;  // pointers that the compiler added behind the kernel's own; null is right for them
  int scratch_bytes = 0;    // of each program; if not 0, the first extra argument points to that much for all of them
  int pointers = 0, numbers = 0;
  bool reports_errors = false;   // one more pointer behind the numbers: to a KernelError
  bool counts_programs = false;  // one more behind that: to an int32 that is 0 when the kernel begins and when it ends
  bool is_cooperative = false;   // programs wait for each other: all must run at the same time, any number of them does
};

class WorkerPool {
 public:
  static WorkerPool& instance();
  /// How the server is started; from the host language, before the first request.
  void set_command(std::vector<std::string> command);
  /// Starts the server if it does not run.
  Result<bool> start();
  std::future<Result<KernelBinary>> compile(const std::string& source, const std::string& target, bool pointers_are_aligned);

 private:
  struct Impl;
  WorkerPool();
  ~WorkerPool();
  Impl* impl_;
};

}  // namespace litz
