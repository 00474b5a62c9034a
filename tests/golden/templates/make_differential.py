#!/usr/bin/env python3
"""Makes differential.jsonl: random templates and what the reference prints for them.

Reference: jinja2 3.1.6 in the environment that transformers 5.24.0 sets up. Run with that version installed; the rows do not depend on
anything but the seed below and the reference. Rows whose text would hold an address (a printed generator) are left out, as are those over
2000 bytes. Taken out by hand were rows in which an address is printed and then cut, counted or compared away.
"""

import json
import random
import re
import signal
from datetime import datetime

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

SEED, ROWS, SPELLINGS = 20260314, 2000, 1600
NOW = datetime(2026, 3, 14, 9, 26, 53)
R = random.Random(SEED)


class Gen(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        ln = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_g"), [], [], body).set_lineno(ln)

    @jinja2.pass_eval_context
    def _g(self, context, caller):
        return caller()


def raise_exception(m):
    raise jinja2.exceptions.TemplateError(m)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


ENVIRONMENT = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Gen, jinja2.ext.loopcontrols])
ENVIRONMENT.filters["tojson"] = tojson
ENVIRONMENT.globals["raise_exception"] = raise_exception
ENVIRONMENT.globals["strftime_now"] = lambda f: NOW.strftime(f)


class TemplateDict:
    def __call__(self, *a, **k):
        return dict(*a, **k)

    def fromkeys(self, *a, **k):
        return dict.fromkeys(*a, **k)


class TemplateNamespace(jinja2.utils.Namespace):
    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attrs = dict(*args, **kwargs)
        for n in attrs:
            TemplateNamespace._check_name(n)
        jinja2.utils.Namespace.__init__(self, attrs)

    def __setitem__(self, n, v):
        TemplateNamespace._check_name(n)
        jinja2.utils.Namespace.__setitem__(self, n, v)

    @staticmethod
    def _check_name(n):
        if isinstance(n, str) and n.startswith("_"):
            raise jinja2.exceptions.SecurityError("no")


ENVIRONMENT.globals["dict"] = TemplateDict()
ENVIRONMENT.globals["namespace"] = TemplateNamespace


# fmt: off
CONTEXT = {'s': '  The mill\ttells  tales.\n',
 'u': 'aé漢😀z',
 'e': '',
 'n': None,
 't': True,
 'f': False,
 'i': 7,
 'neg': -3,
 'z': 0,
 'big': 18446744073709551616,
 'fl': 2.5,
 'one': 1.0,
 'sm': 1e-07,
 'lg': 1e+16,
 'l': [3, 1, 2, 1],
 'ls': ['b', 'A', 'c', 'a'],
 'mix': [1, 'a', None, True, 2.5, [], {}],
 'd': {'b': 1, 'a': 'x', 'items': [1, 2], 'n': None},
 'ld': [{'n': 'x', 'v': 2, 'k': {'q': 1}}, {'n': 'Y', 'v': 1, 'k': {'q': 2}}, {'n': 'x', 'v': 3}],
 'nest': {'a': {'b': [1, {'c': 'deep'}]}},
 'h': '<|user|> & "q" \'s\'',
 'w': 'one two-three (four) fOUR',
 'csv': 'a,b,,c'}
STRINGS = ['', 'a', 'b', 'x', 'ab', 'aXbXc', 'A', ' ', '\\n', ',', 'é', '漢', 'the quick brown', '<b>', "it\\'s", '%s', '{}', '1', '12', '-5',
 '2.50', '0x1f', 'abc', 'ß', 'Σ', 'ΑΣ', 'ǆ', 'İ', '  pad ', 'a\\tb', 'l', 'T', 'a-b c', '1e5', '_', 'True']
