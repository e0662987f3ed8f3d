#pragma once
// A pool of worker threads for work that belongs to nobody's call: compiling, above all. Threads start with the first
// jobs and are never joined. What must hold: a job throws nothing, and takes no lock that a thread may hold across
// fork().
//   - fork: before a fork the pool finishes every job it has, so no lock of an allocator or of LLVM is held by a thread
//     that the child lacks; the child starts threads of its own when it needs them.
//   - exit: running jobs are finished, waiting ones are dropped, later ones never start, so no file is left half written; running jobs may
//     use statics of the library all the while (keep_statics.cpp).
//   - a job that cannot return (a fatal error inside a library) calls `park_current_worker`; another thread takes the
//   place.
#include <cstddef>
#include <functional>
#include <memory>

namespace litz {

/// The number of processors this process may use.
int available_processors();

class ThreadPool {
 public:
  /// `threads` workers at most, with stacks of `stack_bytes`. A pool lives until the process ends.
  static ThreadPool& create(int threads, const char* name, std::size_t stack_bytes = std::size_t{8} << 20);

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void submit(std::function<void()> job);
  /// Returns when the pool has no job left. Not to be called by a job.
  void wait_idle();
  int threads() const;

  /// Ends the use of the calling worker thread for good; its job counts as done. Off a worker it parks that thread too.
  [[noreturn]] static void park_current_worker();

 private:
  struct State;
  static void exit_pools(int status, void* unused);
  explicit ThreadPool(State* state) : state_(state) {}
  State* state_;  // never freed
};

}  // namespace litz
