"""Writes random expressions with the results of CPython 3.11, which random-cases.test.ts compares.

    python3 test/engine/expression/record-random-cases.py SEED CASES > cases.txt

random-cases.txt.gz was recorded with seed 7 and 5000 cases:

    python3 test/engine/expression/record-random-cases.py 7 5000 | gzip -9n > test/engine/expression/random-cases.txt.gz

A line has the number of its record, the expression as JSON, and the result: `=` and its repr, or the class and the text of the error.
An error has its position in front, `[from-to]`: the columns of what CPython marks in its traceback, counted from 1. The first lines are the records, each with
an `@`.
"""

import json
import random
import resource
import signal
import sys

rng = random.Random(int(sys.argv[1]))
pick = rng.choice


class Missing(Exception):
    pass


def getattr_(self, name):
    try:
        return self[name]
    except KeyError:
        raise AttributeError("record has no field '%s'" % name) from None


Record = type("dict", (dict,), {"__getattr__": getattr_})

TEXTS = ["", "a", "abc", "rs6054257", "GRCH38-7-117559590-117559593-A", "  two   words ", "chr7", "A\U0001F9ECb",
         "Stra\u00dfe", "a,b,,c", "1", "-17", "3.14", "1e5", " 42 ", "missense_variant", "c.76_78del", "tab\tbed\n",
         "O'Neil", "\u00e9t\u00e9", "x" * 20, "{}", "%s", "0x1f", "nan", "p.V600E", "ABC def", "\u01c6\u0130\u03a3", "aXbXc", "12.50"]
INTS = [0, 1, -1, 2, 3, 7, 10, -5, 255, 14370, 117559590, 2**31, 2**53, -(2**53) - 1, 10**20, 1000000]
FLOATS = [0.0, 1.0, -1.5, 0.1, 0.5, 2.5, 1e-5, 1e16, 123456.789, -0.0, 3.3e-10, 1e300, 2.675, 1e22, 0.30000000000000004]


def value(depth=0):
    kind = rng.random()
    if depth < 2 and kind < 0.2:
        return [value(depth + 1) for _ in range(rng.randrange(4))]
    if depth < 2 and kind < 0.3:
        return {pick("abcdk1"): value(depth + 1) for _ in range(rng.randrange(3))}
    return pick([lambda: pick(TEXTS), lambda: pick(INTS), lambda: pick(FLOATS), lambda: pick([None, True, False])])()


def record():
    return {
        "s": pick(TEXTS), "t": pick(TEXTS), "n": pick(INTS), "m": pick(INTS), "f": pick(FLOATS), "g": pick(FLOATS),
        "b": pick([True, False]), "z": None, "xs": [pick(INTS) for _ in range(rng.randrange(5))],
        "ts": [pick(TEXTS) for _ in range(rng.randrange(5))], "d": {pick("abck"): value(1) for _ in range(rng.randrange(4))},
        "v": value(), "w": value(),
    }


