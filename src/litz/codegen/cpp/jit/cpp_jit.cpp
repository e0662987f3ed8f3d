#include "litz/codegen/cpp/jit/cpp_jit.h"

#include <algorithm>
#include <functional>
#include <mutex>

#include "litz/codegen/cpp/jit/clang_library.h"
#include "litz/codegen/cpp/jit/libcalls.h"
#include "litz/support/thread_pool.h"

namespace litz {
namespace {

void append_to(void* text, const char* bytes, size_t size) { static_cast<std::string*>(text)->append(bytes, size); }

/// What the running compile of this thread does when LLVM gives up: it answers the caller, then the thread is parked.
thread_local std::function<void(const char*)>* on_fatal = nullptr;

void answer_fatal_error(const char* reason) {
  if (on_fatal) (*on_fatal)(reason);
  ThreadPool::park_current_worker();
}

/// One pool for all instances: threads are a property of the process.
ThreadPool& compile_pool(int threads) {
  static ThreadPool& pool = [threads]() -> ThreadPool& {
    jit_clang_set_fatal_handler(answer_fatal_error);
    return ThreadPool::create(threads > 0 ? threads : available_processors(), "litz-compile");
  }();
  return pool;
}

template <typename T, typename Work>
std::future<Result<T>> start_on(ThreadPool& pool, Work work) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> future = promise->get_future();
  pool.submit([promise, work = std::move(work)] {
    std::function<void(const char*)> fail = [&](const char* reason) {
      promise->set_value(unsupported("fatal error in the compiler: {}", reason));
    };
    on_fatal = &fail;
    Result<T> result = work();
    on_fatal = nullptr;
    promise->set_value(std::move(result));
  });
  return future;
}

Result<std::string> make_object(const CppSource& source, const CompileTarget& target, int optimize) {
  std::vector<std::string> names = {std::string(source.name)};
  for (const auto& header : source.headers) names.emplace_back(header.first);
  std::vector<jit_clang_file> headers;
  for (size_t i = 0; i < source.headers.size(); ++i) {
    headers.push_back({names[i + 1].c_str(), source.headers[i].second.data(), source.headers[i].second.size()});
  }
  jit_clang_request request = {};
  request.source = {names[0].c_str(), source.text.data(), source.text.size()};
  request.headers = headers.data();
  request.header_count = headers.size();
  const std::string prelude(source.prelude);
  request.prelude = prelude.empty() ? nullptr : prelude.c_str();
  request.cpu = target.cpu.c_str();
  request.features = target.features.c_str();
  request.vector_bits = target.vector_bytes * 8;
  request.optimize = optimize;
  struct Output {
    std::string object, error;
  } output;
  const int ok = jit_clang_compile(
      &request, [](void* o, const char* b, size_t n) { append_to(&static_cast<Output*>(o)->object, b, n); },
      [](void* o, const char* b, size_t n) { append_to(&static_cast<Output*>(o)->error, b, n); }, &output);
  if (!ok) return unsupported("generated C++ does not compile: {}", output.error);
  return std::move(output.object);
}

}  // namespace

Result<CompiledModule> CppJit::load_module(std::string_view object, const Options& options) {
  std::vector<jit_clang_symbol> symbols;
  for (const auto& symbol : options.symbols) symbols.push_back({symbol.first.c_str(), symbol.second});
  std::string error;
  jit_clang_code* code = jit_clang_load(object.data(), object.size(), symbols.data(), symbols.size(), append_to, &error);
  if (!code) return unsupported("an object does not load: {}", error);
  CompiledModule module;
  module.code_ = std::shared_ptr<void>(code, [](void* c) { jit_clang_unload(static_cast<jit_clang_code*>(c)); });
  return module;
}

void* CompiledModule::find(const char* symbol) const {
  return code_ ? jit_clang_find(static_cast<const jit_clang_code*>(code_.get()), symbol) : nullptr;
}

CppJit::CppJit(Options options) : pool_(compile_pool(options.threads)) {
  // A caller's symbol goes before the library's of that name.
  for (const auto& call : libcalls()) {
    const auto same = [&](const auto& given) { return given.first == call.first; };
    if (std::none_of(options.symbols.begin(), options.symbols.end(), same)) options.symbols.push_back(call);
  }
  options_ = std::make_shared<const Options>(std::move(options));
}

std::future<Result<CompiledModule>> CppJit::start_compile(CppSource source, CompileTarget target) {
  return start_on<CompiledModule>(pool_,
                                  [options = options_, source = std::move(source), target = std::move(target)]() -> Result<CompiledModule> {
                                    Result<std::string> object = make_object(source, target, options->optimize);
                                    if (!object) return Unsupported{object.reason()};
                                    return load_module(*object, *options);
                                  });
}

Result<CompiledModule> CppJit::compile(const CppSource& source, const CompileTarget& target) { return start_compile(source, target).get(); }

Result<std::string> CppJit::compile_object(const CppSource& source, const CompileTarget& target) {
  return start_on<std::string>(pool_, [&] { return make_object(source, target, options_->optimize); }).get();
}

Result<CompiledModule> CppJit::load_object(std::string_view object) {
  return start_on<CompiledModule>(pool_, [&] { return load_module(object, *options_); }).get();
}

const char* cpp_compiler_version() { return jit_clang_version(); }

}  // namespace litz
