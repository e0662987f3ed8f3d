// The parser of what print_kernel.cpp writes. What the text repeats (types, lanes, extents) is compared with what follows from the
// rest, so that a kernel that parses is one that a code generator can spell.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "litz/kernel/kernel.h"
#include "litz/kernel/tree_passes.h"
#include "litz/support/check.h"
#include "litz/symbolic/expr_text.h"

namespace litz {
namespace {

constexpr int kMaxDepth = 64;  // of loops: recursion stays on the stack
constexpr int64_t kMaxCount = 1 << 20;

DType parse_type(TextCursor& c) {
  const size_t at = c.position();
  if (auto dtype = parse_dtype(c.word())) return *dtype;
  c.move_to(at);
  c.fail("an element type");
}

Number parse_number(TextCursor& c) {
  return std::visit([](auto v) { return Number::of(v); }, c.number());
}

class KernelParser {
 public:
  explicit KernelParser(TextLines& lines) : lines_(lines), kernel_(std::make_unique<Kernel>()) {
    kernel_->context = std::make_shared<ExprContext>();
  }

  std::unique_ptr<Kernel> parse() {
    TextCursor head = *lines_.next();
    if (head.indent() != 0) head.fail("kernel at the begin of the line");
    head.expect("kernel");
    kernel_->name = head.word();
    while (TextCursor* c = accept_line("symbol")) {
      parse_symbol_declaration(context(), *c);
      c->expect_end();
    }
    parse_head(head);
    while (TextCursor* c = accept_line("source")) parse_origin(*c);
    if (TextCursor* c = accept_line("axes")) parse_axes(*c);
    while (TextCursor* c = accept_line("scratch")) parse_scratch(*c);
    parse_body(kernel_->body, 0, 0);
    finish(head);
    return std::move(kernel_);
  }

 private:
  /// A statement's result as its line declares it.
  struct Declared {
    KernelValue value;
    std::string lanes;
    TextCursor at;
  };

  ExprContext& context() { return *kernel_->context; }

  /// The next line, if it is one of the kernel's that begins so.
  TextCursor* accept_line(std::string_view word) {
    auto line = lines_.peek();
    if (!line || line->indent() == 0 || !line->accept(word)) return nullptr;
    lines_.next();
    line_ = std::move(line);
    return &*line_;
  }

  Expr expr(TextCursor& c) { return parse_expr(context(), c, visible_symbol_); }
  Expr count(TextCursor& c) {
    const size_t at = c.position();
    Expr e = parse_expr(context(), c);
    if (e.is_integer() && e.integer() >= 1 && e.integer() <= kMaxCount) return e;
    c.move_to(at);
    c.fail(fmt::format("a number from 1 to {}", kMaxCount));
  }

  // ---- the head ----

  void name_memory(TextCursor& c, const std::string& name, Memory memory) {
    if (!memory_.emplace(name, memory).second) c.refuse(fmt::format("{} stands twice", name));
  }

  void parse_parameter(TextCursor& c) {
    KernelParameter p;
    p.name = c.word();
    c.expect(":");
    name_memory(c, p.name, Memory{false, static_cast<int>(kernel_->parameters.size())});
    if (c.accept("number")) {
      p.kind = KernelParameter::kNumber;
      p.dtype = DType::kInt64;
      const bool is_computed = !c.peek(",") && !c.peek(")");
      p.number = is_computed ? parse_expr(context(), c, size_symbol_) : context().find_symbol(p.name);
      if (!p.number) c.refuse(fmt::format("number {} has no symbol line", p.name));
      if (!is_computed) visible_.insert(p.number);
      else if (p.number.is_symbol() || p.number.is_integer()) c.refuse(fmt::format("number {} is not computed", p.name));
    } else {
      if (c.accept("in")) p.kind = KernelParameter::kInput;
      else if (c.accept("out")) p.kind = KernelParameter::kOutput;
      else if (c.accept("inout")) p.kind = KernelParameter::kInOut;
      else c.fail("in, out, inout or number");
      p.dtype = parse_type(c);
      auto buffer = std::make_unique<Buffer>();
      buffer->name = p.name;
      buffer->dtype = p.dtype;
      buffer->sizes = parse_expr_list(context(), c);
      if (c.accept("on")) {
        buffer->device.type = c.word();
        buffer->device.index = static_cast<int>(c.integer());
      }
      p.buffer = buffer.get();
      kernel_->own_buffers.push_back(std::move(buffer));
    }
    kernel_->parameters.push_back(std::move(p));
  }

