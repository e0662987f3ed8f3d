#include "litz/runtime/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace litz::runtime {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

std::string numbers(const std::vector<TableIndex>& entries) {
  return entries.empty() ? "[]" : fmt::format("[n{}]", fmt::join(entries, ", n"));
}

std::string device(const Program& p, DeviceId d) { return fmt::format("{}:{}", p.device_types.at(static_cast<size_t>(d.type)), d.index); }

std::string spec(const Program& p, int32_t index) {
  const TensorSpec& s = p.specs.at(static_cast<size_t>(index));
  return fmt::format("{} {} strides {} {}", dtype_name(s.dtype), numbers(s.sizes), numbers(s.strides), device(p, s.device));
}

std::string argument(const Program& p, const ExternArg& a) {
  return std::visit(Overloaded{
                        [](std::monostate) { return std::string("None"); },
                        [](bool v) { return std::string(v ? "True" : "False"); },
                        [](int64_t v) { return fmt::format("{}", v); },
                        [](double v) { return fmt::format("{}", v); },
                        [](const std::string& v) { return fmt::format("{}", v); },
                        [](NumberArg v) { return fmt::format("{}n{}", v.is_float ? "float " : "", v.entry); },
                        [](TensorArg v) { return fmt::format("%{}", v.slot); },
                        [](DType v) { return std::string(dtype_name(v)); },
                        [&](DeviceId v) { return device(p, v); },
                        [](ComplexArg v) { return fmt::format("{}+{}j", v.real, v.imaginary); },
                        [](MemoryFormatArg v) { return fmt::format("memory_format {}", v.torch_code); },
                        [&](const ExternArgs& list) {
                          std::string text;
                          for (const ExternArg& e : list) text += (text.empty() ? "" : ", ") + argument(p, e);
                          return "[" + text + "]";
                        },
                    },
                    a);
}

std::string line_text(const Program& p, const Line& any) {
  return std::visit(
      Overloaded{
          [&](const AllocLine& l) { return fmt::format("%{} = alloc {}", l.slot, spec(p, l.spec)); },
          [&](const DataLine& l) { return fmt::format("%{} = data {}", l.slot, spec(p, l.spec)); },
          [&](const ArenaLine& l) { return fmt::format("%{} = arena n{} bytes {}", l.slot, l.bytes, device(p, l.device)); },
          [&](const ArenaViewLine& l) {
            return fmt::format("%{} = arena_view %{} at n{}: {}", l.slot, l.arena, l.byte_offset, spec(p, l.spec));
          },
          [&](const ViewLine& l) { return fmt::format("%{} = view %{} + n{}: {}", l.slot, l.base, l.offset, spec(p, l.spec)); },
          [&](const FreeLine& l) { return fmt::format("free %{}", l.slot); },
          [&](const KernelLine& l) {
            std::string tensors;
            for (Slot s : l.tensors) tensors += fmt::format("{}%{}", tensors.empty() ? "" : ", ", s);
            return fmt::format("call {}({}) numbers {} range n{} grain n{}{}{}", p.kernels.at(static_cast<size_t>(l.kernel)).name, tensors,
                               numbers(l.numbers), l.range, l.grain,
                               l.scratch_bytes >= 0 ? fmt::format(" scratch n{}", l.scratch_bytes) : "",
                               l.reports_errors ? " reports errors" : "");
          },
          [&](const ExternLine& l) {
            std::string results, arguments;
            for (Slot s : l.results) results += (results.empty() ? "" : ", ") + (s < 0 ? std::string("_") : fmt::format("%{}", s));
            for (TableIndex n : l.number_results) results += fmt::format("{}n{}", results.empty() ? "" : ", ", n);
            for (const ExternArg& a : l.arguments) arguments += (arguments.empty() ? "" : ", ") + argument(p, a);
            return fmt::format("{}{}extern {}({}){}", results, results.empty() ? "" : " = ", p.callees.at(static_cast<size_t>(l.callee)).op,
                               arguments, l.widened_from ? " in f32" : "");
          },
          [&](const ComputeLine& l) {
            return fmt::format("compute numbers from n{}", p.later_tables.at(static_cast<size_t>(l.program)).begin);
          },
          [&](const AssertLine& l) { return fmt::format("assert n{}: {:?}", l.condition, p.messages.at(static_cast<size_t>(l.message))); },
          [&](const ReadNumberLine& l) {
            static constexpr const char* kKinds[] = {"size", "stride", "storage_offset"};
            return fmt::format("n{} = {} %{} {}", l.entry, kKinds[l.kind], l.slot, l.dimension);
          },
          [&](const CheckRangeLine& l) { return fmt::format("check {} <= n{} <= {}", l.lower, l.entry, l.upper); },
          [&](const CopyLine& l) { return fmt::format("copy %{} <- %{}", l.destination, l.source); },
      },
      any);
}

}  // namespace

std::string to_text(const Program& p) {
  static constexpr const char* kSources[] = {"size", "stride", "storage_offset", "number"};
  std::string text = fmt::format("program {} ({} arguments, {} constants)\n", p.name, p.argument_count, p.constants.size());
  for (size_t k = 0; k < p.symbols.size(); k++)
    text += fmt::format("  s{} = {} of argument {} {}\n", k, kSources[p.symbols[k].kind], p.symbols[k].argument, p.symbols[k].dimension);
  for (const Line& line : p.lines) text += "  " + line_text(p, line) + "\n";
  text += "  return";
  for (size_t i = 0; i < p.outputs.size(); i++) {
    const OutputSpec& o = p.outputs[i];
    text += i ? ", " : " ";
    switch (o.kind) {
      case OutputSpec::kNone: text += "None"; break;
      case OutputSpec::kTensor: text += fmt::format("%{}", o.index); break;
      case OutputSpec::kInput: text += fmt::format("argument {}", o.index); break;
      case OutputSpec::kComputedFloat: text += fmt::format("float n{}", o.index); break;
      case OutputSpec::kInteger: text += fmt::format("n{}", o.index); break;
      case OutputSpec::kFloat: text += fmt::format("{}", o.number); break;
      case OutputSpec::kBool: text += o.number != 0 ? "True" : "False"; break;
    }
  }
  return text + "\n";
}

}  // namespace litz::runtime