FILTERS = [('trim', ['', '("a")', '(" ")']), ('upper', ['']), ('lower', ['']), ('capitalize', ['']), ('title', ['']), ('length', ['']),
 ('count', ['']), ('replace', ['("a","b")', '("l","L",1)', '("","-")', '("a",1)']),
 ('default', ['("d")', '("d",true)', '', '(none)', '(0,boolean=true)']), ('d', ['("e")']),
 ('sort', ['', '(reverse=true)', '(case_sensitive=true)', '(attribute="v")', '(attribute="n,v")', '(attribute="k.q")']),
 ('reverse', ['']), ('list', ['']), ('first', ['']), ('last', ['']), ('join', ['', '(",")', '(", ",attribute="n")', '(1)']),
 ('unique', ['', '(true)', '(attribute="n")']), ('sum', ['', '(start=1)', '("v")', '(attribute="v")', '(start=[])']),
 ('min', ['', '(attribute="v")']), ('max', ['', '(attribute="v")', '(true)']), ('int', ['', '(5)', '(base=16)', '("d",2)']),
 ('float', ['', '(1)']), ('string', ['']), ('abs', ['']), ('round', ['', '(1)', '(2,"floor")', '(0,"ceil")', '(-1)']),
 ('tojson', ['', '(indent=2)', '(sort_keys=true)', '(ensure_ascii=true)', '(separators=(",",":"))', '(indent=1,sort_keys=true)']),
 ('batch', ['(2)', '(3,"f")']), ('slice', ['(2)', '(3,"f")']), ('dictsort', ['', '(by="value")', '(true)', '(reverse=true)']),
 ('items', ['']),
 ('map',
  ['("upper")', '("string")', '(attribute="n")', '(attribute="v",default=0)', '("int")', '(attribute="k.q",default="?")',
   '("default","z")', '("nofilter")', '("join","-")', '("length")', '("replace","a","b")']),
 ('select', ['', '("string")', '("odd")', '("defined")', '("in",[1,2])', '(">",1)', '("nope")']),
 ('reject', ['', '("none")', '("even")', '("eq",1)']),
 ('selectattr', ['("v")', '("v",">",1)', '("n","equalto","x")', '("k","defined")', '("k.q","eq",1)', '("missing")']),
 ('rejectattr', ['("v","odd")', '("k")', '("n","in",["x"])']),
 ('groupby', ['("n")', '("v")', '("n",case_sensitive=true)', '("k.q",default=0)']),
 ('indent', ['', '(2)', '(2,true)', '(2,true,true)', '("> ")', '(width=1,blank=true)']), ('center', ['(9)', '']),
 ('truncate', ['(5)', '(5,true)', '(6,false,"~",0)', '(9,true,"..",1)']), ('wordcount', ['']), ('e', ['']), ('escape', ['']),
 ('forceescape', ['']), ('safe', ['']), ('striptags', ['']), ('urlencode', ['']), ('format', ['(1)', '("a","b")', '(x=1)', '']),
 ('attr', ['("upper")', '("a")', '("items")', '("n")']), ('xmlattr', ['', '(false)']), ('filesizeformat', ['', '(true)']),
 ('pprintx', [''])]
TESTS = ['defined', 'undefined', 'none', 'string', 'number', 'integer', 'float', 'boolean', 'mapping', 'sequence', 'iterable', 'callable', 'odd',
 'even', 'divisibleby 3', 'divisibleby(2)', 'lower', 'upper', 'true', 'false', 'in [1,2,"a"]', 'in s', 'eq 1', '== 1', 'ne 1', 'gt 1',
 'ge(1)', 'lt 5', 'le 2', 'equalto "a"', 'sameas none', 'sameas true', 'escaped', 'filter', 'test', '!= "x"', 'in "abc"', 'in d',
 'nosuch']
