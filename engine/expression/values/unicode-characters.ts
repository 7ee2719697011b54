/**
 * Whether Python's `str.isprintable` accepts a code point: it refuses the categories Other and Separator of Unicode, except for the space.
 */
export function isPrintable(code: number): boolean {
  if (code < 0x7f) return code >= 0x20;
  return !notPrintablePattern.test(String.fromCodePoint(code));
}

const notPrintablePattern = /^[\p{C}\p{Z}]$/u;

/**
 * Whether a code point is white space for `str.strip`, `str.split` and `str.isspace`; in contrast to JavaScript, U+001C to U+001F and
 * U+0085 are, and U+FEFF is not.
 */
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

/** Returns a text without white space at its ends. */
export function stripWhiteSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isWhiteSpace(text.charCodeAt(start))) start += 1;
  while (end > start && isWhiteSpace(text.charCodeAt(end - 1))) end -= 1;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

/** Replaces the decimal digits of any script by ASCII digits, because Python's `int()` and `float()` accept all of them. */
export function asciiDigits(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the test for ASCII
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  return text.replaceAll(/\p{Nd}/gu, (one) => String(digitValue(one.codePointAt(0)!)));
}

/** Returns the value of a decimal digit. Decimal digits come in blocks of ten that begin with zero; several blocks may be adjacent. */
function digitValue(code: number): number {
  let firstZero = code;
  while (isDecimalDigit(firstZero - 1)) firstZero -= 1;
  return (code - firstZero) % 10;
}

function isDecimalDigit(code: number): boolean {
  return /^\p{Nd}$/u.test(String.fromCodePoint(code));
}
