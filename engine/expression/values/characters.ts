/** Whether `str.isprintable` of Python accepts a code point: separators other than the space and what has no glyph are refused. */
export function isPrintable(code: number): boolean {
  if (code < 0x7f) return code >= 0x20;
  return !notPrintable.test(String.fromCodePoint(code));
}

const notPrintable = /^[\p{C}\p{Z}]$/u;

/** The white space of `str.strip`, `str.split` and `str.isspace`; unlike JavaScript's it has U+001C to U+001F and no U+FEFF. */
export function isWhiteSpace(code: number): boolean {
  if (code < 0x80)
    return code === 0x20 || (code >= 9 && code <= 13) || (code >= 0x1c && code <= 0x1f);
  return (
    code === 0x85 ||
    code === 0xa0 ||
    code === 0x1680 ||
    (code >= 0x2000 && code <= 0x200a) ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f ||
    code === 0x3000
  );
}

/** A text without white space at its ends. */
export function stripWhiteSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isWhiteSpace(text.charCodeAt(start))) start += 1;
  while (end > start && isWhiteSpace(text.charCodeAt(end - 1))) end -= 1;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

/** Writes the decimal digits of any script as ASCII digits, which `int()` and `float()` of Python read alike. */
export function asciiDigits(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the test for ASCII
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  return text.replaceAll(/\p{Nd}/gu, (one) => String(digitValue(one.codePointAt(0)!)));
}

/** The value of a decimal digit: blocks of ten begin at a zero, and the character before a zero is not a digit of the same block. */
export function digitValue(code: number): number {
  let zero = code;
  while (code - zero < 9 && isDecimalDigit(zero - 1)) zero -= 1;
  // The mathematical digits follow each other in five blocks.
  if (code >= 0x1d7ce && code <= 0x1d7ff) return (code - 0x1d7ce) % 10;
  return code - zero;
}

function isDecimalDigit(code: number): boolean {
  return /^\p{Nd}$/u.test(String.fromCodePoint(code));
}
