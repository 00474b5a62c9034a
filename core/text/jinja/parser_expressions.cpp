#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/text/jinja/parser_state.h"
#include "core/text/jinja/registry.h"

namespace sluice::jinja {

bool Parser::skipOperator(std::string_view text) {
  if (!isOperator(text)) return false;
  next();
  return true;
}

bool Parser::skipName(std::string_view text) {
  if (!isName(text)) return false;
  next();
  return true;
}

std::string Parser::describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::Data: return "template data / text";
    case TokenKind::PrintBegin: return "begin of print statement";
    case TokenKind::PrintEnd: return "end of print statement";
    case TokenKind::TagBegin: return "begin of statement block";
    case TokenKind::TagEnd: return "end of statement block";
    case TokenKind::End: return "end of template";
    case TokenKind::String: return "string";
    case TokenKind::Integer: return "integer";
    case TokenKind::Float: return "float";
    case TokenKind::Name:
    case TokenKind::Operator: return token.text;
  }
  UNREACHABLE();
}

Result<Done> Parser::expectOperator(std::string_view text) {
  if (!skipOperator(text)) return fail(fmt::format("expected token '{}', got '{}'", text, describe(current())));
  return Done{};
}

Result<Done> Parser::expectName(std::string_view text) {
  if (!skipName(text)) return fail(fmt::format("expected token '{}', got '{}'", text, describe(current())));
  return Done{};
}

Result<std::string> Parser::expectIdentifier() {
  if (current().kind != TokenKind::Name) return fail(fmt::format("expected token 'name', got '{}'", describe(current())));
  std::string text = current().text;
  next();
  return text;
}

NameId Parser::intern(const std::string& name) {
  const auto [place, fresh] = ids_.emplace(name, static_cast<NameId>(program_.names.size()));
  if (fresh) program_.names.push_back(name);
  return place->second;
}

ExprPtr Parser::make(Node node, int line) const {
  auto expr = std::make_unique<Expr>();
  expr->node = node;
  expr->line = line;
  return expr;
}

/// Measures a finished node; refuses trees too high to walk.
Result<ExprPtr> Parser::sealed(ExprPtr expr) const {
  int depth = 0;
  const auto see = [&](const ExprPtr& kid) {
    if (kid != nullptr) depth = std::max(depth, kid->depth);
  };
  for (const auto& kid : expr->kids) see(kid);
  for (const auto& kid : expr->arguments.positional) see(kid);
  for (const auto& [name, kid] : expr->arguments.named) see(kid);
  see(expr->arguments.star);
  see(expr->arguments.double_star);
  expr->depth = depth + 1;
  if (expr->depth > kExpressionDepthMax)
    return failAt(expr->line, fmt::format("the expression is nested more than {} levels deep", kExpressionDepthMax));
  return expr;
}

Result<ExprPtr> Parser::joined(Node node, int line, ExprPtr left, ExprPtr right) const {
  ExprPtr expr = make(node, line);
  expr->kids.push_back(std::move(left));
  expr->kids.push_back(std::move(right));
  return sealed(std::move(expr));
}

Result<ExprPtr> Parser::expression(bool with_condition) {
  const Nested nested(depth_);
  if (depth_ > kNestingMaxParser) return fail(fmt::format("nested more than {} levels deep", kNestingMaxParser));
  return with_condition ? conditional() : orExpression();
}

Result<ExprPtr> Parser::conditional() {
  const int line = current().line;
  const std::size_t unknown_before = unknown_.size();
  ExprPtr then = TRY(orExpression());
  while (skipName("if")) {
    ExprPtr expr = make(Node::Conditional, line);
    ExprPtr test = TRY(orExpression());
    ExprPtr otherwise;
    if (skipName("else")) {
      const Nested nested(depth_);
      if (depth_ > kNestingMaxParser) return fail(fmt::format("nested more than {} levels deep", kNestingMaxParser));
      otherwise = TRY(conditional());
    }
    expr->kids.push_back(std::move(test));
    expr->kids.push_back(std::move(then));
    expr->kids.push_back(std::move(otherwise));
    then = TRY(sealed(std::move(expr)));
    unknown_.resize(unknown_before);  // only its use is an error there
  }
  return then;
}

