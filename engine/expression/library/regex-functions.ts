import { LruCache } from '../../core/lru-cache.js';
import { RegexMatcher } from '../regex/matcher.js';
import type { MatchSlots } from '../regex/matcher.js';
import { parseRegex, regexError } from '../regex/parse.js';
import { compileRegex, sizeOfProgram } from '../regex/program.js';
import type { RegexProgram } from '../regex/program.js';
import { functionError, typeError } from '../values/expression-errors.js';
import { toSize } from '../values/integers.js';
import { isTruthy } from '../values/truth.js';
import { typeName } from '../values/type-name.js';
import { PyList, PyTuple } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';

type FlagArgument = PyValue | undefined;

export function regexSearch(
  runtime: Runtime,
  pattern: PyValue,
  text: PyValue,
  ...flags: readonly FlagArgument[]
): PyValue {
  const matcher = bindMatcher(runtime, pattern, text, flags);
  return matcher.matcher.search(0, false) !== undefined;
}

export function searchGroups(
  runtime: Runtime,
  pattern: PyValue,
  text: PyValue,
  ...flags: readonly FlagArgument[]
): PyValue {
  const { matcher, program, subject } = bindMatcher(runtime, pattern, text, flags);
  const match = matcher.search(0, false);
  // Choice: `search_groups` returns an empty list if there is no match.
  return new PyList(match === undefined ? [] : groupsOf(program, subject, match));
}

export function findAll(
  runtime: Runtime,
  pattern: PyValue,
  text: PyValue,
  ...flags: readonly FlagArgument[]
): PyValue {
  const { program, subject } = bindMatcher(runtime, pattern, text, flags);
  const items: PyValue[] = [];
  for (const match of allMatches(runtime, program, subject)) {
    runtime.budget.chargeOneElement(items.length);
    if (program.groupCount === 0) items.push(subject.slice(match[0], match[1]));
    else {
      const groups = groupsOf(program, subject, match).map((group) => group ?? '');
      items.push(groups.length === 1 ? groups[0]! : new PyTuple(groups));
    }
  }
  return new PyList(items);
}

export function substitute(
  runtime: Runtime,
  pattern: PyValue,
  replacement: PyValue,
  text: PyValue,
  count: PyValue | undefined,
  ...flags: readonly FlagArgument[]
): PyValue {
  if (typeof replacement !== 'string')
    throw functionError(`sub() needs a text as replacement, not ${typeName(replacement)}`);
  const { program, subject } = bindMatcher(runtime, pattern, text, flags);
  const parts = replacementParts(replacement, program);
  const maxCount = count === undefined || count === null ? 0 : toSize(count);
  let result = '';
  let from = 0;
  let replacedCount = 0;
  for (const match of allMatches(runtime, program, subject)) {
    if (maxCount > 0 && replacedCount >= maxCount) break;
    replacedCount += 1;
    const before = result.length;
    result += subject.slice(from, match[0]);
    for (const part of parts)
      result +=
        typeof part === 'string' ? part : subject.slice(match[2 * part]!, match[2 * part + 1]!);
    runtime.budget.chargeGrownText(result.length, result.length - before);
    from = match[1]!;
  }
  runtime.budget.chargeGrownText(result.length + subject.length - from, subject.length - from);
  return result + subject.slice(from);
}

/** Splits a text at the matches of a pattern; the groups of the pattern become parts of the result, too. */
export function splitByPattern(
  runtime: Runtime,
  pattern: PyValue,
  text: string,
  flags: readonly FlagArgument[],
): (string | null)[] {
  const { program } = bindMatcher(runtime, pattern, text, flags);
  const parts: (string | null)[] = [];
  let from = 0;
  for (const match of allMatches(runtime, program, text)) {
    runtime.budget.chargeOneElement(parts.length);
    parts.push(text.slice(from, match[0]));
    for (const group of groupsOf(program, text, match)) parts.push(group);
    from = match[1]!;
  }
  parts.push(text.slice(from));
  return parts;
}

