/**
 * A text in lower case as the SQL engine's lower() has it: one code point for one, of the version of Unicode that it knows. A test
 * holds the two against each other for every code point there is.
 */
export function lowerCase(text: string): string {
  // oxlint-disable-next-line no-control-regex -- ASCII begins with them
  if (/^[\u0000-\u007f]*$/.test(text)) return text.toLowerCase();
  let lower = '';
  for (const char of text.toWellFormed()) lower += lowerChar(char);
  return lower;
}

/** Letters whose lower case came to Unicode after the SQL engine's tables. */
const unpaired: readonly (readonly [number, number])[] = [
  [0x1c89, 0x1c89],
  [0xa7cb, 0xa7cc],
  [0xa7ce, 0xa7ce],
  [0xa7d2, 0xa7d2],
  [0xa7d4, 0xa7d4],
  [0xa7da, 0xa7da],
  [0xa7dc, 0xa7dc],
  [0x10d50, 0x10d65],
  [0x16ea0, 0x16eb8],
];

function lowerChar(char: string): string {
  // The only letter whose full lower case is longer than the simple one.
  if (char === '\u0130') return 'i';
  const code = char.codePointAt(0)!;
  if (code >= 0x1c89 && unpaired.some(([from, to]) => code >= from && code <= to)) return char;
  return char.toLowerCase();
}
