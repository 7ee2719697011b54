import type { SourceText, SourceToken } from './source-tokenizer.js';

/** The parts of a string literal. `content` is the text between the quotes, which begins at `at` in the source. */
export interface StringLiteral {
  readonly isTemplate: boolean;
  readonly isRaw: boolean;
  readonly content: string;
  readonly at: number;
}

/** Separates the prefix and the quotes of a string token from its content. */
export function readStringToken(source: SourceText, token: SourceToken): StringLiteral {
  const [opening, prefix, quote] = /^([A-Za-z]*)('''|"""|'|")/.exec(token.text)!;
  const kind = prefix!.toLowerCase();
  if (kind.includes('b')) throw source.syntaxErrorAt('bytes literals are not supported', token.at);
  return {
    isTemplate: kind.includes('f'),
    isRaw: kind.includes('r'),
    content: token.text.slice(opening.length, -quote!.length),
    at: token.at + opening.length,
  };
}

const simpleEscapes: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** The characters that `\N{…}` supports: those that expressions are likely to need. */
const characterNames: Readonly<Record<string, string>> = {
  BULLET: '\u2022',
  'DEGREE SIGN': '\u00b0',
  'EM DASH': '\u2014',
  'EN DASH': '\u2013',
  'GREEK SMALL LETTER ALPHA': '\u03b1',
  'GREEK SMALL LETTER BETA': '\u03b2',
  'GREEK SMALL LETTER GAMMA': '\u03b3',
  'GREEK SMALL LETTER DELTA': '\u03b4',
  'GREEK SMALL LETTER MU': '\u03bc',
  'MICRO SIGN': '\u00b5',
  'MULTIPLICATION SIGN': '\u00d7',
  'NO-BREAK SPACE': '\u00a0',
  'PLUS-MINUS SIGN': '\u00b1',
  'RIGHTWARDS ARROW': '\u2192',
  SPACE: ' ',
};

/**
 * Decodes the content of a literal, which begins at `at` in the source: every line end becomes a line feed, and escapes are decoded unless
 * the literal is raw. An unknown escape stays unchanged.
 */
export function decodeEscapes(
  source: SourceText,
  content: string,
  at: number,
  isRaw: boolean,
): string {
  const text = content.replaceAll(/\r\n?/g, '\n');
  if (isRaw || !text.includes('\\')) return text;
  let result = '';
  for (let i = 0; i < text.length; i++) {
    const next = text.indexOf('\\', i);
    if (next < 0) return result + text.slice(i);
    result += text.slice(i, next);
    const character = text[next + 1] ?? '';
    const simpleEscape = Object.hasOwn(simpleEscapes, character)
      ? simpleEscapes[character]
      : undefined;
    if (simpleEscape !== undefined) {
      result += simpleEscape;
      i = next + 1;
      continue;
    }
    const [decoded, length] = numericEscape(source, text, next, at);
    result += decoded;
    i = next + length - 1;
  }
  return result;
}

const hexDigits: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** Decodes `\x41`, `\u0041`, `\U00000041`, `\101` and `\N{…}`; returns the text and the length of the escape, or the backslash and 1. */
function numericEscape(
  source: SourceText,
  text: string,
  at: number,
  offset: number,
): readonly [string, number] {
  const character = text[at + 1] ?? '';
  const octal = /^[0-7]{1,3}/.exec(text.slice(at + 1, at + 4))?.[0];
  if (octal !== undefined)
    return [String.fromCodePoint(Number.parseInt(octal, 8)), 1 + octal.length];
  const count = Object.hasOwn(hexDigits, character) ? hexDigits[character]! : 0;
  if (count > 0) {
    const digits = text.slice(at + 2, at + 2 + count);
    if (digits.length < count || !/^[0-9a-fA-F]+$/.test(digits))
      throw source.syntaxErrorAt(`malformed \\${character} escape`, offset + at);
    const code = Number.parseInt(digits, 16);
    if (code > 0x10ffff) throw source.syntaxErrorAt('illegal Unicode character', offset + at);
    return [String.fromCodePoint(code), 2 + count];
  }
  if (character === 'N') {
    const name = /^\{([^}]*)\}/.exec(text.slice(at + 2));
    if (!name) throw source.syntaxErrorAt('malformed \\N character escape', offset + at);
    const upper = name[1]!.toUpperCase();
    if (!Object.hasOwn(characterNames, upper))
      throw source.syntaxErrorAt('unknown Unicode character name', offset + at);
    return [characterNames[upper]!, 2 + name[0].length];
  }
  return ['\\', 1];
}