  void parse_head(TextCursor& c) {
    c.expect("(");
    while (!c.accept(")")) {
      parse_parameter(c);
      if (!c.peek(")")) c.expect(",");
    }
    c.expect("range");
    kernel_->range = parse_expr(context(), c);
    c.expect("grain");
    kernel_->grain = parse_expr(context(), c);
    kernel_->narrow_indices = c.accept("narrow");
    kernel_->is_strict = c.accept("strict");
    c.expect_end();
  }

  void parse_origin(TextCursor& c) {
    KernelOrigin origin{c.word(), {}};
    if (!origins_.emplace(origin.name, static_cast<int>(kernel_->origins.size())).second)
      c.refuse(fmt::format("source {} stands twice", origin.name));
    if (!c.at_end()) origin.note = c.quoted();
    c.expect_end();
    kernel_->origins.push_back(std::move(origin));
  }

  void parse_axes(TextCursor& c) {
    do {
      const std::string name = c.word();
      if (context().find_symbol(name)) c.refuse(fmt::format("symbol {} stands twice", name));
      c.expect("<");
      const Expr extent = parse_expr(context(), c);
      if (c.accept("indirect")) context().indirect(name, extent);
      else context().axis(name, extent);
    } while (c.accept(","));
    c.expect_end();
  }

  void parse_scratch(TextCursor& c) {
    KernelScratch s;
    s.name = c.word();
    name_memory(c, s.name, Memory{true, static_cast<int>(kernel_->scratch.size())});
    c.expect(":");
    s.dtype = parse_type(c);
    c.expect("[");
    s.elements = expr(c);
    c.expect("]");
    c.expect_end();
    kernel_->scratch.push_back(std::move(s));
  }

  // ---- statements ----

  /// The lines below one that stands at `outer`, while they are further in.
  void parse_body(std::vector<KernelStatement>& body, size_t outer, int depth) {
    std::optional<size_t> indent;
    std::vector<std::string> values, accumulators;  // of this body
    std::vector<Expr> symbols;
    scopes_.push_back({&values, &accumulators, &symbols});
    while (auto line = lines_.peek()) {
      if (line->indent() <= outer) break;
      lines_.next();
      if (!indent) indent = line->indent();
      if (line->indent() != *indent) line->fail(fmt::format("{} blanks before the statement", *indent));
      parse_statement(*line, body, *indent, depth);
    }
    for (const std::string& v : values) values_.erase(v);
    for (const std::string& a : accumulators) accumulators_.erase(a);
    for (Expr s : symbols) visible_.erase(s);
    scopes_.pop_back();
  }

  void parse_statement(TextCursor& c, std::vector<KernelStatement>& body, size_t indent, int depth) {
    if (c.accept("from")) {
      auto origin = origins_.find(c.word());
      if (origin == origins_.end()) c.fail("a name with a source line above");
      c.expect_end();
      origin_ = origin->second;
      return;
    }
    KernelStatement s;
    if (c.peek("parallel") || c.peek("vector") || c.peek("for")) {
      s.kind = KernelOp::kLoop;
      s.loop = parse_loop(c, indent, depth);
      body.push_back(std::move(s));
      return;
    }
    s.origin = origin_;
    if (c.peek("store") || c.peek("scatter")) {
      parse_store(c, s);
    } else {
      const std::string word = c.word();
      if (c.peek(":")) parse_results(c, s, word);
      else if (c.accept("=")) parse_init(c, s, word);
      else parse_update(c, s, word);
    }
    c.expect_end();
    body.push_back(std::move(s));
  }

