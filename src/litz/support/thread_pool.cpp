#include "litz/support/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "litz/support/check.h"

namespace litz {

struct ThreadPool::State {
  int limit = 1;
  std::string name;
  std::size_t stack_bytes = 0;

  std::mutex mutex;
  std::condition_variable work;  // a job was added
  std::condition_variable idle;  // `running` or the queue shrank
  std::deque<std::function<void()>> queue;
  int started = 0;  // threads alive and not parked
  int waiting = 0;  // of these, without a job
  int running = 0;
  bool exiting = false;
  std::atomic<bool> seen_job = false;

  void submit(std::function<void()> job);
  void start_thread();
  void run();
  void finish_job();

  void before_fork();
  void after_fork_in_child();
  void at_exit();
};

namespace {

thread_local void* current_pool = nullptr;  // the ThreadPool::State whose worker this thread is

struct Registry {
  std::mutex mutex;
  std::vector<ThreadPool*> pools;
};

/// Never destroyed: the handlers of fork and exit use it.
Registry& registry() {
  static Registry* instance = new Registry;
  return *instance;
}

}  // namespace

void ThreadPool::exit_pools(int, void*) {
  std::lock_guard lock(registry().mutex);
  for (ThreadPool* pool : registry().pools) pool->state_->at_exit();
}

ThreadPool& ThreadPool::create(int threads, const char* name, std::size_t stack_bytes) {
  LITZ_CHECK(threads > 0, "a pool of {} threads", threads);
  auto* state = new State;
  state->limit = threads;
  state->name = std::string(name).substr(0, 15);  // the kernel's limit
  state->stack_bytes = stack_bytes;
  auto* pool = new ThreadPool(state);
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(
        [] {
          registry().mutex.lock();
          for (ThreadPool* p : registry().pools) p->state_->before_fork();
        },
        [] {
          for (ThreadPool* p : registry().pools) p->state_->mutex.unlock();
          registry().mutex.unlock();
        },
        [] {
          for (ThreadPool* p : registry().pools) p->state_->after_fork_in_child();
          registry().mutex.unlock();
        });
    on_exit(exit_pools, nullptr);
  });
  std::lock_guard lock(registry().mutex);
  registry().pools.push_back(pool);
  return *pool;
}

/// Leaves the mutex locked, so that the child finds a consistent state. A job that forks is not waited for.
void ThreadPool::State::before_fork() {
  std::unique_lock lock(mutex);
  if (current_pool != this) idle.wait(lock, [this] { return running == 0 && queue.empty(); });
  lock.release();
}

/// The child has one thread, that which forked; waiters on the old condition variables do not exist there.
void ThreadPool::State::after_fork_in_child() {
  started = running = current_pool == this ? 1 : 0;
  waiting = 0;
  new (&work) std::condition_variable;
  new (&idle) std::condition_variable;
  mutex.unlock();
}

void ThreadPool::State::at_exit() {
  std::unique_lock lock(mutex);
  exiting = true;
  queue.clear();
  const int own = current_pool == this ? 1 : 0;
  idle.wait_for(lock, std::chrono::seconds(10), [this, own] { return running == own; });
}

void ThreadPool::State::start_thread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread;
  const int error = pthread_create(
      &thread, &attributes,
      [](void* self) -> void* {
        static_cast<ThreadPool::State*>(self)->run();
        return nullptr;
      },
      this);
  pthread_attr_destroy(&attributes);
  if (error == 0) {
    pthread_setname_np(thread, name.c_str());
    ++started;
  }
  LITZ_CHECK(started > 0, "cannot start a thread of pool {}: error {}", name, error);
}

void ThreadPool::State::submit(std::function<void()> job) {
  std::unique_lock lock(mutex);
  if (exiting) return;
  queue.push_back(std::move(job));
  if (static_cast<int>(queue.size()) > waiting && started < limit) start_thread();
  work.notify_one();
}

void ThreadPool::State::run() {
  current_pool = this;
  std::unique_lock lock(mutex);
  while (true) {
    ++waiting;
    work.wait(lock, [this] { return !queue.empty() && !exiting; });
    --waiting;
    std::function<void()> job = std::move(queue.front());
    queue.pop_front();
    ++running;
    lock.unlock();
    job();
    job = nullptr;
    // Again after the first job, for programs without keep_statics.cpp: statics made on first use outlive the jobs that use them.
    if (!seen_job.exchange(true)) on_exit(exit_pools, nullptr);
    lock.lock();
    finish_job();
  }
}

void ThreadPool::State::finish_job() {
  --running;
  idle.notify_all();
}

int ThreadPool::threads() const { return state_->limit; }

void ThreadPool::submit(std::function<void()> job) { state_->submit(std::move(job)); }

void ThreadPool::wait_idle() {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait(lock, [this] { return state_->running == 0 && state_->queue.empty(); });
}

void ThreadPool::park_current_worker() {
  if (auto* state = static_cast<ThreadPool::State*>(current_pool)) {
    std::unique_lock lock(state->mutex);
    --state->started;
    state->finish_job();
    if (!state->queue.empty() && state->started < state->limit) state->start_thread();
  }
  while (true) pause();
}

int available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<int>(online) : 1;
}

}  // namespace litz