/**
 * Yields all matches from left to right. As in Python, an empty match may directly follow another match, and another match may begin where
 * an empty one is; but no two empty matches are at the same position.
 */
function* allMatches(
  runtime: Runtime,
  program: RegexProgram,
  subject: string,
): Generator<MatchSlots> {
  const matcher = new RegexMatcher(program, subject, runtime.budget);
  let from = 0;
  let mustAdvance = false;
  while (from <= subject.length) {
    const match = matcher.search(from, mustAdvance);
    if (match === undefined) return;
    yield match;
    from = match[1]!;
    mustAdvance = match[1] === match[0];
  }
}

function groupsOf(program: RegexProgram, text: string, found: MatchSlots): (string | null)[] {
  return Array.from({ length: program.groupCount }, (_, i) => {
    const start = found[2 * i + 2]!;
    const end = found[2 * i + 3]!;
    return start < 0 || end < 0 ? null : text.slice(start, end);
  });
}

interface BoundMatcher {
  readonly matcher: RegexMatcher;
  readonly program: RegexProgram;
  readonly subject: string;
}

function bindMatcher(
  runtime: Runtime,
  pattern: PyValue,
  text: PyValue,
  flags: readonly FlagArgument[],
): BoundMatcher {
  if (typeof pattern !== 'string')
    throw typeError('first argument must be string or compiled pattern');
  if (typeof text !== 'string')
    throw typeError(`expected string or bytes-like object, got '${typeName(text)}'`);
  const [ignoreCase, dotAll, multiline] = flags.map((flag) => flag !== undefined && isTruthy(flag));
  const key = `${ignoreCase ? 'i' : ''}${dotAll ? 's' : ''}${multiline ? 'm' : ''}:${pattern}`;
  let program = programCache.get(key);
  if (program === undefined) {
    runtime.budget.charge(pattern.length);
    const regexTree = parseRegex(pattern, {
      ignoreCase: ignoreCase ?? false,
      dotAll: dotAll ?? false,
      multiline: multiline ?? false,
      verbose: false,
    });
    program = compileRegex(regexTree);
    programCache.set(key, program, sizeOfProgram(program));
  }
  return { matcher: new RegexMatcher(program, text, runtime.budget), program, subject: text };
}

/** The programs of the most recently used patterns, together at most this many instructions. */
const programCache = new LruCache<string, RegexProgram>(200_000);

/** Divides a replacement into texts and numbers of groups. */
function replacementParts(text: string, program: RegexProgram): (string | number)[] {
  const parts: (string | number)[] = [];
  const letters: Readonly<Record<string, string>> = {
    n: '\n',
    t: '\t',
    r: '\r',
    f: '\f',
    v: '\v',
    a: '\x07',
    b: '\b',
    '\\': '\\',
  };
  for (const [whole, plain, name, octal, number, letter] of text.matchAll(
    /([^\\]+)|\\g<([^>]*)>|\\(0[0-7]{0,2}|[1-7][0-7]{2})|\\([1-9]\d?)|\\(.?)/gs,
  )) {
    if (plain !== undefined) parts.push(plain);
    else if (octal !== undefined) {
      const code = Number.parseInt(octal, 8);
      if (code > 0o377) throw regexError(`octal escape value ${whole} outside of range 0-0o377`);
      parts.push(String.fromCharCode(code));
    } else if (name !== undefined || number !== undefined) {
      const isNumber = number !== undefined || /^\d+$/.test(name!);
      const group = isNumber ? Number(number ?? name) : program.names.get(name!);
      if (group === undefined) throw regexError(`unknown group name '${name}'`);
      if (group > program.groupCount) throw regexError(`invalid group reference ${group}`);
      parts.push(group);
    } else if (Object.hasOwn(letters, letter!)) parts.push(letters[letter!]!);
    else if (/[A-Za-z]/.test(letter!) || letter === '') throw regexError(`bad escape ${whole}`);
    else parts.push(whole);
  }
  return parts;
}
