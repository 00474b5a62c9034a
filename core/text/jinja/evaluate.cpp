// Expressions.

#include <algorithm>

#include <fmt/format.h>

#include "core/text/jinja/formatting.h"
#include "core/text/jinja/run.h"

namespace sluice::jinja {

Result<Value> Run::eval(const Expr& expr, const ScopePtr& scope) {
  line_ = expr.line;
  TRY(step());
  switch (expr.node) {
    case Node::Const: return expr.constant;
    case Node::Name: return evalName(expr, scope);
    case Node::NamespaceRef: UNREACHABLE();  // a target only
    case Node::Tuple: return list(TRY(evalAll(expr.kids, scope)), Kind::Tuple);
    case Node::List: return list(TRY(evalAll(expr.kids, scope)));
    case Node::Dict: return evalDict(expr, scope);
    case Node::Conditional: {
      if (truthy(TRY(eval(*expr.kids[0], scope)))) return eval(*expr.kids[1], scope);
      if (expr.kids[2] != nullptr) return eval(*expr.kids[2], scope);
      return undefined(fmt::format("the inline if-expression on line {} evaluated to false and no else section was defined.", expr.line));
    }
    case Node::Or:
    case Node::And: {
      Value left = TRY(eval(*expr.kids[0], scope));
      return truthy(left) == (expr.node == Node::Or) ? left : eval(*expr.kids[1], scope);
    }
    case Node::Not: return Value::boolean(!truthy(TRY(eval(*expr.kids[0], scope))));
    case Node::Compare: return evalCompare(expr, scope);
    case Node::Binary: {
      const Value left = TRY(eval(*expr.kids[0], scope));
      const Value right = TRY(eval(*expr.kids[1], scope));
      line_ = expr.line;
      return binary(expr.op, left, right);
    }
    case Node::Concat: return evalConcat(expr, scope);
    case Node::Negative:
    case Node::Positive: return evalSign(expr, scope);
    case Node::Attribute: {
      const Value object = TRY(eval(*expr.kids[0], scope));
      line_ = expr.line;
      return getAttribute(object, expr.text);
    }
    case Node::Item: return evalItem(expr, scope);
    case Node::Slice: return fail("a slice may only stand in brackets of its own");
    case Node::Call: {
      const Value callee = TRY(eval(*expr.kids[0], scope));
      Arguments arguments = TRY(evalArguments(expr.arguments, scope));
      line_ = expr.line;
      return call(callee, arguments);
    }
    case Node::Filter: return evalFilter(expr, scope, nullptr);
    case Node::Test: return Value::boolean(TRY(evalTest(expr, scope)));
  }
  UNREACHABLE();
}

Result<Value> Run::evalName(const Expr& expr, const ScopePtr& scope) {
  const Value* value = scope->find(expr.name);
  return value != nullptr ? *value : undefined(fmt::format("'{}' is undefined", nameOf(expr.name)));
}

Result<std::vector<Value>> Run::evalAll(const std::vector<ExprPtr>& exprs, const ScopePtr& scope) {
  std::vector<Value> values;
  values.reserve(exprs.size());
  for (const ExprPtr& expr : exprs) values.push_back(TRY(eval(*expr, scope)));
  return values;
}

Result<Value> Run::evalDict(const Expr& expr, const ScopePtr& scope) {
  auto made = std::make_shared<DictObject>();
  for (std::size_t i = 0; i < expr.kids.size(); i += 2) {
    Value key = TRY(eval(*expr.kids[i], scope));
    Value value = TRY(eval(*expr.kids[i + 1], scope));
    TRY(step(weightOf(key)));
    if (!hashKey(key)) return fail(fmt::format("unhashable type: '{}'", typeName(key)));
    made->set(std::move(key), std::move(value));
  }
  return dict(std::move(made));
}

Result<Value> Run::evalCompare(const Expr& expr, const ScopePtr& scope) {
  Value left = TRY(eval(*expr.kids[0], scope));
  for (std::size_t i = 0; i < expr.compares.size(); ++i) {
    Value right = TRY(eval(*expr.kids[i + 1], scope));
    line_ = expr.line;
    if (!TRY(compare(expr.compares[i], left, right))) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Run::evalConcat(const Expr& expr, const ScopePtr& scope) {
  Text out;
  for (const ExprPtr& kid : expr.kids) {
    const Value value = TRY(eval(*kid, scope));
    line_ = expr.line;
    const Text part = TRY(str(value));
    TRY(ask(out.weight() * 2 + part.weight()));
    out.append(part);
  }
  return string(std::move(out));
}

Result<Value> Run::evalSign(const Expr& expr, const ScopePtr& scope) {
  const Value value = TRY(eval(*expr.kids[0], scope));
  line_ = expr.line;
  const bool negative = expr.node == Node::Negative;
  if (!value.isNumber()) return failType(negative ? "bad operand type for unary -" : "bad operand type for unary +", value);
  if (value.is(Kind::Float)) return Value::real(negative ? -value.asFloat() : value.asFloat(), value.client());
  return integerValue(negative ? bigOf(value).negated() : bigOf(value), value.client());
}

Result<Value> Run::evalItem(const Expr& expr, const ScopePtr& scope) {
  const Value object = TRY(eval(*expr.kids[0], scope));
  const Expr& key = *expr.kids[1];
  if (key.node != Node::Slice) {
    const Value index = TRY(eval(key, scope));
    line_ = expr.line;
    return getItem(object, index);
  }
  Value bounds[3];
  for (std::size_t i = 0; i < 3; ++i)
    if (key.kids[i] != nullptr) bounds[i] = TRY(eval(*key.kids[i], scope));
  line_ = expr.line;
  return slice(object, bounds[0], bounds[1], bounds[2]);
}

Result<Arguments> Run::evalArguments(const CallArguments& given, const ScopePtr& scope) {
  Arguments arguments;
  arguments.positional = TRY(evalAll(given.positional, scope));
  const auto name = [&](std::string key, Value value) -> Result<Done> {
    for (const auto& [known, unused] : arguments.named)
      if (known == key) return fail(fmt::format("got multiple values for keyword argument '{}'", key));
    TRY(step(1 + arguments.named.size() / 8));
    arguments.named.emplace_back(std::move(key), std::move(value));
    return Done{};
  };
  for (const auto& [key, expr] : given.named) TRY(name(key, TRY(eval(*expr, scope))));
  if (given.star != nullptr) {
    std::vector<Value> more = TRY(listOf(TRY(eval(*given.star, scope))));
    arguments.positional.insert(arguments.positional.end(), more.begin(), more.end());
  }
  if (given.double_star != nullptr) {
    const Value more = TRY(eval(*given.double_star, scope));
    if (!more.is(Kind::Dict)) return failType("argument after ** must be a mapping", more);
    for (const auto& [key, value] : more.as<DictObject>().items) {
      if (!key.isString()) return fail("keywords must be strings");
      TRY(name(key.text().bytes(), value));
    }
  }
  return arguments;
}

/// A filter, or a chain of them whose innermost input is a block's text.
Result<Value> Run::evalFilter(const Expr& expr, const ScopePtr& scope, const Value* block_input) {
  Value input;
  if (expr.kids[0] == nullptr) {
    input = *block_input;
  } else if (block_input != nullptr) {
    input = TRY(evalFilter(*expr.kids[0], scope, block_input));
  } else {
    input = TRY(eval(*expr.kids[0], scope));
  }
  Arguments arguments = TRY(evalArguments(expr.arguments, scope));
  line_ = expr.line;
  if (expr.filter == nullptr) return fail(fmt::format("No filter named '{}' found.", expr.text));
  return expr.filter->call(*this, input, arguments);
}

Result<bool> Run::evalTest(const Expr& expr, const ScopePtr& scope) {
  const Value input = TRY(eval(*expr.kids[0], scope));
  Arguments arguments = TRY(evalArguments(expr.arguments, scope));
  line_ = expr.line;
  if (expr.test == nullptr) return fail(fmt::format("No test named '{}' found.", expr.text));
  return expr.test->call(*this, input, arguments);
}

Result<Value> Run::applyFilter(std::string_view name, const Value& input, Arguments& arguments) {
  const FilterEntry* filter = findFilter(name);
  if (filter == nullptr) return fail(fmt::format("No filter named '{}'.", name));
  TRY(step());
  return filter->call(*this, input, arguments);
}

Result<bool> Run::applyTest(std::string_view name, const Value& input, Arguments& arguments) {
  const TestEntry* test = findTest(name);
  if (test == nullptr) return fail(fmt::format("No test named '{}'.", name));
  TRY(step());
  return test->call(*this, input, arguments);
}

Result<Value> Run::repeat(const Value& sequence, const Value& count) {
  const auto times = static_cast<std::uint64_t>(std::max<std::int64_t>(*indexOf(count), 0));
  const bool text = sequence.isString();
  const std::uint64_t size = text ? sequence.text().weight() : sequence.items().size() * sizeof(Value);
  if (size != 0 && times > limits_.live_bytes / size) TRY(ask(limits_.live_bytes + 1));
  TRY(ask(size * times));
  TRY(touch(size * times));
  if (text) {
    if (times > 0 && size > 0) TRY(step(times / 8));
    Text out;
    if (size > 0)
      for (std::uint64_t i = 0; i < times; ++i) out.append(sequence.text());
    return string(std::move(out), sequence.as<StringObject>().safe);
  }
  std::vector<Value> items;
  if (size > 0)
    for (std::uint64_t i = 0; i < times; ++i) items.insert(items.end(), sequence.items().begin(), sequence.items().end());
  return list(std::move(items), sequence.kind());
}

namespace {

/// Steps that an operation on integers of many limbs is worth.
std::uint64_t arithmeticCost(Operator op, const Value& a, const Value& b) {
  if (!a.isIntegral() || !b.isIntegral() || (op != Operator::Pow && !a.is(Kind::Big) && !b.is(Kind::Big))) return 1;
  const std::uint64_t bits_a = bigOf(a).bits(), bits_b = bigOf(b).bits();
  const std::uint64_t limbs_a = bits_a / 32 + 1, limbs_b = bits_b / 32 + 1;
  switch (op) {
    case Operator::Add:
    case Operator::Sub: return 1 + (limbs_a + limbs_b) / 8;
    case Operator::Mul: return 1 + limbs_a * limbs_b / 8;
    case Operator::Div:
    case Operator::FloorDiv:
    case Operator::Mod: return 1 + bits_a * limbs_b / 16;
    case Operator::Pow: {
      const std::uint64_t exponent = static_cast<std::uint64_t>(std::clamp<std::int64_t>(*indexOf(b), 0, 1 << 20));
      const std::uint64_t limbs = std::min<std::uint64_t>(bits_a * exponent, kIntegerBitsMax) / 32 + 1;
      return 20 + limbs * limbs / 4;
    }
  }
  UNREACHABLE();
}

}  // namespace

Result<Value> Run::binary(Operator op, const Value& a, const Value& b) {
  if (a.isNumber() && b.isNumber()) {
    std::string fault;
    TRY(step(arithmeticCost(op, a, b)));
    const auto result = arithmetic(op, a, b, fault);
    if (!result) return fail(fault);
    return *result;
  }
  if (op == Operator::Mod && a.isString()) return percentFormat(*this, a, b);
  for (const Value* v : {&a, &b})
    if (v->isUndefined()) return fail(v->as<UndefinedObject>().message);
  const auto is_sequence = [](const Value& v) { return v.isString() || v.is(Kind::List) || v.is(Kind::Tuple); };
  if (op == Operator::Mul) {
    if (is_sequence(a) && b.isIntegral()) return repeat(a, b);
    if (a.isIntegral() && is_sequence(b)) return repeat(b, a);
  }
  if (op == Operator::Add && a.kind() == b.kind() && is_sequence(a)) {
    if (a.isString()) {
      const bool safe = a.as<StringObject>().safe || b.as<StringObject>().safe;
      TRY(ask(2 * (a.text().weight() + b.text().weight())));
      Text out = safe ? TRY(escapedText(*this, a)) : a.text();
      out.append(safe ? TRY(escapedText(*this, b)) : b.text());
      return string(std::move(out), safe);
    }
    std::vector<Value> items = a.items();
    TRY(ask((items.size() + b.items().size()) * sizeof(Value)));
    items.insert(items.end(), b.items().begin(), b.items().end());
    return list(std::move(items), a.kind());
  }
  if (op == Operator::Add && is_sequence(a))
    return fail(fmt::format("can only concatenate {} (not \"{}\") to {}", typeName(a), typeName(b), typeName(a)));
  return fail(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", spelling(op), typeName(a), typeName(b)));
}

}  // namespace sluice::jinja