Result<ExprPtr> Parser::orExpression() {
  const int line = current().line;
  ExprPtr left = TRY(andExpression());
  while (skipName("or")) {
    const bool decided = left->node == Node::Const && truthy(left->constant);
    const std::size_t unknown_before = unknown_.size();
    left = TRY(joined(Node::Or, line, std::move(left), TRY(andExpression())));
    if (decided) unknown_.resize(unknown_before);  // the reference folds such constants before it looks names up
  }
  return left;
}

Result<ExprPtr> Parser::andExpression() {
  const int line = current().line;
  ExprPtr left = TRY(notExpression());
  while (skipName("and")) {
    const bool decided = left->node == Node::Const && !truthy(left->constant);
    const std::size_t unknown_before = unknown_.size();
    left = TRY(joined(Node::And, line, std::move(left), TRY(notExpression())));
    if (decided) unknown_.resize(unknown_before);
  }
  return left;
}

Result<ExprPtr> Parser::notExpression() {
  const Nested nested(depth_);
  if (depth_ > kNestingMaxParser) return fail(fmt::format("nested more than {} levels deep", kNestingMaxParser));
  if (!isName("not")) return compare();
  ExprPtr expr = make(Node::Not, current().line);
  next();
  expr->kids.push_back(TRY(notExpression()));
  return sealed(std::move(expr));
}

Result<ExprPtr> Parser::compare() {
  ExprPtr expr = make(Node::Compare, current().line);
  expr->kids.push_back(TRY(sum()));
  static constexpr std::pair<std::string_view, Comparison> kOperators[] = {
      {"==", Comparison::Equal}, {"!=", Comparison::NotEqual},  {"<", Comparison::Less},
      {"<=", Comparison::LessEqual}, {">", Comparison::Greater}, {">=", Comparison::GreaterEqual}};
  for (;;) {
    const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators), [&](const auto& o) { return isOperator(o.first); });
    if (found != std::end(kOperators)) {
      next();
      expr->compares.push_back(found->second);
    } else if (skipName("in")) {
      expr->compares.push_back(Comparison::In);
    } else if (isName("not") && look().kind == TokenKind::Name && look().text == "in") {
      next();
      next();
      expr->compares.push_back(Comparison::NotIn);
    } else {
      break;
    }
    expr->kids.push_back(TRY(sum()));
  }
  if (expr->compares.empty()) return std::move(expr->kids.front());
  return sealed(std::move(expr));
}

Result<ExprPtr> Parser::sum() {
  const int line = current().line;
  ExprPtr left = TRY(concat());
  while (isOperator("+") || isOperator("-")) {
    const Operator op = isOperator("+") ? Operator::Add : Operator::Sub;
    next();
    left = TRY(joined(Node::Binary, line, std::move(left), TRY(concat())));
    left->op = op;
  }
  return left;
}

Result<ExprPtr> Parser::concat() {
  ExprPtr expr = make(Node::Concat, current().line);
  do expr->kids.push_back(TRY(product()));
  while (skipOperator("~"));
  if (expr->kids.size() == 1) return std::move(expr->kids.front());
  return sealed(std::move(expr));
}

Result<ExprPtr> Parser::product() {
  const int line = current().line;
  ExprPtr left = TRY(power());
  static constexpr std::pair<std::string_view, Operator> kOperators[] = {
      {"*", Operator::Mul}, {"/", Operator::Div}, {"//", Operator::FloorDiv}, {"%", Operator::Mod}};
  for (;;) {
    const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators), [&](const auto& o) { return isOperator(o.first); });
    if (found == std::end(kOperators)) return left;
    next();
    left = TRY(joined(Node::Binary, line, std::move(left), TRY(power())));
    left->op = found->second;
  }
}

Result<ExprPtr> Parser::power() {
  const int line = current().line;
  ExprPtr left = TRY(unary());
  while (skipOperator("**")) {
    left = TRY(joined(Node::Binary, line, std::move(left), TRY(unary())));
    left->op = Operator::Pow;
  }
  return left;
}