def S(n):
    """A text."""
    if n <= 0:
        return pick(["record.s", "record.t", repr(pick(TEXTS)), "record['s']"] + NAMES.get("S", []))
    return pick([
        lambda: S(0), lambda: S(0),
        lambda: f"{S(n-1)}.{pick('upper lower title capitalize swapcase casefold strip lstrip rstrip'.split())}()",
        lambda: f"({S(n-1)} + {S(n-1)})",
        lambda: f"{S(n-1)}[{pick(['0', '-1', '1:', ':2', '1:3', '::-1', '-3:', '::2', 'record.n', '2:1', '-1:0:-1', '5'])}]",
        lambda: f"{S(n-1)}.replace({S(0)}, {S(0)}{pick(['', ', 1'])})",
        lambda: f"{S(0)}.join({LS(n-1)})",
        lambda: f"str({V(n-1)})", lambda: f"repr({V(n-1)})", lambda: f"ascii({S(n-1)})",
        lambda: f"{S(n-1)}.{pick(['ljust', 'rjust', 'center'])}({pick(['3', '8', '11', '12'])}{pick(['', ', repr(1)', ', ' + repr('*')])})",
        lambda: f"{S(n-1)}.zfill({pick(['3', '9'])})",
        lambda: f"{S(n-1)}.{pick(['strip', 'lstrip', 'rstrip', 'removeprefix', 'removesuffix'])}({S(0)})",
        lambda: f"{S(n-1)}.expandtabs({pick(['', '4', '1'])})",
        lambda: f"({S(n-1)} if {B(n-1)} else {S(n-1)})",
        lambda: f"({S(n-1)} or {S(n-1)})",
        lambda: f"format({N(n-1)}, {spec()!r})", lambda: f"format({FL(n-1)}, {spec()!r})", lambda: f"format({S(n-1)}, {sspec()!r})",
        lambda: f"{pspec()!r} % ({N(n-1)},)", lambda: f"{pspec()!r} % {FL(n-1)}", lambda: f"{pick(['%s', '%r', '%10s|', '%-6.2s', '%c', '%a'])!r} % ({V(n-1)},)",
        lambda: "f'{%s:%s}'" % (noq(N(n-1)), spec()), lambda: "f'{%s!r}|{%s}'" % (noq(V(n-1)), noq(S(0))), lambda: "f'<{%s=}>'" % noq(V(n-1)),
        lambda: f"{pick(['{}{}', '{0}-{1}', '{1!r:>9}|{0}', '{:>5}|{:<4}|', '{a}', '{0[0]}', '{', '{}{}{}', '{0:{1}}'])!r}.format({V(n-1)}, {V(0)})",
        lambda: f"'%(a)s|%(k)r' % {D(0)}",
        lambda: f"chr({N(n-1)})", lambda: f"{pick(['hex', 'oct', 'bin'])}({N(n-1)})",
        lambda: f"{S(n-1)}.translate(str.maketrans({pick(['abc', 'ACG'])!r}, {pick(['xyz', 'TGC'])!r}))",
        lambda: f"{S(n-1)} * {pick(['2', '0', '-1', '3', 'record.b'])}",
        lambda: f"max({LS(n-1)})", lambda: f"min({LS(n-1)}, key=len, default='')",
        lambda: f"{LS(n-1)}[{pick(['0', '-1', '1'])}]",
    ])()


def noq(text):
    """An expression that may stand in an f-string in single quotes."""
    return text if "'" not in text and "\\" not in text and '{' not in text and '"' not in text and '!' not in text and ':' not in text and '=' not in text else pick(["record.n", "record.f", "record.s", "record.xs"])


def spec():
    return pick(["", "*"]) * 0 + pick(["", "", ">", "<", "^", "=", "*>", "0=", "_^", " <"]) + pick(["", "", "+", "-", " "]) + pick(["", "", "", "z"]) * 0 + pick(["", "", "", "#"]) + pick(["", "", "0"]) + pick(["", "", "8", "12", "3", "20"]) + pick(["", "", "", ",", "_"]) + pick(["", "", "", ".0", ".2", ".5", ".10"]) + pick(["", "d", "f", "e", "g", "x", "X", "b", "o", "%", "G", "E", "F", "n", "c", "s"])


def sspec():
    return pick(["", ">", "<", "^", "*^", "="]) + pick(["", "0", ""]) + pick(["", "5", "12"]) + pick(["", ".2", ".0"]) + pick(["", "s", "d"])


def pspec():
    return "%" + pick(["", "-", "0", "+", " ", "#", "+0", "- ", "#0"]) + pick(["", "", "8", "3"]) + pick(["", "", ".0", ".3", "."]) + pick("diouxXeEfFgGsrc") + pick(["", "", "|%%"])