STRING_METHODS = ['split()', 'split(" ")', 'split(",",1)', 'split("")', 'split(none,1)', 'rsplit(" ",1)', 'rsplit(none,1)', 'rsplit(",")', 'strip()',
 'strip(" .\\nT")', 'lstrip()', 'rstrip()', 'lstrip("a")', 'upper()', 'lower()', 'title()', 'capitalize()', 'swapcase()', 'casefold()',
 'replace("a","b")', 'replace("l","",2)', 'replace("","-",3)', 'startswith("a")', 'startswith(("a"," "))', 'endswith("\\n")',
 'endswith(("z","c"),1)', 'startswith("b",1)', 'find("l")', 'find("l",5)', 'find("",2)', 'find("l",-5,-1)', 'rfind("l")',
 'rfind("l",0,9)', 'index("zz")', 'index("l")', 'count("l")', 'count("")', 'count("l",8)', 'join(ls)', 'join(l)', 'join("xy")',
 'isdigit()', 'isalpha()', 'isspace()', 'isalnum()', 'isupper()', 'islower()', 'istitle()', 'isnumeric()', 'isdecimal()', 'isascii()',
 'isprintable()', 'isidentifier()', 'splitlines()', 'splitlines(true)', 'partition(" ")', 'rpartition("l")', 'partition("zz")',
 'zfill(8)', 'ljust(8,"*")', 'rjust(6)', 'center(7)', 'center(8,"é")', 'expandtabs(4)', 'removeprefix("a")', 'removesuffix("\\n")',
 'format(1,a=2)', 'nope()', '__class__', 'encode', 'format_map({"a":1})']
DICT_METHODS = ['items()', 'keys()', 'values()', 'get("a")', 'get("zz","d")', 'get(1)', 'get("a").upper()', 'items', 'keys', 'copy()', 'pop("a")',
 'update({})', 'a', 'b', 'missing', 'setdefault("q",1)', 'get([1])', 'items()|list', 'values()|list', 'keys()|join(",")', 'items()|first',
 'get(default=1)']
LIST_METHODS = ['index(1)', 'index("b")', 'count(1)', 'copy()', 'append(1)', '0', '1', 'pop()', 'sort()', 'index(9)', 'index(1,2)', 'extend']
PERCENT_FORMATS = ['"%s"', '"%d"', '"%5d|"', '"%-5s|"', '"%05.1f"', '"%r"', '"%x"', '"%+d"', '"%e"', '"%g"', '"%c"', '"%%"', '"%s %s"', '"%(a)s"', '"%3s|"',
 '"%.2s"', '"%o"', '"%#x"', '"% d"', '"%G"', '"%i"', '"%5.3d|"', '"%s%%"']
BRACE_FORMATS = ['"{}"', '"{0}{0}"', '"{:5}|"', '"{:>5}|"', '"{:^7}|"', '"{:05d}"', '"{:.2f}"', '"{!r}"', '"{a}"', '"{:,}"', '"{:x}"', '"{:e}"', '"{:%}"',
 '"{{}}"', '"{0[0]}"', '"{0.real}"', '"{:+}"', '"{:#x}"', '"{:_}"', '"{:g}"', '"{:*^9}"', '"{:.3}"', '"{:b}"', '"{:>{w}}"', '"{:08.2f}"',
 '"{:<5}|"', '"{:=+6}"', '"{:G}"', '"{:n}"', '"{:,.1f}"', '"{:X}"']
NAMES = list(CONTEXT) + ['missing', 'm2']
# fmt: on


def lit():
    r = R.random()
    if r < 0.3:
        return R.choice(
            [
                "0",
                "1",
                "2",
                "3",
                "-1",
                "7",
                "10",
                "255",
                "1_000",
                "0x1f",
                "0b11",
                "0o17",
                "9223372036854775807",
                "18446744073709551616",
                "123456789012345678901234567890",
            ]
        )
    if r < 0.45:
        return R.choice(["0.5", "1.0", "2.5", "-0.0", "1e16", "1e-5", "3.14159", "1e100", "0.1", "100.0", "1.5e3", "123456789.125"])
    if r < 0.75:
        return "'" + R.choice(STRINGS) + "'"
    if r < 0.82:
        return R.choice(["true", "false", "none", "True", "None"])
    if r < 0.9:
        return "[" + ", ".join(expr(2) for _ in range(R.randint(0, 3))) + "]"
    if r < 0.95:
        return (
            "{"
            + ", ".join(R.choice(["'a'", "'b'", "1", "none", "true", "1.0", "(1,2)"]) + ": " + expr(2) for _ in range(R.randint(0, 3)))
            + "}"
        )
    return "(" + ", ".join(expr(2) for _ in range(R.randint(0, 3))) + (",)" if R.random() < 0.5 else ")")


