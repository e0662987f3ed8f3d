// The parser of what program_text.cpp prints, line by line; parse_expr finds the fresh axes by their display names.
#include <charconv>
#include <map>

#include "litz/loop/argument_text.h"

namespace litz {

namespace {

Number number_of(TextCursor& c) {
  return std::visit([](auto v) { return Number::of(v); }, c.number());
}

constexpr int kMaxDepth = 64;  // of lists: recursion stays on the stack

using DisplayNames = std::unordered_map<std::string, Expr>;

class Parser {
 public:
  explicit Parser(std::string_view text)
      : lines_("loop ir", text),
        program_(std::make_unique<LoopProgram>(std::make_shared<ExprContext>())) {}

  std::unique_ptr<LoopProgram> parse() {
    while (auto c = lines_.next()) parse_line(*c);
    return std::move(program_);
  }

 private:
  ExprContext& context() { return *program_->context; }
  Expr expr(TextCursor& c) { return parse_expr(context(), c, by_display_name_); }
  std::vector<Expr> expr_list(TextCursor& c) { return parse_expr_list(context(), c, by_display_name_); }
  Expr symbol(TextCursor& c) {
    const size_t at = c.position();
    if (Expr s = context().find_symbol(c.word())) return s;
    c.move_to(at);
    c.fail("a symbol with a line above");
  }
  DType dtype(TextCursor& c) {
    if (auto d = parse_dtype(c.word())) return *d;
    c.fail("an element type");
  }
  Buffer* buffer(TextCursor& c) {
    auto it = buffers_.find(c.word());
    if (it == buffers_.end()) c.fail("a buffer declared above");
    return it->second;
  }
  void parse_line(TextCursor& c) {
    if (c.accept("program")) program_->name = c.word();
    else if (c.accept("symbol")) parse_symbol_declaration(context(), c);
    else if (c.accept("schema")) parse_schema_line(c);
    else if (c.accept("buffer")) parse_buffer(c);
    else if (c.accept("parameters")) parse_parameters(c);
    else if (c.accept("op")) parse_operation(c);
    else if (c.accept("mutates")) {
      Buffer* input = buffer(c);
      program_->mutations.push_back({input, buffer(c)});
    } else if (c.accept("return")) parse_outputs(c);
    else c.fail("program, symbol, schema, buffer, parameters, op, mutates or return");
  }

  void parse_schema_line(TextCursor& c) {
    const OpSchema* owned = program_->schema(*parse_schema_text(c));
    schemas_[owned->name] = owned;
  }

  void parse_buffer(TextCursor& c) {
    std::string name = c.word();
    c.expect(":");
    DType type = dtype(c);
    std::vector<Expr> sizes = expr_list(c);
    Device device;
    if (c.accept("on")) {
      device.type = c.word();
      device.index = static_cast<int>(c.integer());
    }
    Buffer* b = program_->new_buffer(name, type, std::move(sizes), device);
    if (b->name != name) c.fail("a buffer's name that is new");
    buffers_[name] = b;
    if (c.accept("input")) {
      b->kind = BufferKind::kInput;
      program_->inputs.push_back(b);
    }
    if (c.accept("constant")) b->kind = BufferKind::kConstant;
    if (c.accept("version_of")) b->version_of = buffer(c);
    Layout& l = b->layout;
    if (c.accept("strides")) {
      l.kind = LayoutKind::kStrided;
      l.strides = expr_list(c);
    }
    c.accept("flexible");
    if (c.accept("looks_at")) l.base = buffer(c);
    if (c.accept("offset")) {
      c.expect("(");
      l.offset = expr(c);
      c.expect(")");
    }
    if (c.accept("wants")) {
      for (Expr e : expr_list(c)) l.wanted_order.push_back(static_cast<int>(e.integer()));
      l.order_is_binding = c.accept("binding");
    }
    b->is_promised = c.accept("promised");
    b->is_absent = c.accept("absent");
    b->escapes = c.accept("escapes");
    c.expect_end();
  }

  void parse_parameters(TextCursor& c) {
    while (!c.at_end()) {
      if (c.accept("(")) {
        program_->parameters.emplace_back(expr(c));
        c.expect(")");
      } else {
        c.expect("%");
        program_->parameters.emplace_back(buffer(c));
      }
      if (!c.at_end()) c.expect(",");
    }
  }

  void parse_axis(TextCursor& c, Operation& op) {
    std::string name = c.word();
    c.expect("<");
    Expr axis = context().axis(name, expr(c));
    names_[name] = axis;
    op.axes.push_back(axis);
  }