  std::unique_ptr<KernelLoop> parse_loop(TextCursor& c, size_t indent, int depth) {
    if (depth >= kMaxDepth) c.refuse(fmt::format("more than {} loops inside one another", kMaxDepth));
    auto loop = std::make_unique<KernelLoop>();
    loop->is_parallel = c.accept("parallel");
    loop->has_lanes = c.accept("vector");
    if (!loop->is_parallel && !loop->has_lanes) c.expect("for");
    loop->axis = axis(c);
    c.expect("in");
    c.expect("0..");
    const size_t at = c.position();
    loop->extent = expr(c);
    if (loop->extent != loop->axis.extent()) {
      c.move_to(at);
      c.refuse(fmt::format("expected {}, the extent of axis {}, found {}", to_string(loop->axis.extent()), loop->axis.symbol_name(),
                           to_string(loop->extent)));
    }
    loop->step = context().integer(1);
    if (loop->has_lanes) {
      c.expect("step");
      loop->step = count(c);
      if (c.accept("lane")) {
        loop->lane = axis(c);
        if (loop->lane.extent() != loop->step)
          c.refuse(fmt::format("lane {} is below {}, the step is {}", loop->lane.symbol_name(), to_string(loop->lane.extent()),
                               to_string(loop->step)));
      } else {
        loop->lane = context().axis("lane", loop->step);
      }
      loop->is_whole = c.accept("whole");
    }
    if (c.accept("cascade")) loop->cascade = static_cast<int>(count(c).integer());
    c.expect_end();
    visible_.insert(loop->axis);
    if (loop->lane) visible_.insert(loop->lane);
    if (loop->has_lanes) {
      open_lanes_.push_back(loop.get());
      give_lanes(*loop);
    }
    parse_body(loop->body, indent, depth + 1);
    if (loop->has_lanes) open_lanes_.pop_back();
    visible_.erase(loop->axis);
    if (loop->lane) visible_.erase(loop->lane);
    return loop;
  }

  /// A symbol of the line `axes` that is not in use here.
  Expr axis(TextCursor& c) {
    const size_t at = c.position();
    Expr symbol = context().find_symbol(c.word());
    if (symbol && symbol.symbol_kind() == SymbolKind::kAxis && !visible_.contains(symbol)) return symbol;
    c.move_to(at);
    c.fail("an axis of the line axes that no loop around has");
  }

  KernelValue value(TextCursor& c) {
    const size_t at = c.position();
    auto known = values_.find(c.word());
    if (known != values_.end()) return known->second;
    c.move_to(at);
    c.fail("a value defined above in this body or one around it");
  }

  DType type_of(KernelValue v) const { return kernel_->values[v].dtype; }

  void expect_type(TextCursor& c, std::string_view what, DType expected, DType found) const {
    if (expected != found) c.refuse(fmt::format("{} is {}, expected {}", what, dtype_name(found), dtype_name(expected)));
  }

  void parse_access(TextCursor& c, KernelStatement& s) {
    const size_t at = c.position();
    auto known = memory_.find(c.word());
    const bool is_memory = known != memory_.end() && (known->second.is_scratch || kernel_->parameters[known->second.index].buffer);
    if (!is_memory) {
      c.move_to(at);
      c.fail("a tensor or scratch of the kernel");
    }
    s.memory = known->second;
    c.expect("[");
    s.offset = expr(c);
    c.expect("]");
  }

  DType element_type(Memory m) const { return m.is_scratch ? kernel_->scratch[m.index].dtype : kernel_->parameters[m.index].dtype; }

  void parse_store(TextCursor& c, KernelStatement& s) {
    static constexpr std::string_view kModes[] = {"", ".add", ".mul", ".min", ".max"};
    s.kind = KernelOp::kStore;
    s.is_scatter = !c.accept("store");
    if (s.is_scatter) c.expect("scatter");
    for (size_t k = 1; k < std::size(kModes); ++k) {
      if (c.accept(kModes[k])) s.mode = static_cast<ScatterMode>(k);
    }
    parse_access(c, s);
    c.expect("=");
    s.operands = {value(c)};
    expect_type(c, "the value", element_type(s.memory), type_of(s.operands[0]));
    if (!s.is_scatter || !c.accept("if")) return;
    s.operands.push_back(value(c));
    expect_type(c, "the predicate", DType::kBool, type_of(s.operands[1]));
  }