def expr(depth=0):
    if depth > 3:
        return R.choice([R.choice(NAMES), lit()]) if depth < 6 else R.choice(NAMES)
    r = R.random()
    d = depth + 1
    if r < 0.16:
        return R.choice(NAMES)
    if r < 0.26:
        return lit()
    if r < 0.36:
        return (
            f"{expr(d)} {R.choice(['+','-','*','/','//','%','**','~','~','+','=='])} {expr(d)}"
            if R.random() < 0.7
            else f"({expr(d)} {R.choice(['+','-','*','/','//','%','~'])} {expr(d)})"
        )
    if r < 0.41:
        return f"{expr(d)} {R.choice(['==','!=','<','<=','>','>=','in','not in'])} {expr(d)}"
    if r < 0.44:
        return f"{expr(d)} {R.choice(['and','or'])} {expr(d)}"
    if r < 0.46:
        return f"not {expr(d)}"
    if r < 0.48:
        return f"({expr(d)} if {expr(d)}" + (f" else {expr(d)})" if R.random() < 0.8 else ")")
    if r < 0.66:
        f, a = R.choice(FILTERS)
        return f"{expr(d)} | {f}{R.choice(a)}" if R.random() < 0.6 else f"({expr(d)} | {f}{R.choice(a)})"
    if r < 0.72:
        return f"{expr(d)} is {R.choice(['','not '])}{R.choice(TESTS)}"
    if r < 0.82:
        k = R.random()
        if k < 0.6:
            return R.choice(["s", "u", "e", "h", "w", "csv", "'" + R.choice(STRINGS) + "'"]) + "." + R.choice(STRING_METHODS)
        if k < 0.85:
            return f"{R.choice(['d','nest','ld[0]','{}'])}.{R.choice(DICT_METHODS)}"
        return f"{R.choice(['l','ls','mix','(1,2,1)'])}.{R.choice(LIST_METHODS)}"
    if r < 0.9:
        k = R.random()
        b = R.choice(["s", "u", "l", "ls", "mix", "w", "(1,2,3)", "range(5)", "csv", "d", "ld", "nest"])
        if k < 0.4:
            return f"{b}[{R.choice(['0','-1','1','5','-9','true','none'])}]"
        if k < 0.9:
            return f"{b}[{R.choice(['','1','-2','0','9','none'])}:{R.choice(['','2','-1','0','99'])}{R.choice(['',':',':2',':-1',':-2',':0'])}]"
        return f"{b}[{expr(d)}]"
    if r < 0.94:
        return f"{R.choice(PERCENT_FORMATS)} % {R.choice([expr(d),'('+expr(d)+', '+expr(d)+')','d','1','2.5','u'])}"
    if r < 0.97:
        return f"{R.choice(BRACE_FORMATS)}.format({R.choice([expr(d),'1','2.5','u','-3','big','1234567','l'])}, {R.choice(['a=1','a=s','w=5, a=u'])})"
    if r < 0.98:
        return f"range({R.choice(['3','1,4','5,0,-2','0','i'])})"
    return f"-{expr(d)}"


def ws():
    return R.choice(["", "", "-", "-", "+"])


def text():
    return R.choice(["", "a", "\n", "  ", "\n  ", "x\n", "  \n\n", " y ", "\t", "é\n"])


