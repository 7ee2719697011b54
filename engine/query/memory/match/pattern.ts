import { RE2JS } from 're2js';

/** A regular expression that RE2JS and RE2 understand alike. */
export interface Pattern {
  matches(text: string): boolean;
  /** A text that everything it matches holds; empty if none is known. */
  readonly literal: string;
}

/**
 * Reads a pattern; undefined if it uses anything of which it is not established that RE2JS and RE2 agree: classes of Unicode and
 * of POSIX, letters beyond ASCII in any letter case, named groups, flags in the middle, very large repetitions.
 */
export function readPattern(pattern: string): Pattern | undefined {
  if (!pattern.isWellFormed() || pattern.includes('\0')) return undefined;
  const flags = /^\(\?([is]+)\)/.exec(pattern);
  const ignoresCase = flags?.[1]?.includes('i') === true;
  if (ignoresCase && !/^\p{ASCII}*$/u.test(pattern)) return undefined;
  const reading = {
    chars: Array.from(pattern),
    at: flags?.[0].length ?? 0,
    ignoresCase,
  };
  const whole = alternatives(reading);
  if (whole === undefined || reading.at < reading.chars.length || whole.size > largest) {
    return undefined;
  }
  try {
    const compiled = RE2JS.compile(pattern);
    return { literal: longest(whole), matches: (text) => compiled.testExact(text) };
  } catch {
    return undefined; // the SQL engine says what is wrong with it
  }
}

/** More steps than that take long to compile, and are refused by either at a bound of its own. */
const largest = 1_000;

interface Reading {
  readonly chars: readonly string[];
  at: number;
  readonly ignoresCase: boolean;
}

/** A part of a pattern. */
interface Part {
  readonly size: number;
  /** The one text that it matches, where it matches no other. */
  readonly exact: string | undefined;
  /** A text that whatever it matches holds. */
  readonly literal: string;
  /** It matches places, not characters. */
  readonly isPlace?: true;
}

function longest({ exact, literal }: Part): string {
  return exact ?? literal;
}

function alternatives(reading: Reading): Part | undefined {
  let result: Part | undefined;
  for (;;) {
    const next = sequence(reading);
    if (next === undefined) return undefined;
    result = result ? { size: result.size + next.size + 1, exact: undefined, literal: '' } : next;
    if (reading.chars[reading.at] !== '|') return result;
    reading.at += 1;
  }
}

function sequence(reading: Reading): Part {
  let size = 1;
  let isExact = true;
  let run = '';
  let best = '';
  for (;;) {
    const char = reading.chars[reading.at];
    if (char === undefined || char === '|' || char === ')') break;
    const part = repeated(reading);
    if (part === undefined) return { size: Infinity, exact: undefined, literal: '' };
    size += part.size;
    if (part.isPlace) continue;
    if (part.exact !== undefined) {
      run += part.exact;
    } else {
      isExact = false;
      run = '';
      if (part.literal.length > best.length) best = part.literal;
    }
    if (run.length > best.length) best = run;
  }
  return { size, exact: isExact ? run : undefined, literal: best };
}

function repeated(reading: Reading): Part | undefined {
  const part = atom(reading);
  if (part === undefined) return undefined;
  const times = quantifier(reading);
  if (times === undefined) return part;
  if (times === 'unknown' || part.isPlace) return undefined;
  if (reading.chars[reading.at] === '?') reading.at += 1; // which of several matches it prefers
  if (quantifier(reading) !== undefined) return undefined;
  const [least, most] = times;
  const size = (part.size + 1) * Math.max(1, least, most);
  return { size, exact: undefined, literal: least > 0 ? longest(part) : '' };
}

