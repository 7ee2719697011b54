import { tokenize } from '../text/tokenizer.js';

/** A text in lower case, character by character, as the engine of datasets has it. */
export function lower(text: string): string {
  // oxlint-disable-next-line no-control-regex -- ASCII begins with them
  if (/^[\u0000-\u007f]*$/.test(text)) return text.toLowerCase();
  return Array.from(text, (char) => char.toLowerCase()).join('');
}

/** Every one of these words, in lower case, is a word of the text. */
export function hasWords(text: string, wanted: readonly string[]): boolean {
  const folded = lower(text);
  return wanted.every((word) => countWord(folded, word, 1) > 0);
}

/** How often these words, in lower case, stand one behind the other in the text; `most` is enough. */
export function countPhrase(text: string, wanted: readonly string[], most = Infinity): number {
  const folded = lower(text);
  const [first, ...more] = wanted;
  if (first === undefined || !folded.includes(first)) return 0;
  if (more.length === 0) return countWord(folded, first, most);
  const present = tokenize(folded);
  let count = 0;
  for (let i = 0; i + wanted.length <= present.length && count < most; i++)
    if (wanted.every((word, j) => present[i + j] === word)) count += 1;
  return count;
}

function countWord(folded: string, word: string, most: number): number {
  let count = 0;
  for (let i = folded.indexOf(word); i >= 0 && count < most; i = folded.indexOf(word, i + 1))
    if (isEdge(folded, i) && isEdge(folded, i + word.length)) count += 1;
  return count;
}

/** A word may begin, or end, here: on one side of the place there is nothing of a word. */
function isEdge(text: string, place: number): boolean {
  return isBetween(charBefore(text, place)) || isBetween(charAt(text, place));
}

function charAt(text: string, place: number): string {
  const code = text.codePointAt(place);
  return code === undefined ? '' : String.fromCodePoint(code);
}

function charBefore(text: string, place: number): string {
  if (place === 0) return '';
  const isLow = /[\udc00-\udfff]/.test(text[place - 1]!);
  return charAt(text, isLow && place > 1 ? place - 2 : place - 1);
}

const known = new Map<string, boolean>();

/** What is no part of a word; so is the end of the text. */
function isBetween(char: string): boolean {
  let answer = known.get(char);
  if (answer === undefined) {
    answer = tokenize(char).length === 0;
    if (known.size < 10_000) known.set(char, answer);
  }
  return answer;
}

/** Which text comes first by code points, as everywhere in the query language; UTF-16 has them in another order. */
export function compareTexts(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let i = 0; i < end; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xe000;
    return isHigh(x) === isHigh(y) ? x - y : isHigh(x) ? 1 : -1;
  }
  return a.length - b.length;
}

/** A text that JavaScript's own comparison puts where code points would: what is above the surrogates changes places with them. */
export function sortable(text: string): string {
  if (!/[\ud800-\uffff]/.test(text)) return text;
  return text.replaceAll(/[\ud800-\uffff]/g, (unit) => {
    const code = unit.charCodeAt(0);
    return String.fromCharCode(code < 0xe000 ? code + 0x2000 : code - 0x800);
  });
}