def stmt(depth=0):
    r = R.random()
    d = depth + 1
    if depth > 2 or r < 0.25:
        return text() + "{{" + R.choice(["", "", "-"]) + " " + expr(1) + " " + R.choice(["", "", "-"]) + "}}" + text()
    a, b, c, e = ws(), ws(), ws(), ws()
    ra = lambda: R.choice(["", "-", "+"])
    if r < 0.4:
        return "{%%%s if %s %s%%}%s%s{%%%s else %s%%}%s{%%%s endif %s%%}" % (
            ra(),
            expr(1),
            ra(),
            text(),
            stmt(d),
            ra(),
            ra(),
            stmt(d),
            ra(),
            ra(),
        )
    if r < 0.65:
        t = R.choice(["x", "x", "k, v", "x"])
        it = R.choice(
            ["l", "ls", "mix", "d.items()", "ld", "u", "missing", "range(4)", "d", "[]", expr(2), "l|sort", 'ld|map(attribute="n")']
        )
        cond = R.choice(["", "", " if x", " if x is not none", " if x != 1"])
        body = R.choice(
            [
                "{{ x }}",
                "{{ loop.index }}",
                "{{ loop.last }}{{ loop.first }}",
                "{{ loop.length }}",
                "{{ loop.revindex }}/{{ loop.revindex0 }}",
                "{{ loop.previtem }}{{ loop.nextitem }}",
                '{{ loop.cycle("o","e") }}',
                "{{ loop.changed(x) }}",
                "{% if loop.index == 2 %}{% break %}{% endif %}{{ x }}",
                "{% if x == 1 %}{% continue %}{% endif %}{{ x }}",
                "{% set y = loop.index %}{{ y }}",
                "{{ loop.depth }}",
                "{{ loop }}",
                "{% set ns.c = ns.c + 1 %}{{ ns.c }}",
                "{{ k }}={{ v }}",
            ]
        )
        return "{%%%s for %s in %s%s %s%%}%s%s%s{%% else %%}none{%%%s endfor %s%%}" % (
            ra(),
            t,
            it,
            cond,
            ra(),
            text(),
            body,
            stmt(d) if R.random() < 0.4 else "",
            ra(),
            ra(),
        )
    if r < 0.75:
        return "{%%%s set x = %s %s%%}%s{{ x }}" % (ra(), expr(1), ra(), text())
    if r < 0.8:
        return "{%% set x %s%%}%s%s{%% endset %%}[{{ x }}]" % (R.choice(["", "| upper ", "| trim | length "]), text(), stmt(d))
    if r < 0.86:
        return (
            "{%% macro m(a, b='q', *_) %%}{%% endmacro %%}"
            if R.random() < 0.05
            else "{%% macro m(a, b=%s) %s%%}%s{{ a }}{{ b }}%s{%% endmacro %%}{{ m(%s) }}"
            % (
                expr(2),
                R.choice(["", "-"]),
                text(),
                R.choice(["", "{{ caller() if caller }}", "{{ varargs }}", "{{ kwargs }}", "{{ x }}"]),
                R.choice(["", "1", "1, 2", "1, b=3", "b=3", "1,2,3", "z=1", expr(2), "*l", "**d"]),
            )
        )
    if r < 0.9:
        return "{%% with x = %s, q = 1 %%}%s{{ q }}{%% endwith %%}{{ x }}" % (expr(1), stmt(d))
    if r < 0.93:
        return "{%% filter %s %%}%s{%% endfilter %%}" % (R.choice(["upper", "trim", 'replace("a","b")', "indent(2)"]), stmt(d))
    if r < 0.96:
        return "{# note %s#}%s" % (R.choice(["", "-"]), text())
    if r < 0.98:
        return "{%%%s generation %s%%}%s{%% endgeneration %%}" % (ra(), ra(), stmt(d))
    return "{%%%s raw %s%%}{{ x }} {%%%s endraw %s%%}%s" % (ra(), R.choice(["", "-"]), ra(), ra(), text())