  /// "v0: f32<16>, v1: i64 = ..."; the first name has been read.
  void parse_results(TextCursor& c, KernelStatement& s, std::string name) {
    std::vector<DType> types;
    std::vector<std::string> names;
    for (;;) {
      c.expect(":");
      names.push_back(name);
      types.push_back(parse_type(c));
      std::string lanes;
      if (c.accept("<")) {
        lanes = fmt::format("<{}>", c.until(">"));
        c.expect(">");
      }
      declared_.push_back({static_cast<KernelValue>(kernel_->values.size() + names.size()) - 1, lanes, c});
      if (!c.accept(",")) break;
      name = c.word();
    }
    c.expect("=");
    s.result = static_cast<KernelValue>(kernel_->values.size());
    const size_t at = c.position();
    const std::string op = c.word();
    if (op.ends_with(".finish")) {
      parse_finish(c, s, op.substr(0, op.size() - 7), types);
    } else if (types.size() != 1) {
      c.move_to(at);
      c.fail("a finish, which alone gives several values");
    } else if (op == "load") {
      parse_load(c, s, types[0]);
    } else {
      c.move_to(at);
      parse_compute(c, s, types[0]);
    }
    for (size_t k = 0; k < names.size(); ++k) {
      if (names[k].empty() || names[k][0] != 'v') c.refuse(fmt::format("a value is called v and a number, found {}", names[k]));
      if (!values_.emplace(names[k], static_cast<KernelValue>(kernel_->values.size())).second)
        c.refuse(fmt::format("{} is defined twice", names[k]));
      scopes_.back().values->push_back(names[k]);
      kernel_->values.push_back({types[k], {}});
    }
  }

  void parse_load(TextCursor& c, KernelStatement& s, DType type) {
    s.kind = KernelOp::kLoad;
    parse_access(c, s);
    expect_type(c, "the element", type, element_type(s.memory));
    s.instr.op = Op::kLoad;
    s.instr.dtype = type;
    if (!s.memory.is_scratch) s.instr.buffer = kernel_->parameters[s.memory.index].buffer;
    if (c.accept("if")) {
      s.operands.push_back(value(c));
      expect_type(c, "the predicate", DType::kBool, type_of(s.operands[0]));
    }
    if (c.accept("else")) s.instr.number = parse_number(c);
  }

  void parse_compute(TextCursor& c, KernelStatement& s, DType type) {
    const size_t at = c.position();
    auto op = parse_op(c.word());
    if (!op || *op == Op::kLoad) {
      c.move_to(at);
      c.fail("load, an accumulator's finish or an op of loop/ops.def");
    }
    s.instr.op = *op;
    s.instr.dtype = type;
    auto operand = [&] {
      s.operands.push_back(value(c));
      return type_of(s.operands.back());
    };
    switch (*op) {
      case Op::kConstant: s.instr.number = parse_number(c); return;
      case Op::kIndexExpr: s.instr.expr = expr(c); return;
      case Op::kIndirect:
        expect_type(c, "the result", operand(), type);
        c.expect("as");
        s.instr.expr = bind_symbol(c);
        return;
      case Op::kCheckIndex:
        expect_type(c, "the result", operand(), type);
        c.expect("<");
        s.instr.expr = expr(c);
        s.operands.push_back(kNoKernelValue);
        if (c.accept("if")) {
          s.operands[1] = value(c);
          expect_type(c, "the predicate", DType::kBool, type_of(s.operands[1]));
        }
        if (!c.at_end()) s.instr.message = c.quoted();
        return;
      case Op::kAssertTrue:
        expect_type(c, "the condition", DType::kBool, operand());
        expect_type(c, "the result", DType::kBool, type);
        s.instr.message = c.quoted();
        return;
      case Op::kRandomUint:
        expect_type(c, "the seed", DType::kInt64, operand());
        expect_type(c, "the offset", DType::kInt64, operand());
        expect_type(c, "the result", DType::kUInt32, type);
        return;
      default: parse_operands(c, s, type);
    }
  }

