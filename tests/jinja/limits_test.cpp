// Goal:   a hostile template costs an error in bounded time and memory, never a crash, a hang or the machine's memory.
// Method: each way to ask for too much that we could think of, with the limit that must stop it; deep nesting in source and in values.

#include <chrono>
#include <thread>

#include "tests/jinja/template_rows.h"

namespace sluice {
namespace {

/// The error's text; fails when the template prints instead, or takes more than a minute (seconds, on a machine that does nothing else).
std::string stopped(const std::string& source) {
  const auto start = std::chrono::steady_clock::now();
  const std::string text = rendered(source);
  EXPECT_TRUE(isError(text)) << source.substr(0, 200) << " printed " << text.size() << " bytes";
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60)) << source.substr(0, 200);
  return text;
}

std::string repeated(const std::string& part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += part;
  return text;
}

TEST(TemplateLimits, StopLoopsAndLargeValues) {
  for (const char* source : {
           "{{ 'x' * 10 ** 9 }}",
           "{{ [0] * 10 ** 9 }}",
           "{{ ('x' * 10 ** 7) * 100 }}",
           "{% for i in range(10 ** 9) %}x{% endfor %}",
           "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
           "{% for i in range(99999) %}{% for j in range(99999) %}{{ i }}{% endfor %}{% endfor %}",
           "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
           "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
           "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(99) %}{% set ns.s = ns.s | replace('x', 'xxxx') %}{% endfor %}",
           "{% set x = 'abcdefgh' * 1000000 %}{% for i in range(9999) %}{{ x }}{% endfor %}",
           "{% set x = 'abcdefgh' * 100000 %}{% for i in range(99999) %}{% if x == x ~ '' %}{% endif %}{% endfor %}",
           "{% set x = 'a' * 3000000 %}{% for i in range(9999) %}{% if 'aaab' in x %}{% endif %}{% endfor %}",
           "{% set x = 'a' * 1000000 %}{{ x.rfind('b' ~ 'a' * 500000) }}{% for i in range(99999) %}{{ x.count('aab') }}{% endfor %}",
           "{{ '%1000000000d' % 1 }}",
           "{{ '%.1000000000f' % 1 }}",
           "{{ '{:>1000000000}'.format(1) }}",
           "{{ 'x' | center(10 ** 10) }}",
           "{{ 'x'.ljust(10 ** 12) }}",
           "{{ 'x\ny' | indent(10 ** 10) }}",
           "{{ [[]] | tojson(indent=10 ** 10) }}",
           "{{ [1] | batch(10 ** 10, 0) | list }}",
           "{{ 'a\tb'.expandtabs(10 ** 10) }}",
           "{{ 10 ** (10 ** 10) }}",
           "{{ 7 ** 99999 }}",
           "{% set ns = namespace(n=10 ** 4000) %}{{ ns.n * ns.n }}",
           "{{ range(99999) | list | map('string') | join('x' * 10000) }}",
           "{{ ('x,' * 9999999).split(',') | map('upper') | list | length }}",
           "{% set ns = namespace(x=(1, 2)) %}{% for i in range(200) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ ns.x == (1, 2) }}",
           "{% set ns = namespace(x=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}",
           "{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}{% set ns.x = ns.x | map('string') %}{% endfor %}{{ ns.x | list }}",
           "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}",
           "{% for a in range(99999) %}{% macro m() %}{% endmacro %}{% for b in range(999) %}{{ loop.index }}{% endfor %}{% endfor %}"}) {
    stopped(source);
  }
}

TEST(TemplateLimits, StopRecursion) {
  EXPECT_NE(stopped("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("levels deep"), std::string::npos);
  stopped("{% macro a(x) %}{{ b(x) }}{% endmacro %}{% macro b(x) %}{{ a([x]) }}{% endmacro %}{{ a(1) }}");
  stopped("{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}");
  stopped("{% macro m() %}{{ caller() }}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{% call m() %}x{% endcall %}");
}

TEST(TemplateLimits, RefuseSourceNestedTooDeep) {
  for (const int deep : {1000, 100000}) {
    stopped("{{ " + repeated("(", deep) + "1" + repeated(")", deep) + " }}");
    stopped("{{ " + repeated("[", deep) + repeated("]", deep) + " }}");
    stopped("{{ " + repeated("{1:", deep) + "1" + repeated("}", deep) + " }}");
    stopped("{{ " + repeated("not ", deep) + "1 }}");
    stopped("{{ " + repeated("-", deep) + "1 }}");
    stopped("{{ 1" + repeated(" + 1", deep) + " }}");
    stopped("{{ x" + repeated(".x", deep) + " }}");
    stopped("{{ x" + repeated("()", deep) + " }}");
    stopped("{{ 1" + repeated(" if 1 else 1", deep) + " }}");
    stopped("{{ 1" + repeated(" | string", deep) + " }}");
    stopped("{{ x" + repeated("[x", deep) + repeated("]", deep) + " }}");
    stopped("{{ " + repeated("f(", deep) + repeated(")", deep) + " }}");
    stopped(repeated("{% if 1 %}", deep) + repeated("{% endif %}", deep));
    stopped(repeated("{% for x in [1] %}", deep) + repeated("{% endfor %}", deep));
    stopped(repeated("{% macro m() %}", deep) + repeated("{% endmacro %}", deep));
    stopped("{% set " + repeated("(", deep) + "x" + repeated(")", deep) + " = 1 %}");
    stopped("{{ " + repeated("{", deep));
    stopped(repeated("{#", deep));
    stopped(repeated("{% raw %}", deep));
  }
  // Long is not deep.
  EXPECT_EQ(rendered("{{ 'a'" + repeated(" ~ 'a'", 50000) + " }}").size(), 50001u);
  EXPECT_EQ(rendered("{% if 0 %}" + repeated("{% elif 0 %}", 5000) + "{% else %}x{% endif %}"), "x");
}

TEST(TemplateLimits, LeaveRoomForLongChats) {
  auto chat = ChatTemplate::parse(fileText(goldenTemplates() / "glm-5.2.jinja"), "glm-5.2.jinja");
  ASSERT_TRUE(chat.ok());
  ChatRequest request;
  request.messages = Json::array();
  for (int i = 0; i < 4000; ++i) request.messages.push_back(Json{{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", std::string(2000, 'a')}});
  const auto parts = chat.value().render(request);
  ASSERT_TRUE(parts.ok()) << parts.error().what;
  EXPECT_GT(joined(parts.value()).size(), 8'000'000u);
}

TEST(TemplateLimits, OneTemplateServesManyThreads) {
  TemplateShelf shelf;
  const std::vector<Json> rows = templateRows("cases.jsonl");
  for (const Json& row : rows) shelf.at(goldenTemplates() / row["template"].get<std::string>());
  std::vector<std::thread> threads;
  std::vector<int> faults(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = static_cast<std::size_t>(t); i < rows.size(); i += 2) {
        const std::string text = rendered(shelf.at(goldenTemplates() / rows[i]["template"].get<std::string>()), requestOf(rows[i]));
        if (!faultOf(rows[i], text).empty()) ++faults[static_cast<std::size_t>(t)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace sluice