def template():
    if R.random() < 0.6:
        return "{{ " + expr() + " }}"
    return R.choice(["{% set ns = namespace(c=0) %}", ""]) + "".join(stmt() for _ in range(R.randint(1, 4)))


def random_text():
    k = R.random()
    pool = "abcXYZ 019\t\n_-.,'\"\\<>&%{}" if k < 0.4 else "aéßǆΣσςİıŉΐﬁ漢😀𝔘Ⅷⓐ²½٣\u00a0\u3000\u200b\u2028\x1c\x85\x7f\ufeff़éÀ-. "
    return "".join(R.choice(pool) for _ in range(R.randint(0, 9)))


def random_number():
    k = R.random()
    if k < 0.3:
        return R.randint(-1000, 1000)
    if k < 0.4:
        return R.randint(-(10**25), 10**25)
    if k < 0.5:
        return R.choice([2**63, 2**63 - 1, -(2**63), -(2**63) - 1, 2**64, 10**16, 2**53 + 1, -(2**64)])
    if k < 0.75:
        return R.choice(
            [
                0.5,
                1.5,
                2.5,
                -0.5,
                1e22,
                1e21,
                1e-4,
                1e-5,
                123456.789,
                0.1 + 0.2,
                1e15,
                1e16,
                9999999999999998.0,
                5e-324,
                1.7976931348623157e308,
                -0.0,
                2.675,
                1.005,
                0.045,
                1e17,
                123456789012345680.0,
            ]
        )
    return R.uniform(-1, 1) * 10 ** R.randint(-20, 25)


def spelling_template():
    k = R.random()
    if k < 0.3:
        return R.choice(
            [
                "{{ a %s b }}" % R.choice(["+", "-", "*", "/", "//", "%", "==", "<", ">=", "!="]),
                "{{ a | round(%d) }}" % R.randint(-3, 6),
                "{{ a | round(%d,'%s') }}" % (R.randint(-2, 4), R.choice(["ceil", "floor"])),
                "{{ a | int }}|{{ a | float }}|{{ a | abs }}",
                "{{ [a,b] | sort }}{{ [a,b]|max }}{{ a == b }}{{ {a:1} }}",
                "{{ a | tojson }}{{ [a] }}{{ a ~ b }}",
                "{{ a ** %s }}" % R.choice(["2", "3", "0", "-1", "0.5"]),
                "{{ a | filesizeformat }}",
                "{{ -a }}{{ +a }}{{ a is odd }}{{ a is divisibleby 7 }}",
                "{{ a is sameas b }}{{ a in [b, a] }}{{ {a: 'x'}[a] }}",
            ]
        )
    if k < 0.5:
        conv = R.choice("diouxXeEfFgGsrc")
        fl = R.choice(["", "-", "+", " ", "0", "#", "+0", "-0", "#0", "0+", " 0"])
        w = R.choice(["", "3", "8", "15"])
        pr = R.choice(["", ".0", ".1", ".3", ".10", "."])
        return "{{ '[%%%s%s%s%s]' %% a }}" % (fl, w, pr, conv)
    if k < 0.7:
        f = R.choice(["", "*", "0", "é", "_<"])[:1]
        al = R.choice(["<", ">", "^", "="]) if f or R.random() < 0.5 else ""
        sp = (
            (f if al else "")
            + al
            + R.choice(["", "+", "-", " "])
            + R.choice(["", "", "#"])
            + R.choice(["", "", "0"])
            + R.choice(["", "5", "12", "20"])
            + R.choice(["", "", ",", "_"])
            + R.choice(["", "", ".0", ".2", ".6"])
            + R.choice(["", "", "d", "f", "e", "g", "G", "E", "x", "X", "o", "b", "%", "s", "n", "F", "c"])
        )
        return "{{ '[{:%s}]'.format(%s) }}" % (sp, R.choice(["a", "a", "s"]))
    m = R.choice(
        [
            "{{ s.%s }}" % x
            for x in [
                "upper()",
                "lower()",
                "title()",
                "capitalize()",
                "swapcase()",
                "casefold()",
                "strip()",
                "split()",
                "rsplit(none,1)",
                "split(none,1)",
                "splitlines()",
                "isalpha()",
                "isdigit()",
                "isnumeric()",
                "isdecimal()",
                "isspace()",
                "isupper()",
                "islower()",
                "istitle()",
                "isprintable()",
                "isalnum()",
                "isidentifier()",
                "expandtabs(4)",
                "center(11)",
                'ljust(11,"é")',
                "zfill(9)",
                'partition(" ")',
                "find(t)",
                "rfind(t)",
                "count(t)",
                'replace(t,"|")',
                'split(t or "x")',
                "startswith(t)",
                'rpartition(t or "-")',
                "index(t)",
                "removeprefix(t)",
                "lstrip(t)",
                "rstrip(t)",
                "join([t,t])",
                "encode",
            ]
        ]
        + [
            "{{ s | %s }}" % x
            for x in [
                "title",
                "upper",
                "capitalize",
                "trim",
                "length",
                "reverse",
                "list",
                "wordcount",
                "e",
                "tojson",
                "tojson(ensure_ascii=true)",
                "urlencode",
                "striptags",
                "indent(2,true)",
                "truncate(4)",
                "center(12)",
                "first",
                "last",
                "string",
                "int",
                "float",
                'replace(t,"-")',
                "batch(2)|list",
                "unique|list",
                "sort|join",
                "trim(t)",
                "int(base=16)",
                "int(base=0)",
                'map("upper")|join',
                "format(t)",
                'truncate(5,true,"")',
            ]
        ]
        + [
            "{{ [s,t] }}",
            "{{ s < t }}{{ s == t }}{{ t in s }}",
            "{{ s[::-1] }}{{ s[1:-1] }}{{ s[:3] }}",
            "{{ {s:t} | tojson(sort_keys=true,indent=1) }}",
            "{{ [s,t] | sort }}",
            "{{ [s,t]|join(t) }}",
            "{{ (s ~ t) * 2 }}",
            "{{ '%s|%r|%5s|%-5s|%.2s' % (s,s,s,s,s) }}",
            "{% for c in s %}{{ loop.index }}{{ c }}{% endfor %}",
            "{{ s is lower }}{{ s is upper }}",
            "{{ '{!r:>12}|{:^7}|{:.2}'.format(s,s,s) }}",
        ]
    )
    return m


