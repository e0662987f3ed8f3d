#include "litz/codegen/cpp/cpp_backend.h"

#include <algorithm>
#include <unordered_map>

#include "litz/codegen/cpp/kernel_text.h"
#include "litz/codegen/cpp/runtime_header/embedded.h"
#include "litz/support/thread_pool.h"

namespace litz {

CppBackend::CppBackend(CompileTarget target) : target_(std::move(target)), jit_(CppJit::Options{}) {}

void CppBackend::prepare() {
  if (prepared_.exchange(true)) return;
  // Parses the vector header while the graph is still on its way; the first kernels then find it parsed.
  jit_.start_compile(CppSource{"header.cpp", "#include \"litz/vec.h\"\n", runtime_headers(), "litz/vec.h"}, target_);
}

Result<KernelSource> CppBackend::generate(const Kernel& kernel) { return kernel_text(kernel); }

std::string translation_unit(const std::vector<const KernelSource*>& kernels) {
  std::string text = "#include \"litz/vec.h\"\nusing namespace litz;\nconstexpr Full<1> one{};\n";
  for (const KernelSource* kernel : kernels) text += "\n" + kernel->text;
  return text;
}

namespace {

struct Unit {
  std::vector<const KernelSource*> kernels;
  size_t cost = 0;
  std::string text;
};

/// The costliest first, each to the unit with the least to do. Two kernels of one name never meet in a unit.
std::vector<Unit> distribute(std::vector<const KernelSource*> kernels, size_t units) {
  std::stable_sort(kernels.begin(), kernels.end(), [](auto* a, auto* b) { return a->text.size() > b->text.size(); });
  std::vector<Unit> out(std::min(units, kernels.size()));
  for (const KernelSource* kernel : kernels) {
    Unit* best = nullptr;
    for (Unit& unit : out) {
      const bool taken = std::ranges::any_of(unit.kernels, [&](auto* k) { return k->entry == kernel->entry; });
      if (!taken && (!best || unit.cost < best->cost)) best = &unit;
    }
    if (!best) best = &out.emplace_back();
    best->kernels.push_back(kernel);
    best->cost += kernel->text.size();
  }
  return out;
}

}  // namespace

Result<std::vector<CompiledKernel>> CppBackend::compile(const std::vector<KernelSource>& sources) {
  std::unordered_map<std::string, const KernelSource*> first_of;
  std::vector<const KernelSource*> representative, distinct;
  for (const KernelSource& source : sources) {
    auto [it, is_new] = first_of.emplace(text_identity(source), &source);
    if (is_new) distinct.push_back(&source);
    representative.push_back(it->second);
  }
  std::vector<Unit> units = distribute(distinct, static_cast<size_t>(available_processors()));
  std::vector<std::future<Result<CompiledModule>>> pending;
  for (Unit& unit : units) {
    unit.text = translation_unit(unit.kernels);
    pending.push_back(jit_.start_compile(CppSource{"kernels.cpp", unit.text, runtime_headers(), "litz/vec.h"}, target_));
  }
  std::unordered_map<const KernelSource*, CompiledKernel> compiled;
  std::string failure;
  for (size_t k = 0; k < units.size(); ++k) {
    Result<CompiledModule> module = pending[k].get();  // every one: the texts must outlive the compiles
    if (!module) {
      failure += module.reason();
      continue;
    }
    auto owner = std::make_shared<CompiledModule>(std::move(*module));
    for (const KernelSource* kernel : units[k].kernels) { compiled[kernel] = CompiledKernel{owner->find(kernel->entry.c_str()), owner}; }
  }
  if (!failure.empty()) return unsupported("generated code does not compile: {}", failure);
  std::vector<CompiledKernel> result;
  for (const KernelSource* kernel : representative) result.push_back(compiled.at(kernel));
  return result;
}

}  // namespace litz