Result<ExprPtr> Parser::unary(bool with_filter) {
  const Nested nested(depth_);
  if (depth_ > kNestingMaxParser) return fail(fmt::format("nested more than {} levels deep", kNestingMaxParser));
  ExprPtr expr;
  if (isOperator("-") || isOperator("+")) {
    expr = make(isOperator("-") ? Node::Negative : Node::Positive, current().line);
    next();
    expr->kids.push_back(TRY(unary(false)));
    expr = TRY(sealed(std::move(expr)));
  } else {
    expr = TRY(primary());
  }
  expr = TRY(postfix(std::move(expr)));
  if (with_filter) return filtersAndTests(std::move(expr));
  return expr;
}

Result<ExprPtr> Parser::nameOrConstant(bool with_namespace) {
  const Token token = current();
  next();
  ExprPtr expr = make(Node::Const, token.line);
  if (token.text == "true" || token.text == "True" || token.text == "false" || token.text == "False") {
    expr->constant = Value::boolean(token.text == "true" || token.text == "True");
    return expr;
  }
  if (token.text == "none" || token.text == "None") return expr;
  expr->node = Node::Name;
  expr->name = intern(token.text);
  if (with_namespace && skipOperator(".")) {
    expr->node = Node::NamespaceRef;
    expr->text = TRY(expectIdentifier());
    return expr;
  }
  for (Mentions& m : mentions_) {
    m.caller = m.caller || token.text == "caller";
    m.kwargs = m.kwargs || token.text == "kwargs";
    m.varargs = m.varargs || token.text == "varargs";
    m.loop = m.loop || token.text == "loop";
  }
  return expr;
}

Result<ExprPtr> Parser::number() {
  const Token token = current();
  next();
  ExprPtr expr = make(Node::Const, token.line);
  if (token.kind == TokenKind::Float) {
    expr->constant = Value::real(readFloat(token.text).value_or(0.0));
    return expr;
  }
  const auto value = readInteger(token.text, 0);
  if (!value) return failAt(token.line, "the integer has more than 4300 digits");
  expr->constant = *value;
  return expr;
}

Result<ExprPtr> Parser::primary(bool with_namespace) {
  const int line = current().line;
  switch (current().kind) {
    case TokenKind::Name: return nameOrConstant(with_namespace);
    case TokenKind::Integer:
    case TokenKind::Float: return number();
    case TokenKind::String: {
      std::string text;
      for (; current().kind == TokenKind::String; next()) text += current().text;
      ExprPtr expr = make(Node::Const, line);
      expr->constant = literalString(Text(std::move(text), true));
      return expr;
    }
    case TokenKind::Operator: {
      if (skipOperator("(")) {
        ExprPtr expr = TRY(tuple({.explicit_parentheses = true}));
        TRY(expectOperator(")"));
        return expr;
      }
      if (isOperator("[")) return list();
      if (isOperator("{")) return dict();
      break;
    }
    case TokenKind::Data:
    case TokenKind::PrintBegin:
    case TokenKind::PrintEnd:
    case TokenKind::TagBegin:
    case TokenKind::TagEnd:
    case TokenKind::End: break;
  }
  return fail(fmt::format("unexpected '{}'", describe(current())));
}

bool Parser::isTupleEnd(std::string_view end_name) const {
  if (current().kind == TokenKind::PrintEnd || current().kind == TokenKind::TagEnd || isOperator(")")) return true;
  return !end_name.empty() && isName(end_name);
}

Result<ExprPtr> Parser::tuple(TupleRules rules) {
  ExprPtr expr = make(Node::Tuple, current().line);
  bool is_tuple = false;
  while (true) {
    if (!expr->kids.empty()) TRY(expectOperator(","));
    if (isTupleEnd(rules.end_name)) break;
    expr->kids.push_back(rules.simplified ? TRY(primary(rules.with_namespace)) : TRY(expression(rules.with_condition)));
    if (!isOperator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!expr->kids.empty()) return std::move(expr->kids.front());
    if (!rules.explicit_parentheses) return fail(fmt::format("Expected an expression, got '{}'", describe(current())));
  }
  return sealed(std::move(expr));
}