def N(n):
    """An int."""
    if n <= 0:
        return pick(["record.n", "record.m", "record['n']", str(pick(INTS)), str(rng.randrange(-3, 12))] + NAMES.get("N", []))
    return pick([
        lambda: N(0), lambda: N(0),
        lambda: f"({N(n-1)} {pick(['+', '-', '*', '//', '%', '&', '|', '^'])} {N(n-1)})",
        lambda: f"({N(n-1)} {pick(['<<', '>>', '**'])} {pick(['0', '1', '2', '3', '7', '-1'])})",
        lambda: f"{pick(['-', '~', '+'])}{N(n-1)}", lambda: f"len({pick([S, LS, LN, D])(n-1)})", lambda: f"int({S(n-1)})", lambda: f"int({FL(n-1)})",
        lambda: f"int({S(n-1)}, {pick(['16', '0', '2', '36'])})", lambda: f"{S(n-1)}.{pick(['find', 'rfind', 'index', 'count'])}({S(0)}{pick(['', ', 1', ', -3', ', 1, 4'])})",
        lambda: f"sum({LN(n-1)})", lambda: f"{pick(['max', 'min'])}({LN(n-1)})", lambda: f"round({N(n-1)}, {pick(['-1', '2', '-2', 'None'])})", lambda: f"round({FL(n-1)})",
        lambda: f"abs({N(n-1)})", lambda: f"ord({S(n-1)})", lambda: f"{LN(n-1)}[{pick(['0', '-1', '1', '2', '-2'])}]", lambda: f"({N(n-1)} if {B(n-1)} else {N(n-1)})",
        lambda: f"({N(n-1)}).bit_length()", lambda: f"{LN(n-1)}.{pick(['count', 'index'])}({N(0)})", lambda: f"divmod({N(n-1)}, {N(n-1)})[{pick(['0', '1'])}]",
        lambda: f"pow({N(0)}, {N(0)}, {N(0)})", lambda: f"len(set({pick([LS, LN])(n-1)}))", lambda: f"(lambda p, q={N(0)}: p + q)({N(n-1)})",
        lambda: f"sum(i for i, c in enumerate({S(n-1)}) if c in {S(0)})",
    ])()


def FL(n):
    """A float."""
    if n <= 0:
        return pick(["record.f", "record.g", repr(pick(FLOATS))])
    return pick([
        lambda: FL(0), lambda: f"({FL(n-1)} {pick(['+', '-', '*', '/', '//', '%'])} {pick([FL, N])(n-1)})", lambda: f"({N(n-1)} / {N(n-1)})",
        lambda: f"({pick([FL, N])(n-1)} {pick(['+', '-', '*', '/', '//', '%'])} {FL(n-1)})", lambda: f"float({S(n-1)})", lambda: f"float({N(n-1)})", lambda: f"round({FL(n-1)}, {pick(['1', '2', '0', '-1', '3', '5'])})",
        lambda: f"abs({FL(n-1)})", lambda: f"({FL(n-1)} ** {pick(['2', '0.5', '-1', '3'])})", lambda: f"-{FL(n-1)}", lambda: f"sum([{FL(n-1)}, {FL(0)}, {N(0)}])", lambda: f"max({FL(n-1)}, {N(n-1)})",
    ])()


def B(n):
    """A truth value, or something to be tested."""
    if n <= 0:
        return pick(["record.b", "True", "False", "record.s", "record.n", "record.z", "record.xs"])
    return pick([
        lambda: f"({pick([N, FL, S, V])(n-1)} {pick(['==', '!='])} {pick([N, FL, S, V])(n-1)})", lambda: f"({N(n-1)} {pick(['<', '<=', '>', '>='])} {pick([N, FL])(n-1)} {pick(['<', '>='])} {N(0)})",
        lambda: f"({S(n-1)} {pick(['<', '<=', '>', '>='])} {S(n-1)})", lambda: f"({V(n-1)} {pick(['<', '>'])} {V(n-1)})", lambda: f"({S(n-1)} {pick(['in', 'not in'])} {pick([S, LS])(n-1)})",
        lambda: f"({N(n-1)} in {LN(n-1)})", lambda: f"(not {B(n-1)})", lambda: f"({B(n-1)} {pick(['and', 'or'])} {B(n-1)})", lambda: f"({V(n-1)} is {pick(['None', 'not None'])})",
        lambda: f"{S(n-1)}.{pick('isalpha isdigit isalnum isupper islower isspace istitle isnumeric isdecimal isidentifier isprintable isascii'.split())}()",
        lambda: f"{S(n-1)}.{pick(['startswith', 'endswith'])}({pick([S(0), '(' + S(0) + ', ' + S(0) + ')'])})", lambda: f"{pick(['any', 'all'])}(x {pick(['>', '=='])} {N(0)} for x in {LN(n-1)})",
        lambda: f"isinstance({V(n-1)}, {pick(['int', 'str', 'list', 'dict', '(float, bool)', 'float', 'tuple'])})", lambda: f"bool({V(n-1)})", lambda: f"({D(n-1)} == {D(n-1)})",
        lambda: f"(set({LN(n-1)}) {pick(['<', '<=', '==', '>'])} set({LN(n-1)}))",
    ])()


