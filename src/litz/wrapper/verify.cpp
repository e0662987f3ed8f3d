#include <functional>

#include "litz/support/check.h"
#include "litz/wrapper/wrapper.h"

namespace litz {

void verify(const WrapperProgram& program) {
  enum class State : uint8_t { kUnknown, kLive, kFreed };
  std::vector<State> state(program.tensors.size(), State::kUnknown);
  for (const auto& in : program.inputs)
    if (in.tensor >= 0) state[in.tensor] = State::kLive;
  for (TensorId t : program.constant_tensors) state[t] = State::kLive;
  size_t at = 0;
  auto define = [&](TensorId t) {
    if (t < 0) return;
    LITZ_CHECK(state[t] == State::kUnknown, "line {}: {} is defined twice", at, program.tensors[t].name);
    state[t] = State::kLive;
  };
  auto use = [&](TensorId t) {
    LITZ_CHECK(t >= 0 && state[t] == State::kLive, "line {}: {} is used {}", at, t < 0 ? "no tensor" : program.tensors[t].name,
               t >= 0 && state[t] == State::kFreed ? "after it was freed" : "before it was defined");
  };
  std::function<void(const WrapperArgument&)> use_argument = [&](const WrapperArgument& a) {
    if (auto* t = std::get_if<TensorRef>(&a)) use(t->id);
    if (auto* list = std::get_if<WrapperArgumentList>(&a))
      for (const auto& e : *list) use_argument(e);
  };
  for (const auto& line : program.lines) {
    if (auto* a = std::get_if<AllocateLine>(&line)) define(a->tensor);
    if (auto* d = std::get_if<DataLine>(&line)) {
      LITZ_CHECK(d->data >= 0 && static_cast<size_t>(d->data) < program.data.size(), "line {}: data {} of {}", at, d->data,
                 program.data.size());
      define(d->tensor);
    }
    if (auto* p = std::get_if<PlaceLine>(&line)) define(p->tensor);
    if (auto* r = std::get_if<ReinterpretLine>(&line)) use(r->base), define(r->tensor);
    if (auto* c = std::get_if<KernelCallLine>(&line)) {
      LITZ_CHECK(c->kernel >= 0 && static_cast<size_t>(c->kernel) < program.kernels.size(), "line {}: kernel {} of {}", at, c->kernel,
                 program.kernels.size());
      for (TensorId t : c->tensors) use(t);
    }
    if (auto* e = std::get_if<ExternCallLine>(&line)) {
      LITZ_CHECK(e->callee && e->arguments.size() == e->callee->arguments.size(), "line {}: {} takes {} arguments, given {}", at,
                 e->callee ? e->callee->name : "no callee", e->callee ? e->callee->arguments.size() : 0, e->arguments.size());
      for (const auto& a : e->arguments) use_argument(a);
      for (TensorId t : e->results) define(t);
    }
    if (auto* n = std::get_if<ReadNumberLine>(&line)) use(n->tensor);
    if (auto* c = std::get_if<CopyLine>(&line)) use(c->destination), use(c->source);
    if (auto* f = std::get_if<FreeLine>(&line)) use(f->tensor), state[f->tensor] = State::kFreed;
    ++at;
  }
  for (const auto& o : program.outputs)
    if (auto* t = std::get_if<TensorRef>(&o.value)) use(t->id);
}

}  // namespace litz
