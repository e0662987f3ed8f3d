#include "litz/codegen/triton/triton_backend.h"

#include "litz/codegen/triton/triton_writer.h"

namespace litz {
namespace {

/// The source without comments and with one name for every kernel.
std::string identity_of(const KernelSource& source) {
  std::string out;
  for (size_t at = 0; at < source.text.size();) {
    size_t end = std::min(source.text.find('\n', at), source.text.size());
    std::string line = source.text.substr(at, end - at);
    at = end + 1;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(' ') == std::string::npos) continue;
    for (size_t name; (name = line.find(source.entry)) != std::string::npos;) line.replace(name, source.entry.size(), "@");
    out += line + "\n";
  }
  return out;
}

}  // namespace

Result<KernelSource> triton_source(const Kernel& kernel, const ProductTile* tile) {
  TritonWriter writer(kernel, tile);
  if (std::string reason = writer.refusal(); !reason.empty()) return unsupported("{}", reason);
  return KernelSource{kernel.name, writer.run(), "py"};
}

Result<KernelSource> TritonBackend::generate(const Kernel& kernel) { return triton_source(kernel); }

Result<std::vector<CompiledKernel>> TritonBackend::compile(const std::vector<KernelSource>& sources) {
  std::vector<std::string> identities;
  std::unordered_map<std::string, std::future<Result<KernelBinary>>> running;
  const std::string target = target_();
  for (const KernelSource& source : sources) {
    identities.push_back(identity_of(source));
    {
      std::lock_guard lock(mutex_);
      if (loaded_.contains(identities.back())) continue;
    }
    if (!running.contains(identities.back())) running.emplace(identities.back(), WorkerPool::instance().compile(source.text, target, true));
  }
  std::vector<CompiledKernel> out;
  std::string failure;
  for (size_t k = 0; k < sources.size(); ++k) {
    if (auto job = running.find(identities[k]); job != running.end() && job->second.valid()) {
      Result<KernelBinary> binary = job->second.get();
      auto loaded = binary ? loader_(*binary, sources[k].text) : Result<CompiledKernel>(unsupported("{}", binary.reason()));
      if (loaded) {
        std::lock_guard lock(mutex_);
        loaded_[identities[k]] = *loaded;
      } else if (failure.empty()) {
        failure = fmt::format("kernel {} does not compile: {}", sources[k].entry, loaded.reason());
      }
    }
    std::lock_guard lock(mutex_);
    if (auto known = loaded_.find(identities[k]); known != loaded_.end()) out.push_back(known->second);
  }
  if (!failure.empty()) return unsupported("{}", failure);
  return out;
}

}  // namespace litz