  /// Operands of one type, which is the result's but for comparisons and casts.
  void parse_operands(TextCursor& c, KernelStatement& s, DType type) {
    const int first = s.instr.op == Op::kWhere ? 1 : 0;
    for (int k = 0; k < op_operands(s.instr.op); ++k) {
      s.operands.push_back(value(c));
      const DType found = type_of(s.operands.back());
      if (k < first) expect_type(c, "the condition", DType::kBool, found);
      else if (k > first) expect_type(c, "the operand", type_of(s.operands[first]), found);
    }
    if (op_result(s.instr.op) == OpResult::kExplicit) return;
    const DType common = type_of(s.operands[first]);
    s.instr.dtype = common;
    expect_type(c, "the result", op_result(s.instr.op) == OpResult::kBool ? DType::kBool : common, type);
  }

  Expr bind_symbol(TextCursor& c) {
    const size_t at = c.position();
    Expr symbol = context().find_symbol(c.word());
    if (!symbol || symbol.symbol_kind() != SymbolKind::kIndirect || !visible_.insert(symbol).second) {
      c.move_to(at);
      c.fail("an indirect symbol of the line axes that is not bound yet");
    }
    scopes_.back().symbols->push_back(symbol);
    return symbol;
  }

  // ---- accumulators ----

  void parse_init(TextCursor& c, KernelStatement& s, const std::string& name) {
    s.kind = KernelOp::kInit;
    s.accumulator = static_cast<int>(kernel_->accumulators.size());
    Accumulator a;
    a.name = name;
    const size_t at = c.position();
    const std::string word = c.word();
    auto kind = word.ends_with(".init") ? parse_reduction(word.substr(0, word.size() - 5)) : std::nullopt;
    if (!kind) {
      c.move_to(at);
      c.fail("a kind of reduction and .init");
    }
    a.kind = *kind;
    a.dtype = parse_type(c);
    if (accumulator_inputs(a) == 2) a.index_dtype = parse_type(c);
    a.is_scan = c.accept("scan");
    if (c.accept("over")) parse_lanes(c, a);
    if (!accumulators_.emplace(name, s.accumulator).second || name.find('.') != std::string::npos)
      c.refuse(fmt::format("{} cannot be the name of an accumulator here", name));
    scopes_.back().accumulators->push_back(name);
    kernel_->accumulators.push_back(std::move(a));
  }

  /// The loops are those that are open, or the next that open along these axes.
  void parse_lanes(TextCursor& c, Accumulator& a) {
    do {
      const size_t at = c.position();
      Expr symbol = context().find_symbol(c.word());
      if (!symbol || symbol.symbol_kind() != SymbolKind::kAxis) {
        c.move_to(at);
        c.fail("an axis of the line axes");
      }
      auto open = std::ranges::find(open_lanes_, symbol, &KernelLoop::axis);
      if (open == open_lanes_.end()) awaited_.push_back({static_cast<int>(kernel_->accumulators.size()), a.lanes.size(), symbol, c});
      a.lanes.push_back(open == open_lanes_.end() ? nullptr : *open);
    } while (c.accept(","));
  }

  void give_lanes(const KernelLoop& loop) {
    std::erase_if(awaited_, [&](const Awaited& w) {
      if (w.axis != loop.axis) return false;
      kernel_->accumulators[w.accumulator].lanes[w.position] = &loop;
      return true;
    });
  }

  int accumulator(TextCursor& c, const std::string& name) const {
    auto known = accumulators_.find(name);
    if (known == accumulators_.end()) c.refuse(fmt::format("no accumulator {} has its init above in this body or one around it", name));
    return known->second;
  }