function quantifier(
  reading: Reading,
): readonly [least: number, most: number] | 'unknown' | undefined {
  const char = reading.chars[reading.at];
  if (char === undefined || !'*+?{'.includes(char)) return undefined;
  if (char !== '{') {
    reading.at += 1;
    return [char === '+' ? 1 : 0, 1];
  }
  const rest = reading.chars.slice(reading.at, reading.at + 12).join('');
  const match = /^\{(\d{1,4})(?:(,)(\d{0,4}))?\}/.exec(rest);
  if (!match) return 'unknown';
  reading.at += match[0].length;
  const least = Number(match[1]);
  const most = match[3] ? Number(match[3]) : least;
  return least > most || most > largest ? 'unknown' : [least, most];
}

const anything: Part = { size: 1, exact: undefined, literal: '' };
const place: Part = { size: 1, exact: '', literal: '', isPlace: true };

function atom(reading: Reading): Part | undefined {
  const char = reading.chars[reading.at++]!;
  switch (char) {
    case '(':
      return group(reading);
    case '[':
      return characterClass(reading);
    case '.':
      return anything;
    case '^':
    case '$':
      return place;
    case '\\': {
      const escape = escaped(reading);
      if (escape === 'class') return anything;
      if (escape === 'place') return place;
      return escape === undefined ? undefined : character(reading, escape.char);
    }
    case '*':
    case '+':
    case '?':
    case '{':
    case '}':
    case ']':
      return undefined;
    default:
      return character(reading, char);
  }
}

function character({ ignoresCase }: Reading, char: string): Part {
  const isOne = !ignoresCase || !/[a-z]/i.test(char);
  return { size: 1, exact: isOne ? char : undefined, literal: '' };
}

function group(reading: Reading): Part | undefined {
  if (reading.chars[reading.at] === '?') {
    if (reading.chars[reading.at + 1] !== ':') return undefined;
    reading.at += 2;
  }
  const inside = alternatives(reading);
  if (inside === undefined || reading.chars[reading.at] !== ')') return undefined;
  reading.at += 1;
  return inside;
}

/** Behind a backslash: a character, or one that stands for several, or for a place. */
function escaped(reading: Reading): { readonly char: string } | 'class' | 'place' | undefined {
  const char = reading.chars[reading.at++];
  if (char === undefined) return undefined;
  if ('dDwWsS'.includes(char)) return 'class';
  if ('bBAz'.includes(char)) return 'place';
  const control = { t: '\t', n: '\n', r: '\r', f: '\f' }[char];
  if (control !== undefined) return { char: control };
  if (char === 'x') {
    const rest = reading.chars.slice(reading.at, reading.at + 10).join('');
    const match = /^(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/.exec(rest);
    const code = parseInt(match?.[1] ?? match?.[2] ?? '', 16);
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    if (!match || !isCharacter || (reading.ignoresCase && code > 0x7f)) return undefined;
    reading.at += match[0].length;
    return { char: String.fromCodePoint(code) };
  }
  return /^[!-/:-@[-`{-~]$/.test(char) ? { char } : undefined;
}

function characterClass(reading: Reading): Part | undefined {
  const { chars } = reading;
  if (chars[reading.at] === '^') reading.at += 1;
  let size = 1;
  let isFirst = true;
  for (;;) {
    const from = member(reading, isFirst);
    if (from === undefined) return undefined;
    isFirst = false;
    size += 1;
    if (from !== 'class' && chars[reading.at] === '-' && chars[reading.at + 1] !== ']') {
      reading.at += 1;
      const to = member(reading, false);
      if (to === undefined || to === 'class') return undefined;
      if (from.codePointAt(0)! > to.codePointAt(0)!) return undefined;
    }
    if (chars[reading.at] === ']') break;
  }
  reading.at += 1;
  return { size, exact: undefined, literal: '' };
}

function member(reading: Reading, isFirst: boolean): string | 'class' | undefined {
  const char = reading.chars[reading.at++];
  if (char === undefined || char === ']' || char === '[') return undefined;
  if (char === '-') return isFirst || reading.chars[reading.at] === ']' ? '-' : undefined;
  if (char !== '\\') return char;
  const escape = escaped(reading);
  if (escape === 'class') return 'class';
  return escape === undefined || escape === 'place' ? undefined : escape.char;
}