  void parse_space(TextCursor& c, Operation& op) {
    c.expect("(");
    bool is_reduced = false;
    while (!c.accept(")")) {
      if (c.accept(";")) is_reduced = true;
      else if (!op.axes.empty()) c.expect(",");
      parse_axis(c, op);
      if (!is_reduced) op.rank = static_cast<int>(op.axes.size());
    }
  }

  ReductionKind reduction(TextCursor& c) {
    if (auto k = parse_reduction(c.word())) return *k;
    c.fail("the name of a reduction");
  }

  void parse_operation(TextCursor& c) {
    names_.clear();
    std::string name = c.word();
    OperationKind kind;
    if (c.accept("pointwise")) kind = OperationKind::kPointwise;
    else if (c.accept("reduction")) kind = OperationKind::kReduction;
    else if (c.accept("scan")) kind = OperationKind::kScan;
    else if (c.accept("scatter")) kind = OperationKind::kScatter;
    else if (c.accept("extern")) kind = OperationKind::kExtern;
    else c.fail("a kind of operation");
    Operation& op = *program_->new_operation(kind, name);
    if (kind == OperationKind::kReduction || kind == OperationKind::kScan) {
      op.reduction = reduction(c);
      op.accumulate = dtype(c);
    }
    if (kind == OperationKind::kScan) {
      c.expect("along");
      op.scan_axis = static_cast<int>(c.integer());
    }
    if (kind == OperationKind::kScatter) {
      static constexpr std::string_view kNames[] = {"store", "add", "mul", "min", "max"};
      std::string mode = c.word();
      bool found = false;
      for (int k = 0; k < 5; ++k)
        if (kNames[k] == mode) {
          op.scatter_mode = static_cast<ScatterMode>(k);
          found = true;
        }
      if (!found) c.fail("a scatter mode");
    }
    if (kind == OperationKind::kExtern) {
      auto it = schemas_.find(c.word());
      if (it == schemas_.end()) c.fail("an op with a schema line above");
      op.callee = it->second;
      op.writes_planned_output = c.accept("planned");
    } else {
      parse_space(c, op);
    }
    c.expect("->");
    std::vector<Buffer*> outputs;
    while (!c.at_end() && c.next() != '(' && c.next() != '{' && !c.peek("symbols") && !c.peek("over")) {
      outputs.push_back(buffer(c));
      if (!c.accept(",")) break;
    }
    program_->set_outputs(&op, std::move(outputs));
    if (c.accept("symbols")) do {
        op.symbol_outputs.push_back(symbol(c));
      } while (c.accept(","));
    if (kind == OperationKind::kExtern) {
      c.expect("(");
      while (!c.accept(")")) {
        op.arguments.push_back(argument(c));
        if (!c.peek(")")) c.expect(",");
      }
      return;
    }
    std::optional<TextCursor> scatter;
    if (c.accept("over")) {
      if (!c.accept("none")) op.scatter_base = buffer(c);
      c.expect("at");
      scatter = c;
      c.until("{");  // its indirect symbols are defined by the body
    }
    c.expect("{");
    parse_body(op.body);
    if (scatter) op.scatter_coordinates = expr_list(*scatter);
    names_.clear();
  }

  void parse_body(Body& body);
  Instr parse_instr(TextCursor& c, const Body& body);
  ExternArgument argument(TextCursor& c, int depth = 0);
  ExternTensor tensor(TextCursor& c);

  void parse_outputs(TextCursor& c) {
    while (!c.at_end()) {
      ExternArgument a = argument(c);
      ProgramOutput o;
      if (std::holds_alternative<None>(a)) o.value = None{};
      else if (auto* t = std::get_if<ExternTensor>(&a)) o.value = *t;
      else if (auto* e = std::get_if<Expr>(&a)) o.value = *e;
      else if (auto* i = std::get_if<int64_t>(&a)) o.value = *i;
      else if (auto* d = std::get_if<double>(&a)) o.value = *d;
      else if (auto* b = std::get_if<bool>(&a)) o.value = *b;
      else c.fail("a tensor or a number");
      program_->outputs.push_back(std::move(o));
      if (!c.at_end()) c.expect(",");
    }
  }

