#include "litz/support/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <set>
#include <thread>

namespace litz {
namespace {

void nap(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

TEST(ThreadPool, runs_every_job_once) {
  ThreadPool& pool = ThreadPool::create(3, "once");
  std::atomic<int> sum = 0;
  for (int i = 1; i <= 1000; ++i) pool.submit([&sum, i] { sum += i; });
  pool.wait_idle();
  EXPECT_EQ(sum, 500500);
}

TEST(ThreadPool, runs_as_many_jobs_at_once_as_it_has_threads) {
  ThreadPool& pool = ThreadPool::create(3, "at-once");
  std::atomic<int> running = 0, most = 0;
  std::promise<void> all_here;
  std::shared_future<void> here = all_here.get_future().share();
  for (int i = 0; i < 9; ++i) {
    pool.submit([&] {
      const int now = ++running;
      int seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {}
      if (now == 3) {
        static std::once_flag once;
        std::call_once(once, [&] { all_here.set_value(); });
      }
      here.wait();  // three must be here together, or this hangs
      --running;
    });
  }
  pool.wait_idle();
  EXPECT_EQ(most, 3);
}

TEST(ThreadPool, a_parked_worker_is_replaced) {
  ThreadPool& pool = ThreadPool::create(1, "parked");
  std::set<pid_t> threads;
  for (int i = 0; i < 3; ++i) {
    pool.submit([] { ThreadPool::park_current_worker(); });
    pool.submit([&] { threads.insert(gettid()); });
  }
  pool.wait_idle();
  EXPECT_EQ(threads.size(), 3u);
}

TEST(ThreadPool, a_fork_waits_for_the_jobs_and_both_sides_go_on) {
  ThreadPool& pool = ThreadPool::create(2, "fork");
  std::atomic<int> done = 0;
  for (int i = 0; i < 4; ++i) {
    pool.submit([&] {
      nap(20);
      ++done;
    });
  }
  const pid_t child = fork();
  if (child == 0) {
    const bool all_done = done == 4;
    std::atomic<int> more = 0;
    for (int i = 0; i < 5; ++i) pool.submit([&] { ++more; });
    pool.wait_idle();
    _exit(all_done && more == 5 ? 0 : 1);
  }
  EXPECT_EQ(done, 4);
  pool.submit([&] { ++done; });
  pool.wait_idle();
  EXPECT_EQ(done, 5);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ThreadPool, a_job_may_fork) {
  ThreadPool& pool = ThreadPool::create(2, "job-forks");
  int status = -1;
  pool.submit([&] {
    const pid_t child = fork();
    if (child == 0) _exit(7);
    waitpid(child, &status, 0);
  });
  pool.wait_idle();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

std::atomic<bool> exit_has_begun = false;

TEST(ThreadPool, exit_finishes_the_running_job_and_drops_the_waiting_ones) {
  EXPECT_EXIT(
      {
        ThreadPool& pool = ThreadPool::create(1, "exit");
        std::atexit([] { exit_has_begun = true; });  // runs just before the pool's own handler
        std::promise<void> started;
        pool.submit([&] {
          started.set_value();
          while (!exit_has_begun) nap(1);
          nap(200);  // by now the pool knows that the process exits
          std::fputs("finished;", stderr);
        });
        pool.submit([] { std::fputs("dropped", stderr); });
        started.get_future().wait();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "^finished;$");
}

TEST(ThreadPool, counts_the_processors_of_the_process) {
  EXPECT_GE(available_processors(), 1);
  EXPECT_LE(available_processors(), static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)));
}

}  // namespace
}  // namespace litz
