#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/jinja/parser.h"
#include "core/text/jinja/parser_state.h"

namespace sluice::jinja {

Result<Program> parseTemplate(std::string_view source, std::string_view name) {
  return Parser(TRY(tokenize(source, name)), name).run();
}

Result<Program> Parser::run() {
  program_.body = TRY(body({}));
  if (!unknown_.empty()) {
    const Unknown& first = unknown_.front();
    Error error = failAt(first.line, first.what);
    if (first.what.find("not supported here") != std::string::npos) error.code = Errc::Unsupported;
    return error;
  }
  return std::move(program_);
}

std::unique_ptr<Statement> Parser::statementAt(Act act, int line) const {
  auto statement = std::make_unique<Statement>();
  statement->act = act;
  statement->line = line;
  return statement;
}

Result<Done> Parser::expectTagEnd() {
  if (current().kind != TokenKind::TagEnd) return fail(fmt::format("expected token 'end of statement block', got '{}'", describe(current())));
  next();
  return Done{};
}

/// Statements up to a tag named in `ends`, which stays current; to the end of the template when there is none.
Result<Body> Parser::body(std::initializer_list<std::string_view> ends) {
  const Nested nested(depth_);
  if (depth_ > kNestingMaxParser) return fail(fmt::format("nested more than {} levels deep", kNestingMaxParser));
  Body result;
  while (current().kind != TokenKind::End) {
    const Token token = current();
    next();
    if (token.kind == TokenKind::Data) {
      auto text = statementAt(Act::Text, token.line);
      text->text = literalString(Text(token.text, true));
      result.push_back(std::move(text));
    } else if (token.kind == TokenKind::PrintBegin) {
      auto print = statementAt(Act::Print, token.line);
      print->value = TRY(tuple({}));
      if (current().kind != TokenKind::PrintEnd) return fail(fmt::format("expected token 'end of print statement', got '{}'", describe(current())));
      next();
      result.push_back(std::move(print));
    } else {
      if (current().kind == TokenKind::Name && std::find(ends.begin(), ends.end(), current().text) != ends.end()) return result;
      result.push_back(TRY(statement()));
      TRY(expectTagEnd());
    }
  }
  if (ends.size() > 0) return fail(fmt::format("unexpected end of template; looked for {}", fmt::join(ends, " or ")));
  return result;
}

Result<Body> Parser::block(std::initializer_list<std::string_view> ends) {
  skipOperator(":");
  TRY(expectTagEnd());
  return body(ends);
}

Result<Body> Parser::scopedBlock(std::initializer_list<std::string_view> ends) {
  const std::size_t before = unknown_.size();
  Body result = TRY(block(ends));
  for (std::size_t i = before; i < unknown_.size(); ++i) unknown_[i].hard = true;
  return result;
}

Result<std::unique_ptr<Statement>> Parser::statement() {
  if (current().kind != TokenKind::Name) return fail("tag name expected");
  const std::string& tag = current().text;
  if (tag == "for") return parseFor();
  if (tag == "if") return parseIf();
  if (tag == "set") return parseSet();
  if (tag == "with") return parseWith();
  if (tag == "macro") return parseMacro();
  if (tag == "call") return parseCallBlock();
  if (tag == "generation") return parseGeneration();
  if (tag == "filter") return parseFilterBlock();
  if (tag == "block") return parseBlock();
  if (tag == "print") return parsePrint();
  if (tag == "break" || tag == "continue") return parseJump();
  static constexpr std::string_view kRefused[] = {"include", "import", "from", "extends", "autoescape"};
  if (std::find(std::begin(kRefused), std::end(kRefused), tag) != std::end(kRefused)) return parseRefused();
  return fail(fmt::format("Encountered unknown tag '{}'.", tag));
}

bool Parser::mentionsLoop(const Expr& expr) const {
  if (expr.node == Node::Name) return program_.names[static_cast<std::size_t>(expr.name)] == "loop";
  return expr.node == Node::Tuple && std::any_of(expr.kids.begin(), expr.kids.end(), [&](const ExprPtr& kid) { return mentionsLoop(*kid); });
}

Result<std::unique_ptr<Statement>> Parser::parseFor() {
  auto loop = statementAt(Act::For, current().line);
  next();
  loop->target = TRY(assignTarget("in", false));
  if (mentionsLoop(*loop->target)) return failAt(loop->line, "Can't assign to special loop variable in for-loop target");
  TRY(expectName("in"));
  loop->value = TRY(tuple({.with_condition = false, .end_name = "recursive"}));
  if (skipName("if")) loop->condition = TRY(expression());
  loop->recursive = skipName("recursive");
  loop->name = intern("loop");
  mentions_.push_back({});
  ++loops_;
  loop->body = TRY(scopedBlock({"endfor", "else"}));
  --loops_;
  loop->wants_loop = mentions_.back().loop || loop->recursive;
  mentions_.pop_back();
  const bool has_else = isName("else");
  next();
  if (has_else) {
    loop->otherwise = TRY(scopedBlock({"endfor"}));
    next();
  }
  return loop;
}

Result<std::unique_ptr<Statement>> Parser::parseIf() {
  auto choice = statementAt(Act::If, current().line);
  const std::size_t unknown_before = unknown_.size();
  for (bool more = true; more;) {
    next();
    Branch branch;
    branch.test = TRY(tuple({.with_condition = false}));
    branch.body = TRY(block({"elif", "else", "endif"}));
    choice->branches.push_back(std::move(branch));
    more = isName("elif");
  }
  if (skipName("else")) {
    Branch branch;
    branch.body = TRY(block({"endif"}));
    choice->branches.push_back(std::move(branch));
  }
  next();
  const auto soft = [](const Unknown& u) { return !u.hard; };
  unknown_.erase(std::remove_if(unknown_.begin() + static_cast<std::ptrdiff_t>(unknown_before), unknown_.end(), soft), unknown_.end());
  return choice;
}

Result<std::unique_ptr<Statement>> Parser::parseSet() {
  auto set = statementAt(Act::Set, current().line);
  next();
  set->target = TRY(assignTarget("", true));
  if (loops_ > 0 && mentionsLoop(*set->target)) return failAt(set->line, "Can't assign to special loop variable in for-loop target");
  if (skipOperator("=")) {
    set->value = TRY(tuple({}));
    return set;
  }
  set->act = Act::SetBlock;
  set->value = TRY(filter(nullptr, false));
  set->body = TRY(scopedBlock({"endset"}));
  next();
  return set;
}

Result<std::unique_ptr<Statement>> Parser::parseWith() {
  auto with = statementAt(Act::With, current().line);
  next();
  while (current().kind != TokenKind::TagEnd) {
    if (!with->bindings.empty()) TRY(expectOperator(","));
    ExprPtr target = TRY(assignTarget("", false));
    TRY(expectOperator("="));
    ExprPtr value = TRY(expression());
    with->bindings.emplace_back(std::move(target), std::move(value));
  }
  with->body = TRY(scopedBlock({"endwith"}));
  next();
  return with;
}

Result<Done> Parser::signature(Callable& callable) {
  TRY(expectOperator("("));
  while (!isOperator(")")) {
    if (!callable.parameters.empty()) TRY(expectOperator(","));
    std::string name = TRY(expectIdentifier());
    if (std::find(callable.parameter_names.begin(), callable.parameter_names.end(), name) != callable.parameter_names.end())
      return fail(fmt::format("duplicate argument '{}' in a macro's signature", name));
    callable.parameters.push_back(intern(name));
    callable.parameter_names.push_back(std::move(name));
    if (skipOperator("=")) {
      callable.defaults.push_back(TRY(expression()));
    } else if (!callable.defaults.empty()) {
      return fail("non-default argument follows default argument");
    }
  }
  return expectOperator(")");
}

/// The body of a macro, with what it mentions; the closing tag's name is taken too.
Result<Done> Parser::callableBody(Callable& callable, std::string_view end) {
  mentions_.push_back({});
  const int loops_around = std::exchange(loops_, 0);
  callable.body = TRY(scopedBlock({end}));
  loops_ = loops_around;
  next();
  const Mentions seen = mentions_.back();
  mentions_.pop_back();
  const auto declares = [&](std::string_view name) {
    return std::find(callable.parameter_names.begin(), callable.parameter_names.end(), name) != callable.parameter_names.end();
  };
  if (seen.caller && declares("caller")) {
    const auto place = std::find(callable.parameter_names.begin(), callable.parameter_names.end(), "caller") - callable.parameter_names.begin();
    if (static_cast<std::size_t>(place) + callable.defaults.size() < callable.parameters.size())
      return fail("when defining macros or call blocks the special 'caller' argument must be omitted or be given a default");
  }
  callable.wants_caller = seen.caller && !declares("caller");
  callable.wants_kwargs = seen.kwargs && !declares("kwargs");
  callable.wants_varargs = seen.varargs && !declares("varargs");
  callable.caller_name = intern("caller");
  callable.kwargs_name = intern("kwargs");
  callable.varargs_name = intern("varargs");
  return Done{};
}

Result<std::unique_ptr<Statement>> Parser::parseMacro() {
  auto macro = statementAt(Act::Macro, current().line);
  next();
  macro->callable.name = TRY(expectIdentifier());
  macro->name = intern(macro->callable.name);
  TRY(signature(macro->callable));
  TRY(callableBody(macro->callable, "endmacro"));
  return macro;
}

Result<std::unique_ptr<Statement>> Parser::parseCallBlock() {
  auto block_call = statementAt(Act::CallBlock, current().line);
  next();
  if (isOperator("(")) TRY(signature(block_call->callable));
  block_call->value = TRY(expression());
  if (block_call->value->node != Node::Call) return failAt(block_call->line, "expected call");
  TRY(callableBody(block_call->callable, "endcall"));
  return block_call;
}

Result<std::unique_ptr<Statement>> Parser::parseGeneration() {
  auto generation = statementAt(Act::Generation, current().line);
  next();
  TRY(callableBody(generation->callable, "endgeneration"));
  return generation;
}

Result<std::unique_ptr<Statement>> Parser::parseFilterBlock() {
  auto block_filter = statementAt(Act::FilterBlock, current().line);
  next();
  block_filter->value = TRY(filter(nullptr, true));
  block_filter->body = TRY(scopedBlock({"endfilter"}));
  next();
  return block_filter;
}

/// {% block %}: there is no inheritance here, so it stands for its body.
Result<std::unique_ptr<Statement>> Parser::parseBlock() {
  auto scope = statementAt(Act::Scope, current().line);
  next();
  const std::string name = TRY(expectIdentifier());
  if (std::find(blocks_.begin(), blocks_.end(), name) != blocks_.end()) return fail(fmt::format("block '{}' defined twice", name));
  blocks_.push_back(name);
  scope->recursive = skipName("scoped");
  if (skipName("required")) return fail(fmt::format("required block '{}' has nobody who could fill it", name));
  const int loops_around = std::exchange(loops_, 0);
  scope->body = TRY(scopedBlock({"endblock"}));
  loops_ = loops_around;
  next();
  skipName(name);
  return scope;
}

Result<std::unique_ptr<Statement>> Parser::parsePrint() {
  auto scope = statementAt(Act::If, current().line);  // {% print a, b %}: the printed values, one after the other
  next();
  Branch branch;
  while (current().kind != TokenKind::TagEnd) {
    if (!branch.body.empty()) TRY(expectOperator(","));
    auto print = statementAt(Act::Print, current().line);
    print->value = TRY(expression());
    branch.body.push_back(std::move(print));
  }
  scope->branches.push_back(std::move(branch));
  return scope;
}

Result<std::unique_ptr<Statement>> Parser::parseJump() {
  auto jump = statementAt(isName("break") ? Act::Break : Act::Continue, current().line);
  if (loops_ == 0) return fail(fmt::format("'{}' outside loop", current().text));
  next();
  return jump;
}

/// Tags that need other templates, or escaping: known, and an error where they are reached.
Result<std::unique_ptr<Statement>> Parser::parseRefused() {
  auto refused = statementAt(Act::Refuse, current().line);
  const std::string tag = current().text;
  refused->text = literalString(Text(fmt::format("'{}' is not supported: a chat template stands alone", tag), true));
  while (current().kind != TokenKind::TagEnd && current().kind != TokenKind::End) next();
  if (tag != "autoescape") return refused;
  TRY(scopedBlock({"endautoescape"}));
  next();
  return refused;
}

}  // namespace sluice::jinja
