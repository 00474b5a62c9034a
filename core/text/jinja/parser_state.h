#pragma once
// The parser's inside: expressions are in parser_expressions.cpp, statements in parser_statements.cpp.

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/text/jinja/ast.h"
#include "core/text/jinja/lexer.h"

namespace sluice::jinja {

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string_view name) : tokens_(std::move(tokens)), name_(name) {}
  Result<Program> run();

 private:
  // Nesting that the parser walks by calling itself. Templates in use stay under 20; the reference gives up near 70.
  static constexpr int kNestingMaxParser = 150;
  // Height of an expression's tree (a + b + c + ... grows by one a term), so that evaluating it is bounded too.
  static constexpr int kExpressionDepthMax = 400;

  struct Nested {
    explicit Nested(int& depth) : depth_(depth) { ++depth_; }
    ~Nested() { --depth_; }
    int& depth_;
  };
  /// A filter or test that nobody knows: an error unless it stands inside a condition, where only its use is one.
  struct Unknown {
    std::string what;
    int line;
    bool hard;
  };
  /// Which special names a macro's body mentions.
  struct Mentions {
    bool caller = false, kwargs = false, varargs = false, loop = false;
    bool is_loop = false;
  };

  // token stream
  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  void next() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool isOperator(std::string_view text) const { return current().kind == TokenKind::Operator && current().text == text; }
  bool isName(std::string_view text) const { return current().kind == TokenKind::Name && current().text == text; }
  bool skipOperator(std::string_view text);
  bool skipName(std::string_view text);
  Result<Done> expectOperator(std::string_view text);
  Result<Done> expectName(std::string_view text);
  Result<Done> expectTagEnd();
  Result<std::string> expectIdentifier();
  static std::string describe(const Token& token);
  Error fail(std::string_view what) const { return syntaxError(name_, current().line, what); }
  Error failAt(int line, std::string_view what) const { return syntaxError(name_, line, what); }
  NameId intern(const std::string& name);

  // expressions
  ExprPtr make(Node node, int line) const;
  Result<ExprPtr> sealed(ExprPtr expr) const;
  Result<ExprPtr> joined(Node node, int line, ExprPtr left, ExprPtr right) const;
  Result<ExprPtr> expression(bool with_condition = true);
  Result<ExprPtr> conditional();
  Result<ExprPtr> orExpression();
  Result<ExprPtr> andExpression();
  Result<ExprPtr> notExpression();
  Result<ExprPtr> compare();
  Result<ExprPtr> sum();
  Result<ExprPtr> concat();
  Result<ExprPtr> product();
  Result<ExprPtr> power();
  Result<ExprPtr> unary(bool with_filter = true);
  Result<ExprPtr> primary(bool with_namespace = false);
  Result<ExprPtr> nameOrConstant(bool with_namespace);
  Result<ExprPtr> number();
  struct TupleRules {
    bool simplified = false, with_condition = true, explicit_parentheses = false, with_namespace = false;
    std::string_view end_name = {};
  };
  Result<ExprPtr> tuple(TupleRules rules);
  bool isTupleEnd(std::string_view end_name) const;
  Result<ExprPtr> list();
  Result<ExprPtr> dict();
  Result<ExprPtr> postfix(ExprPtr expr);
  Result<ExprPtr> filtersAndTests(ExprPtr expr);
  Result<ExprPtr> subscript(ExprPtr expr);
  Result<ExprPtr> subscribed();
  Result<ExprPtr> call(ExprPtr expr);
  Result<CallArguments> callArguments();
  Result<ExprPtr> filter(ExprPtr input, bool start_inline);
  Result<ExprPtr> test(ExprPtr input);
  Result<std::string> dottedName();
  Result<ExprPtr> assignTarget(std::string_view end_name, bool with_namespace);
  Result<Done> checkTarget(const Expr& expr) const;

  // statements
  Result<Body> body(std::initializer_list<std::string_view> ends);
  Result<Body> block(std::initializer_list<std::string_view> ends);
  /// A body with names of its own: conditions around it do not soften unknown filters.
  Result<Body> scopedBlock(std::initializer_list<std::string_view> ends);
  Result<std::unique_ptr<Statement>> statement();
  Result<std::unique_ptr<Statement>> parseFor();
  Result<std::unique_ptr<Statement>> parseIf();
  Result<std::unique_ptr<Statement>> parseSet();
  Result<std::unique_ptr<Statement>> parseWith();
  Result<std::unique_ptr<Statement>> parseMacro();
  Result<std::unique_ptr<Statement>> parseCallBlock();
  Result<std::unique_ptr<Statement>> parseGeneration();
  Result<std::unique_ptr<Statement>> parseFilterBlock();
  Result<std::unique_ptr<Statement>> parseBlock();
  Result<std::unique_ptr<Statement>> parsePrint();
  Result<std::unique_ptr<Statement>> parseJump();
  Result<std::unique_ptr<Statement>> parseRefused();
  Result<Done> signature(Callable& callable);
  Result<Done> callableBody(Callable& callable, std::string_view end);
  std::unique_ptr<Statement> statementAt(Act act, int line) const;
  bool mentionsLoop(const Expr& expr) const;

  std::vector<Token> tokens_;
  std::string_view name_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int loops_ = 0;                     // loops around, inside the current macro
  std::vector<Mentions> mentions_;
  std::vector<Unknown> unknown_;
  std::vector<std::string> blocks_;   // names of {% block %}
  Program program_;
  std::unordered_map<std::string, NameId> ids_;
};

}  // namespace sluice::jinja
