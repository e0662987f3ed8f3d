#include "litz/codegen/triton/worker_pool.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <sstream>
#include <thread>
#include <unordered_map>

extern char** environ;

namespace litz {
namespace {

bool write_all(int fd, const char* data, size_t size) {
  while (size) {
    const ssize_t n = ::write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool read_all(int fd, char* data, size_t size) {
  while (size) {
    const ssize_t n = ::read(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool read_line(int fd, std::string& line) {
  line.clear();
  for (char c; read_all(fd, &c, 1);) {
    if (c == '\n') return true;
    line += c;
  }
  return false;
}

}  // namespace

struct WorkerPool::Impl {
  using Answer = std::promise<Result<KernelBinary>>;

  std::mutex mutex;        // guards everything below
  std::mutex write_mutex;  // one request at a time on the pipe
  std::vector<std::string> command;
  pid_t server = 0, owner = 0;
  int to_server = -1;
  int64_t next_id = 1;
  std::unordered_map<int64_t, Answer> pending;

  /// With the mutex held.
  Result<bool> start() {
    if (server && owner == getpid()) return true;
    if (command.empty()) return unsupported("no command to start compiler workers with; the host language gives one");
    server = 0;  // of the parent, where this process was forked
    pending.clear();
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) return unsupported("compiler workers cannot be started: {}", std::strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = 0;
    const int failed = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    if (failed) {
      ::close(in[1]);
      ::close(out[0]);
      return unsupported("compiler workers cannot be started as '{}': {}", command[0], std::strerror(failed));
    }
    server = pid;
    owner = getpid();
    to_server = in[1];
    std::thread([this, from = out[0], pid] { read_replies(from, pid); }).detach();
    return true;
  }

  void answer(int64_t id, Result<KernelBinary> result) {
    std::unique_lock lock(mutex);
    auto it = pending.find(id);
    if (it == pending.end()) return;
    Answer promise = std::move(it->second);
    pending.erase(it);
    lock.unlock();
    promise.set_value(std::move(result));
  }

  void read_replies(int fd, pid_t pid) {
    std::string header;
    while (read_line(fd, header)) {
      std::istringstream words(header);
      int64_t id = 0;
      size_t bytes = 0;
      std::string status;
      words >> id >> status;
      KernelBinary binary;
      if (status == "ok")
        words >> binary.warps >> binary.shared_bytes >> binary.extra_arguments >> binary.scratch_bytes >> binary.pointers >>
            binary.numbers >> binary.reports_errors >> binary.counts_programs >> binary.is_cooperative >> binary.entry;
      words >> bytes;
      if (!words) break;
      std::string body(bytes, '\0');
      if (!read_all(fd, body.data(), bytes)) break;
      if (status == "ok") {
        binary.image = std::move(body);
        answer(id, std::move(binary));
      } else {
        answer(id, unsupported("{}", body));
      }
    }
    ::close(fd);
    waitpid(pid, nullptr, 0);
    std::unordered_map<int64_t, Answer> lost;
    {
      std::lock_guard lock(mutex);
      if (server == pid) {
        ::close(to_server);
        server = 0;
        lost.swap(pending);
      }
    }
    for (auto& [id, promise] : lost) promise.set_value(unsupported("the compiler workers ended; the next compile starts new ones"));
  }
};

WorkerPool::WorkerPool() : impl_(new Impl) { signal(SIGPIPE, SIG_IGN); }
WorkerPool::~WorkerPool() = default;

WorkerPool& WorkerPool::instance() {
  static auto* pool = new WorkerPool;  // never destroyed: its reader outlives static objects
  return *pool;
}

void WorkerPool::set_command(std::vector<std::string> command) {
  std::lock_guard lock(impl_->mutex);
  impl_->command = std::move(command);
}

Result<bool> WorkerPool::start() {
  std::lock_guard lock(impl_->mutex);
  return impl_->start();
}

std::future<Result<KernelBinary>> WorkerPool::compile(const std::string& source, const std::string& target, bool aligned) {
  Impl::Answer promise;
  auto future = promise.get_future();
  int64_t id = 0;
  int fd = -1;
  {
    std::lock_guard lock(impl_->mutex);
    if (auto started = impl_->start(); !started) {
      promise.set_value(unsupported("{}", started.reason()));
      return future;
    }
    id = impl_->next_id++;
    fd = impl_->to_server;
    impl_->pending.emplace(id, std::move(promise));
  }
  const std::string header = fmt::format("{} {} {} {}\n", id, target, aligned ? 1 : 0, source.size());
  std::lock_guard lock(impl_->write_mutex);
  if (!write_all(fd, header.data(), header.size()) || !write_all(fd, source.data(), source.size()))
    impl_->answer(id, unsupported("the compiler workers do not listen"));
  return future;
}

}  // namespace litz