NAMES = {}


def scoped(kind, name, make):
    NAMES.setdefault(kind, []).append(name)
    try:
        return make()
    finally:
        NAMES[kind].pop()


def LN(n):
    """A list of ints."""
    if n <= 0:
        return pick(["record.xs", "[1, 2, 3]", "[]", "list(range(4))", "[record.n, record.m]"])
    return pick([
        lambda: LN(0), lambda: f"sorted({LN(n-1)}{pick(['', ', reverse=True', ', key=abs', ', key=lambda q: -q'])})", lambda: f"[{scoped('N', 'x', lambda: N(n-1))} for x in {LN(n-1)}{scoped('N', 'x', lambda: pick(['', ' if ' + B(1)]))}]",
        lambda: f"({LN(n-1)} + {LN(n-1)})", lambda: f"{LN(n-1)}[{pick(['1:', ':-1', '::-1', '::2', ':2'])}]", lambda: f"[len(x) for x in {LS(n-1)}]", lambda: f"list(map(int, {LS(n-1)}))", lambda: f"list(map({pick(['abs', 'len', 'lambda e: e * 2'])}, {LN(n-1)}))",
        lambda: f"sorted(set({LN(n-1)}))", lambda: f"list(filter({pick(['None', 'lambda e: e > 1'])}, {LN(n-1)}))", lambda: f"[x + y for x in {LN(n-1)} for y in {LN(0)}]", lambda: f"[a * b for a, b in zip({LN(n-1)}, {LN(n-1)})]",
        lambda: f"list(range({pick(['5', '2, 8', '10, 0, -3', 'record.b'])}))", lambda: f"sorted(set({LN(n-1)}) {pick(['&', '|', '-', '^'])} set({LN(n-1)}))", lambda: f"({LN(n-1)} * {pick(['2', '0'])})", lambda: f"list(reversed({LN(n-1)}))", lambda: f"[*{LN(n-1)}, {N(0)}]",
    ])()


def LS(n):
    """A list of texts."""
    if n <= 0:
        return pick(["record.ts", "['b', 'a', 'C']", "[record.s, record.t]"])
    return pick([
        lambda: LS(0), lambda: f"{S(n-1)}.split({pick(['', repr(','), repr('-'), S(0), 'None, 1', repr(',') + ', 1'])})", lambda: f"{S(n-1)}.rsplit({pick(['', repr('-') + ', 1', 'None, 1', 'maxsplit=1'])})", lambda: f"{S(n-1)}.splitlines({pick(['', 'True'])})",
        lambda: f"[{scoped('S', 'x', lambda: S(n-1))} for x in {LS(n-1)}{pick(['', ' if x', ' if x.strip()'])}]", lambda: f"sorted({LS(n-1)}{pick(['', ', key=len', ', key=str.lower', ', reverse=True'])})", lambda: f"list({S(n-1)})", lambda: f"list(map(str.{pick(['upper', 'strip'])}, {LS(n-1)}))",
        lambda: f"list({S(n-1)}.{pick(['partition', 'rpartition'])}({S(0)}))", lambda: f"({LS(n-1)} + {LS(n-1)})", lambda: f"list({D(n-1)})", lambda: f"list(dict.fromkeys({LS(n-1)}))", lambda: f"[str(x) for x in {LN(n-1)}]",
    ])()


def D(n):
    """A dict."""
    if n <= 0:
        return pick(["record.d", "{}", "{'a': 1, 'k': 'v'}", "{1: 'i', '1': 's'}"])
    return pick([
        lambda: D(0), lambda: f"dict(zip({LS(n-1)}, {LN(n-1)}))", lambda: f"{{x: len(x) for x in {LS(n-1)}}}", lambda: f"{{**{D(n-1)}, 'z': {V(0)}}}", lambda: f"({D(n-1)} | {D(n-1)})", lambda: f"{{{V(0)}: {V(0)}, {V(0)}: {V(0)}}}",
        lambda: f"{{k: v for k, v in {D(n-1)}.items() if v}}", lambda: f"dict(a={V(0)}, **{D(n-1)})",
    ])()