  void parse_update(TextCursor& c, KernelStatement& s, const std::string& word) {
    if (!word.ends_with(".update"))
      c.refuse(
          fmt::format("expected a loop, store, scatter, from, the definition of a value or an accumulator's update, found \"{}\"", word));
    s.kind = KernelOp::kUpdate;
    s.accumulator = accumulator(c, word.substr(0, word.size() - 7));
    const Accumulator& a = kernel_->accumulators[s.accumulator];
    for (int k = 0; k < accumulator_inputs(a); ++k) {
      s.operands.push_back(value(c));
      expect_type(c, "the value", k == 0 ? a.dtype : a.index_dtype, type_of(s.operands.back()));
    }
  }

  void parse_finish(TextCursor& c, KernelStatement& s, const std::string& name, const std::vector<DType>& types) {
    s.kind = KernelOp::kFinish;
    s.accumulator = accumulator(c, name);
    const Accumulator& a = kernel_->accumulators[s.accumulator];
    const int outputs = accumulator_outputs(a);
    if (static_cast<int>(types.size()) != outputs)
      c.refuse(fmt::format("{} gives {} values, found {}", reduction_name(a.kind), outputs, types.size()));
    for (int k = 0; k < outputs; ++k) expect_type(c, "the result", accumulator_result_type(a, k), types[k]);
  }

  // ---- what follows from the tree ----

  void finish(const TextCursor& head) {
    if (!awaited_.empty()) awaited_[0].at.refuse(fmt::format("no loop with lanes along {} follows", awaited_[0].axis.symbol_name()));
    annotate_lanes(*kernel_);
    for (const Declared& d : declared_) {
      const std::string lanes = lanes_text(kernel_->values[d.value]);
      if (lanes != d.lanes)
        d.at.refuse(fmt::format("the value {}, the type says {}", lanes.empty() ? "has no lanes" : "has lanes " + lanes,
                                d.lanes.empty() ? "none" : d.lanes));
    }
    list_assertions(*kernel_);
    const bool is_narrow = kernel_->narrow_indices;
    narrow_indices(*kernel_);
    if (is_narrow && !kernel_->narrow_indices) head.refuse("an offset may leave 32 bits, the kernel says narrow");
    kernel_->narrow_indices = is_narrow;
    try {
      verify(*kernel_);
    } catch (const InternalError& error) { head.refuse(error.what()); }
  }

  struct Scope {
    std::vector<std::string>*values, *accumulators;
    std::vector<Expr>* symbols;
  };
  struct Awaited {
    int accumulator;
    size_t position;  // among its lanes
    Expr axis;
    TextCursor at;
  };

  TextLines& lines_;
  std::optional<TextCursor> line_;
  std::unique_ptr<Kernel> kernel_;
  std::unordered_set<Expr> visible_;  // number parameters, axes of open loops, bound symbols
  const SymbolLookup visible_symbol_ = [this](std::string_view name) {
    Expr symbol = context().find_symbol(name);
    return symbol && visible_.contains(symbol) ? symbol : Expr();
  };
  const SymbolLookup size_symbol_ = [this](std::string_view name) {
    Expr symbol = context().find_symbol(name);
    const bool is_size = symbol && (symbol.symbol_kind() == SymbolKind::kSize || symbol.symbol_kind() == SymbolKind::kUnbacked);
    return is_size ? symbol : Expr();
  };
  std::unordered_map<std::string, Memory> memory_;
  std::unordered_map<std::string, int> origins_, accumulators_;
  std::unordered_map<std::string, KernelValue> values_;
  std::vector<Scope> scopes_;
  std::vector<const KernelLoop*> open_lanes_;
  std::vector<Awaited> awaited_;
  std::vector<Declared> declared_;
  int origin_ = -1;
};

}  // namespace

std::vector<std::unique_ptr<Kernel>> parse_kernels(std::string_view text) {
  TextLines lines("kernel ir", text);
  std::vector<std::unique_ptr<Kernel>> kernels;
  while (lines.peek()) kernels.push_back(KernelParser(lines).parse());
  if (kernels.empty()) user_error("kernel ir: expected a line \"kernel name(...)\", found no line");
  return kernels;
}

}  // namespace litz