Result<ExprPtr> Parser::list() {
  ExprPtr expr = make(Node::List, current().line);
  TRY(expectOperator("["));
  while (!isOperator("]")) {
    if (!expr->kids.empty()) TRY(expectOperator(","));
    if (isOperator("]")) break;
    expr->kids.push_back(TRY(expression()));
  }
  TRY(expectOperator("]"));
  return sealed(std::move(expr));
}

Result<ExprPtr> Parser::dict() {
  ExprPtr expr = make(Node::Dict, current().line);
  TRY(expectOperator("{"));
  while (!isOperator("}")) {
    if (!expr->kids.empty()) TRY(expectOperator(","));
    if (isOperator("}")) break;
    expr->kids.push_back(TRY(expression()));
    TRY(expectOperator(":"));
    expr->kids.push_back(TRY(expression()));
  }
  TRY(expectOperator("}"));
  return sealed(std::move(expr));
}

Result<ExprPtr> Parser::postfix(ExprPtr expr) {
  for (;;) {
    if (isOperator(".") || isOperator("[")) {
      expr = TRY(subscript(std::move(expr)));
    } else if (isOperator("(")) {
      expr = TRY(call(std::move(expr)));
    } else {
      return expr;
    }
  }
}

Result<ExprPtr> Parser::filtersAndTests(ExprPtr expr) {
  for (;;) {
    if (isOperator("|")) {
      expr = TRY(filter(std::move(expr), false));
    } else if (isName("is")) {
      expr = TRY(test(std::move(expr)));
    } else if (isOperator("(")) {
      expr = TRY(call(std::move(expr)));
    } else {
      return expr;
    }
  }
}

Result<ExprPtr> Parser::subscript(ExprPtr expr) {
  const int line = current().line;
  if (skipOperator(".")) {
    const Token token = current();
    if (token.kind == TokenKind::Name) {
      next();
      ExprPtr attribute = make(Node::Attribute, line);
      attribute->text = token.text;
      attribute->kids.push_back(std::move(expr));
      return sealed(std::move(attribute));
    }
    if (token.kind != TokenKind::Integer) return fail("expected name or number");
    return joined(Node::Item, line, std::move(expr), TRY(number()));
  }
  TRY(expectOperator("["));
  ExprPtr key = make(Node::Tuple, line);
  while (!isOperator("]")) {
    if (!key->kids.empty()) TRY(expectOperator(","));
    key->kids.push_back(TRY(subscribed()));
  }
  TRY(expectOperator("]"));
  if (key->kids.size() == 1) {
    ExprPtr only = std::move(key->kids.front());
    key = std::move(only);
  } else {
    key = TRY(sealed(std::move(key)));
  }
  return joined(Node::Item, line, std::move(expr), std::move(key));
}

Result<ExprPtr> Parser::subscribed() {
  const int line = current().line;
  ExprPtr start;
  if (!isOperator(":")) {
    start = TRY(expression());
    if (!isOperator(":")) return start;
  }
  ExprPtr slice = make(Node::Slice, line);
  slice->kids.push_back(std::move(start));
  for (int part = 0; part < 2; ++part) {
    ExprPtr bound;
    if (skipOperator(":") && !isOperator(":") && !isOperator("]") && !isOperator(",")) bound = TRY(expression());
    slice->kids.push_back(std::move(bound));
  }
  return sealed(std::move(slice));
}

Result<ExprPtr> Parser::call(ExprPtr expr) {
  ExprPtr node = make(Node::Call, current().line);
  node->arguments = TRY(callArguments());
  node->kids.push_back(std::move(expr));
  return sealed(std::move(node));
}