def V(n):
    """Anything."""
    if n <= 0:
        return pick(["record.v", "record.w", "record.z", S(0), N(0), FL(0), "record.d", "record.missing", "record['nope']"] + ["record.v"] * 3)
    return pick([
        lambda: V(0), lambda: S(n - 1), lambda: N(n - 1), lambda: FL(n - 1), lambda: B(n - 1), lambda: LN(n - 1), lambda: LS(n - 1), lambda: D(n - 1),
        lambda: f"({V(n-1)}, {V(n-1)})", lambda: f"{D(n-1)}.get({S(0)}{pick(['', ', 0'])})", lambda: f"{V(n-1)}[{pick([S, N])(0)}]", lambda: f"({V(n-1)} {pick(['+', '-', '*', '/', '%', '//', '&', '|'])} {V(n-1)})",
        lambda: f"{V(n-1)}.{pick(['upper', 'append', 'get', 'keys'])}({pick(['', V(0)])})", lambda: f"[{V(n-1)}, {V(0)}]", lambda: f"-{V(n-1)}", lambda: f"list({D(n-1)}.{pick(['items', 'values', 'keys'])}())",
        lambda: f"next(iter({LN(n-1)}), None)", lambda: f"list(enumerate({LS(n-1)}, {pick(['0', '1'])}))", lambda: f"list(zip({LS(n-1)}, {LN(n-1)}))", lambda: f"tuple({LN(n-1)})", lambda: f"(lambda *r, **k: (r, k))(*{LN(n-1)}, u={V(0)})",
        lambda: f"[a for a, *b in {pick([LS, LN])(n-1)}]", lambda: f"len({V(n-1)})", lambda: f"sorted({V(n-1)})", lambda: f"{V(n-1)}({N(0)})", lambda: f"float({V(n-1)})", lambda: f"int({V(n-1)})", lambda: f"{FL(n-1)}.as_integer_ratio()", lambda: f"{FL(n-1)}.is_integer()",
        lambda: f"''.join({V(n-1)})", lambda: f"sum({V(n-1)})", lambda: f"max({V(n-1)})", lambda: f"{V(n-1)} in {V(n-1)}", lambda: f"round({V(n-1)})", lambda: f"[{V(0)} for x in {V(n-1)}]",
    ])()


def evaluate(expression, data):
    try:
        result = repr(eval("(" + expression + ")", {"record": Record(json.loads(json.dumps(data)))}))
        if " at 0x" in result or len(result) > 4000:
            return None
        return "=" + result
    except SyntaxError:
        return None
    except Exception as error:
        text = str(error)
        if " at 0x" in text or "complex" in text or "positional argument: 'q'" in text or isinstance(error, (MemoryError, RecursionError)):
            return None
        return "[%d-%d]" % marked(error, expression) + type(error).__name__ + ": " + text


def marked(error, expression):
    """The columns that CPython marks in the innermost part of the expression that failed."""
    at = (0, 0)
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename == "<string>":
            line, end_line, start, end = list(code.co_positions())[step.tb_lasti // 2]
            source = expression.encode()
            if line == end_line == 1 and start is not None:
                # Behind the parenthesis that `evaluate` adds.
                at = tuple(len(source[:column - 1].decode(errors="ignore")) + 1 for column in (start, end))
        step = step.tb_next
    return at


def timeout(*_):
    raise TimeoutError


signal.signal(signal.SIGALRM, timeout)
# An expression that needs more than 2 GB is no case.
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
records = [record() for _ in range(200)]
for one in records:
    print("@" + json.dumps(one))
done = 0
import warnings
warnings.simplefilter("ignore")
while done < int(sys.argv[2]):
    at = rng.randrange(len(records))
    expression = pick([S, N, FL, B, LN, LS, D, V, V, V])(pick([1, 1, 2, 2, 3]))
    if len(expression) > 400:
        continue
    signal.alarm(2)
    try:
        result = evaluate(expression, records[at])
    except TimeoutError:
        continue
    finally:
        signal.alarm(0)
    if result is None or "TimeoutError" in result or "complex" in result or "j)" in result:
        continue
    print(f"{at}\t{json.dumps(expression)}\t{json.dumps(result)}")
    done += 1