  TextLines lines_;
  std::unique_ptr<LoopProgram> program_;
  std::map<std::string, Buffer*> buffers_;
  std::map<std::string, const OpSchema*> schemas_;
  const SymbolLookup by_display_name_ = [this](std::string_view name) {
    auto it = names_.find(std::string(name));
    return it == names_.end() ? context().find_symbol(name) : it->second;
  };
  DisplayNames names_;  // of the operation being read: axes and indirect symbols by their place in it
};

ValueId value_id(TextCursor& c, const Body& body) {
  std::string w = c.word();
  int id = -1;
  if (w.size() < 2 || w[0] != 'v' || std::from_chars(w.data() + 1, w.data() + w.size(), id).ptr != w.data() + w.size()) c.fail("a value");
  if (id < 0 || id >= static_cast<int>(body.instrs.size())) c.fail("a value defined above");
  return id;
}

void Parser::parse_body(Body& body) {
  while (auto line = lines_.next()) {
    TextCursor& c = *line;
    if (c.accept("}")) return;
    if (c.accept("yield")) {
      while (!c.at_end()) {
        body.yields.push_back(value_id(c, body));
        if (!c.at_end()) c.expect(",");
      }
      continue;
    }
    if (c.word() != fmt::format("v{}", body.instrs.size())) c.fail(fmt::format("v{}, the next value", body.instrs.size()));
    c.expect("=");
    Instr i = parse_instr(c, body);
    c.expect_end();
    body.instrs.push_back(std::move(i));
  }
  user_error("loop ir, line {}: the body has no end, expected }}", lines_.line());
}

Instr Parser::parse_instr(TextCursor& c, const Body& body) {
  Instr i;
  auto op = parse_op(c.word());
  if (!op) c.fail("an op of ops.def");
  i.op = *op;
  switch (i.op) {
    case Op::kConstant:
      i.number = number_of(c);
      c.expect(":");
      i.dtype = dtype(c);
      break;
    case Op::kIndexExpr:
      i.expr = expr(c);
      c.expect(":");
      i.dtype = dtype(c);
      break;
    case Op::kLoad:
      i.buffer = buffer(c);
      i.dtype = i.buffer->dtype;
      i.coordinates = expr_list(c);
      if (c.accept("if")) i.operands[0] = value_id(c, body);
      break;
    case Op::kIndirect: {
      i.operands[0] = value_id(c, body);
      i.dtype = body.instrs[i.operands[0]].result_dtype();
      c.expect("as");
      std::string name = c.word();
      c.expect("<");
      i.expr = context().indirect(name, expr(c));
      names_[name] = i.expr;
      break;
    }
    case Op::kCheckIndex: {
      i.operands[0] = value_id(c, body);
      i.dtype = body.instrs[i.operands[0]].result_dtype();
      c.expect("<");
      i.expr = expr(c);
      if (c.accept("if")) i.operands[1] = value_id(c, body);
      if (!c.at_end()) i.message = c.quoted();
      break;
    }
    case Op::kAssertTrue:
      i.operands[0] = value_id(c, body);
      i.dtype = DType::kBool;
      i.message = c.quoted();
      break;
    case Op::kRandomUint:
      i.dtype = DType::kUInt32;
      i.operands[0] = value_id(c, body);
      i.operands[1] = value_id(c, body);
      break;
    default: {
      for (int k = 0; k < op_operands(i.op); ++k) i.operands[k] = value_id(c, body);
      if (op_result(i.op) == OpResult::kExplicit) {
        c.expect(":");
        i.dtype = dtype(c);
      } else {
        i.dtype = body.instrs[i.operands[i.op == Op::kWhere ? 1 : 0]].result_dtype();
      }
    }
  }
  return i;
}

ExternTensor Parser::tensor(TextCursor& c) {
  ExternTensor t;
  t.buffer = buffer(c);
  t.dtype = t.buffer->dtype;
  if (c.accept("{")) {
    DisplayNames saved = names_;
    while (!c.accept("->")) {
      std::string name = c.word();
      c.expect("<");
      Expr extent = expr(c);
      Expr axis = context().axis(name, extent);
      names_[name] = axis;
      t.axes.push_back(axis);
      t.sizes.push_back(extent);
      c.accept(",");
    }
    t.coordinates = expr_list(c);
    c.expect("}");
    names_ = std::move(saved);
  } else {
    t = whole(context(), t.buffer);
  }
  if (c.accept("as")) t.dtype = dtype(c);
  if (c.accept("needs")) t.required_strides = expr_list(c);
  return t;
}

ExternArgument Parser::argument(TextCursor& c, int depth) {
  if (c.accept("%")) return tensor(c);
  if (c.accept("[")) {
    if (depth >= kMaxDepth) c.refuse(fmt::format("more than {} lists inside one another", kMaxDepth));
    ExternArgumentList list;
    while (!c.accept("]")) {
      list.push_back(argument(c, depth + 1));
      if (!c.peek("]")) c.expect(",");
    }
    return list;
  }
  return std::visit([](auto v) -> ExternArgument { return v; }, parse_scalar(context(), c, by_display_name_));
}

}  // namespace

std::unique_ptr<LoopProgram> parse_loop_program(std::string_view text) {
  auto program = Parser(text).parse();
  try {
    verify(*program);
  } catch (const InternalError& broken_rule) { user_error("the text is no valid program: {}", broken_rule.what()); }
  return program;
}

}  // namespace litz