class TooSlow(Exception):
    pass


def alarm(*_):
    raise TooSlow()


signal.signal(signal.SIGALRM, alarm)


def reference(source, context):
    try:
        signal.setitimer(signal.ITIMER_REAL, 2)
        text = ENVIRONMENT.from_string(source).render(messages=[], tools=None, documents=None, add_generation_prompt=False, **context)
        text.encode()
        return {"expected": text}
    except (TooSlow, MemoryError, RecursionError):
        return None
    except Exception:
        return {"error": ""}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def usable(row):
    if row is None or len(row.get("expected", "")) > 2000:
        return False
    return not re.search(r"0x[0-9a-f]{8,}|\dj\)", row.get("expected", ""), re.I)


def main():
    seen = set()
    with open("differential.jsonl", "w") as out:
        while len(seen) < ROWS:
            source = template()
            context = {name: value for name, value in CONTEXT.items() if re.search(rf"\b{name}\b", source)}
            if source in seen or len(source) > 400:
                continue
            row = reference(source, context)
            if usable(row):
                seen.add(source)
                out.write(json.dumps({"source": source, "kwargs": context, **row}) + "\n")
        for _ in range(SPELLINGS):
            source = spelling_template()
            context = {"a": random_number(), "b": random_number(), "s": random_text(), "t": random_text()[:1]}
            context = {name: value for name, value in context.items() if re.search(rf"\b{name}\b", source)}
            row = reference(source, context)
            if usable(row):
                out.write(json.dumps({"source": source, "kwargs": context, **row}) + "\n")


main()
