// Statements.

#include <fmt/format.h>

#include "core/text/jinja/run.h"

namespace sluice::jinja {

Result<Done> Run::emit(const Text& text) {
  TRY(touch(text.size()));
  if (out_->size() + text.size() > limits_.output_bytes)
    return fail(fmt::format("the template prints more than {} MiB", limits_.output_bytes >> 20));
  TRY(ask(2 * text.size()));
  ledger_.live += 2 * text.size();  // marks included
  out_->append(text);
  return Done{};
}

Result<Run::Flow> Run::capture(const Body& body, const ScopePtr& scope, Text& out) {
  Text* const before = std::exchange(out_, &out);
  Result<Flow> flow = exec(body, scope);
  out_ = before;
  ledger_.live -= 2 * out.size();
  return flow;
}

Result<Run::Flow> Run::exec(const Body& body, const ScopePtr& scope) {
  TRY(checkStack());
  for (const auto& statement : body) {
    const Flow flow = TRY(exec(*statement, scope));
    if (flow != Flow::Normal) return flow;
  }
  return Flow::Normal;
}

Result<Run::Flow> Run::exec(const Statement& statement, const ScopePtr& scope) {
  line_ = statement.line;
  TRY(step());
  switch (statement.act) {
    case Act::Text: TRY(emit(statement.text.text())); return Flow::Normal;
    case Act::Print: {
      const Value value = TRY(eval(*statement.value, scope));
      line_ = statement.line;
      if (value.isString()) {
        TRY(emit(value.text()));
      } else {
        TRY(emit(TRY(str(value))));
      }
      return Flow::Normal;
    }
    case Act::If:
      for (const Branch& branch : statement.branches)
        if (branch.test == nullptr || truthy(TRY(eval(*branch.test, scope)))) return exec(branch.body, scope);
      return Flow::Normal;
    case Act::For: {
      const Value iterable = TRY(eval(*statement.value, scope));
      line_ = statement.line;
      // A jump out of the else branch belongs to the loop around: execFor hands it back.
      TRY(execFor(statement, scope, iterable, 0));
      return std::exchange(pending_, Flow::Normal);
    }
    case Act::Set: TRY(assign(*statement.target, TRY(eval(*statement.value, scope)), *scope)); return Flow::Normal;
    case Act::SetBlock: return execSetBlock(statement, scope);
    case Act::Macro: scope->set(statement.name, TRY(makeMacro(statement.callable, scope))); return Flow::Normal;
    case Act::CallBlock: TRY(execCallBlock(statement, scope)); return Flow::Normal;
    case Act::Generation: {
      Arguments none;
      const Value macro = TRY(makeMacro(statement.callable, scope));
      TRY(emit(TRY(call(macro, none)).text()));
      return Flow::Normal;
    }
    case Act::FilterBlock: return execFilterBlock(statement, scope);
    case Act::With: return execWith(statement, scope);
    case Act::Scope: return execScope(statement, scope);
    case Act::Break: return Flow::Break;
    case Act::Continue: return Flow::Continue;
    case Act::Refuse: return fail(statement.text.text().view());
  }
  UNREACHABLE();
}

Result<Done> Run::assign(const Expr& target, Value value, Scope& scope) {
  if (target.node == Node::Name) {
    scope.set(target.name, std::move(value));
    return Done{};
  }
  if (target.node == Node::NamespaceRef) {
    const Value* space = scope.find(target.name);
    if (space == nullptr || !space->is(Kind::Namespace)) return fail("cannot assign attribute on non-namespace object");
    if (target.text[0] == '_') return fail("a namespace cannot hold names that begin with an underscore");
    auto& attributes = space->as<NamespaceObject>().attributes;
    for (auto& [name, slot] : attributes) {
      if (name != target.text) continue;
      slot = std::move(value);
      return Done{};
    }
    attributes.emplace_back(target.text, std::move(value));
    return Done{};
  }
  const std::size_t wanted = target.kids.size();
  auto next = TRY(iterate(value));
  std::vector<Value> parts;
  Value part;
  while (parts.size() <= wanted && TRY(next(part))) parts.push_back(part);
  if (parts.size() > wanted) return fail(fmt::format("too many values to unpack (expected {})", wanted));
  if (parts.size() < wanted) return fail(fmt::format("not enough values to unpack (expected {}, got {})", wanted, parts.size()));
  for (std::size_t i = 0; i < wanted; ++i) TRY(assign(*target.kids[i], std::move(parts[i]), scope));
  return Done{};
}

Result<std::function<Result<bool>(Value&)>> Run::filtered(const Statement& loop, const ScopePtr& scope, std::function<Result<bool>(Value&)> source) {
  return std::function<Result<bool>(Value&)>([this, &loop, scope, source = std::move(source)](Value& out) mutable -> Result<bool> {
    for (;;) {
      if (!TRY(source(out))) return false;
      const auto inner = std::make_shared<Scope>(scope);
      TRY(assign(*loop.target, out, *inner));
      if (truthy(TRY(eval(*loop.condition, inner)))) return true;
    }
  });
}

Result<bool> loopNext(Run&, LoopObject& loop, Value& out) {
  Value item;
  if (loop.ahead_from < loop.ahead.size()) {
    item = std::move(loop.ahead[loop.ahead_from++]);
  } else {
    if (!TRY(loop.source(item))) return false;
  }
  loop.index0 += 1;
  loop.before = std::exchange(loop.current, item);
  out = std::move(item);
  return true;
}

Result<Done> Run::execFor(const Statement& loop, const ScopePtr& scope, const Value& iterable, std::int64_t depth0) {
  auto source = TRY(iterate(iterable));
  if (loop.condition != nullptr) source = TRY(filtered(loop, scope, std::move(source)));
  LoopObject* context = nullptr;
  if (loop.wants_loop) {
    context = &own(std::make_unique<LoopObject>());
    TRY(ask(0));
    context->iterable = iterable;
    context->source = std::move(source);
    context->depth0 = depth0;
    context->statement = loop.recursive ? &loop : nullptr;
    context->scope = scope;
    const bool sized = loop.condition == nullptr && !iterable.is(Kind::Iterator) && !iterable.is(Kind::Undefined);
    if (sized) context->length = TRY(length(iterable));
  }
  ScopePtr inner = std::make_shared<Scope>(scope);
  bool finished_one = false;  // as the reference counts: a body that ends in `continue` or `break` does not keep `else` away
  Value item;
  for (;;) {
    const bool more = context != nullptr ? TRY(loopNext(*this, *context, item)) : TRY(source(item));
    if (!more) break;
    if (inner.use_count() > 1) {
      inner = std::make_shared<Scope>(scope);  // a macro of the last round holds the old one
    } else {
      inner->variables.clear();
    }
    if (context != nullptr) inner->set(loop.name, Value(Kind::Loop, context));
    TRY(assign(*loop.target, std::move(item), *inner));
    const Flow flow = TRY(exec(loop.body, inner));
    if (flow == Flow::Normal) finished_one = true;
    if (flow == Flow::Break) break;
    line_ = loop.line;
    TRY(step());
  }
  if (!finished_one && !loop.otherwise.empty()) pending_ = TRY(exec(loop.otherwise, std::make_shared<Scope>(scope)));
  return Done{};
}

Result<Run::Flow> Run::execSetBlock(const Statement& block, const ScopePtr& scope) {
  Text text;
  const Flow flow = TRY(capture(block.body, std::make_shared<Scope>(scope), text));
  if (flow != Flow::Normal) return flow;  // what was written is lost, as in the reference
  Value value = TRY(string(std::move(text)));
  if (block.value != nullptr) value = TRY(evalFilter(*block.value, scope, &value));
  TRY(assign(*block.target, std::move(value), *scope));
  return Flow::Normal;
}

Result<Run::Flow> Run::execFilterBlock(const Statement& block, const ScopePtr& scope) {
  Text text;
  const ScopePtr inner = std::make_shared<Scope>(scope);
  const Flow flow = TRY(capture(block.body, inner, text));
  if (flow != Flow::Normal) return flow;
  const Value input = TRY(string(std::move(text)));
  const Value value = TRY(evalFilter(*block.value, inner, &input));
  TRY(emit(TRY(str(value))));
  return Flow::Normal;
}

Result<Done> Run::execCallBlock(const Statement& block, const ScopePtr& scope) {
  const Value caller = TRY(makeMacro(block.callable, scope));
  const Expr& expr = *block.value;
  const Value callee = TRY(eval(*expr.kids[0], scope));
  Arguments arguments = TRY(evalArguments(expr.arguments, scope));
  line_ = block.line;
  arguments.named.emplace_back("caller", caller);
  const Value value = TRY(call(callee, arguments));
  return emit(TRY(str(value)));
}

Result<Run::Flow> Run::execWith(const Statement& with, const ScopePtr& scope) {
  const ScopePtr inner = std::make_shared<Scope>(scope);
  for (const auto& [target, value] : with.bindings) TRY(assign(*target, TRY(eval(*value, scope)), *inner));
  return exec(with.body, inner);
}

/// {% block %}: sees the template's own variables; those of loops around it only when it is `scoped`.
Result<Run::Flow> Run::execScope(const Statement& block, const ScopePtr& scope) {
  ScopePtr outer = scope;
  if (!block.recursive)
    while (outer->parent != root_ && outer->parent != nullptr) outer = outer->parent;
  TRY(exec(block.body, std::make_shared<Scope>(outer)));
  return Flow::Normal;
}

Result<Value> Run::makeMacro(const Callable& callable, const ScopePtr& scope) {
  MacroObject& macro = own(std::make_unique<MacroObject>());
  TRY(ask(0));
  macro.callable = &callable;
  macro.scope = scope;
  return Value(Kind::Macro, &macro);
}

}  // namespace sluice::jinja