Result<CallArguments> Parser::callArguments() {
  CallArguments arguments;
  const int line = current().line;
  const auto misplaced = [&] { return failAt(line, "invalid syntax for function call expression"); };
  TRY(expectOperator("("));
  for (bool first = true; !isOperator(")"); first = false) {
    if (!first) {
      TRY(expectOperator(","));
      if (isOperator(")")) break;
    }
    if (skipOperator("*")) {
      if (arguments.star != nullptr || arguments.double_star != nullptr) return misplaced();
      arguments.star = TRY(expression());
    } else if (skipOperator("**")) {
      if (arguments.double_star != nullptr) return misplaced();
      arguments.double_star = TRY(expression());
    } else if (current().kind == TokenKind::Name && look().kind == TokenKind::Operator && look().text == "=") {
      if (arguments.double_star != nullptr) return misplaced();
      std::string key = current().text;
      next();
      next();
      for (const auto& [name, value] : arguments.named)
        if (name == key) return fail(fmt::format("keyword argument repeated: {}", key));
      arguments.named.emplace_back(std::move(key), TRY(expression()));
    } else {
      if (arguments.star != nullptr || arguments.double_star != nullptr || !arguments.named.empty()) return misplaced();
      arguments.positional.push_back(TRY(expression()));
    }
  }
  TRY(expectOperator(")"));
  return arguments;
}

Result<std::string> Parser::dottedName() {
  std::string name = TRY(expectIdentifier());
  while (skipOperator(".")) name += "." + TRY(expectIdentifier());
  return name;
}

/// One or more filters on `input`, which is none for the filters of a block.
Result<ExprPtr> Parser::filter(ExprPtr input, bool start_inline) {
  while (start_inline || isOperator("|")) {
    if (!start_inline) next();
    start_inline = false;
    ExprPtr expr = make(Node::Filter, current().line);
    expr->text = TRY(dottedName());
    expr->filter = findFilter(expr->text);
    if (expr->filter == nullptr) {
      const bool elsewhere = isKnownUnsupportedFilter(expr->text);
      unknown_.push_back({elsewhere ? fmt::format("the filter '{}' of Jinja2 is not supported here", expr->text) : fmt::format("No filter named '{}'.", expr->text),
                          expr->line, false});
    }
    if (isOperator("(")) expr->arguments = TRY(callArguments());
    expr->kids.push_back(std::move(input));
    input = TRY(sealed(std::move(expr)));
  }
  return input;
}

Result<ExprPtr> Parser::test(ExprPtr input) {
  ExprPtr expr = make(Node::Test, current().line);
  next();
  const bool negated = skipName("not");
  expr->text = TRY(dottedName());
  expr->test = findTest(expr->text);
  if (expr->test == nullptr) unknown_.push_back({fmt::format("No test named '{}'.", expr->text), expr->line, false});
  const Token& token = current();
  const bool literal = token.kind == TokenKind::String || token.kind == TokenKind::Integer || token.kind == TokenKind::Float || isOperator("[") || isOperator("{");
  if (isOperator("(")) {
    expr->arguments = TRY(callArguments());
  } else if (literal || (token.kind == TokenKind::Name && !isName("else") && !isName("or") && !isName("and"))) {
    if (isName("is")) return fail("You cannot chain multiple tests with is");
    ExprPtr argument = TRY(primary());
    expr->arguments.positional.push_back(TRY(postfix(std::move(argument))));
  }
  expr->kids.push_back(std::move(input));
  ExprPtr result = TRY(sealed(std::move(expr)));
  if (!negated) return result;
  ExprPtr inverse = make(Node::Not, result->line);
  inverse->kids.push_back(std::move(result));
  return sealed(std::move(inverse));
}

Result<ExprPtr> Parser::assignTarget(std::string_view end_name, bool with_namespace) {
  ExprPtr target = TRY(tuple({.simplified = true, .with_namespace = with_namespace, .end_name = end_name}));
  TRY(checkTarget(*target));
  return target;
}

Result<Done> Parser::checkTarget(const Expr& expr) const {
  if (expr.node == Node::Name || expr.node == Node::NamespaceRef) return Done{};
  if (expr.node != Node::Tuple) return failAt(expr.line, "can't assign to this expression");
  for (const ExprPtr& kid : expr.kids) TRY(checkTarget(*kid));
  return Done{};
}

}  // namespace sluice::jinja
