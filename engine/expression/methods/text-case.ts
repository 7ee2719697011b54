import { isPrintable, isWhiteSpace } from '../values/unicode-characters.js';
import { exactArguments } from '../values/native.js';
import type { NativeDeclaration } from '../values/native.js';
import type { Runtime } from '../values/python-values.js';

const asciiPattern = /^[\x20-\x7e\t\n\r]*$/;
const upperCasePattern = /\p{Uppercase}/u;
const lowerCasePattern = /\p{Lowercase}/u;
const titleCasePattern = /\p{Lt}/u;
/** Digits that are not decimal digits, such as superscripts and circled digits. */
const nonDecimalDigitPattern =
  /[\u00b2\u00b3\u00b9\u1369-\u1371\u19da\u2070\u2074-\u2079\u2080-\u2089\u2460-\u2468\u2474-\u247c\u2488-\u2490\u24ea\u24f5-\u24fd\u24ff\u2776-\u277e\u2780-\u2788\u278a-\u2792]/;
/** Chinese characters, of which `hanNumerals` are those that are numbers. */
const hanCharacterPattern = /[\u3400-\u9fff]/;
const hanNumerals = new Set(
  '㐅㒃㠪㭍一七万三九二五亖亿什仟仨伍佰億兆兩八六十千卄卅卌叁参參叄四壱壹夀幺廾廿弌弍弎弐拾捌柒漆玖百肆萬貮貳贰阡陆陌陸零',
);

/** Returns the case-folded text, like Python's `str.casefold`. */
function caseFold(text: string): string {
  if (asciiPattern.test(text)) return text.toLowerCase();
  let foldedText = '';
  for (const one of text) {
    if (one === '\u0131') foldedText += one;
    else if (/[\u13a0-\u13ef]/.test(one)) foldedText += one;
    else foldedText += Array.from(one.toUpperCase(), (letter) => letter.toLowerCase()).join('');
  }
  return foldedText;
}

/** The letters of Latin Extended-B that have a title case of their own. */
const digraphs: Readonly<Record<string, string>> = {
  '\u01c4': '\u01c5',
  '\u01c5': '\u01c5',
  '\u01c6': '\u01c5',
  '\u01c7': '\u01c8',
  '\u01c8': '\u01c8',
  '\u01c9': '\u01c8',
  '\u01ca': '\u01cb',
  '\u01cb': '\u01cb',
  '\u01cc': '\u01cb',
  '\u01f1': '\u01f2',
  '\u01f2': '\u01f2',
  '\u01f3': '\u01f2',
};

function titleCaseOf(letter: string): string {
  const digraph = digraphs[letter];
  if (digraph !== undefined) return digraph;
  const [first = '', ...rest] = Array.from(letter.toUpperCase());
  return first + rest.join('').toLowerCase();
}

function isCased(one: string): boolean {
  return upperCasePattern.test(one) || lowerCasePattern.test(one) || titleCasePattern.test(one);
}

/** Returns the lower case of a letter in a text; at the end of a word, the lower case of a sigma is the final sigma. */
function lowerCaseAt(text: string, at: number, letter: string): string {
  if (letter !== 'Σ') return letter.toLowerCase();
  const isLast = /[\p{L}\p{Lt}][\p{Case_Ignorable}]*$/u.test(text.slice(Math.max(0, at - 50), at));
  const isFollowed = /^\p{Case_Ignorable}*\p{Cased}/u.test(text.slice(at + 1, at + 50));
  return isLast && !isFollowed ? 'ς' : 'σ';
}

function title(text: string): string {
  let result = '';
  let isInside = false;
  let at = 0;
  for (const one of text) {
    result += isInside ? lowerCaseAt(text, at, one) : titleCaseOf(one);
    isInside = isCased(one);
    at += one.length;
  }
  return result;
}

function swapCase(text: string): string {
  let result = '';
  let at = 0;
  for (const one of text) {
    if (upperCasePattern.test(one)) result += lowerCaseAt(text, at, one);
    else result += lowerCasePattern.test(one) ? one.toUpperCase() : one;
    at += one.length;
  }
  return result;
}

function capitalize(text: string): string {
  if (text === '') return '';
  const first = String.fromCodePoint(text.codePointAt(0)!);
  return titleCaseOf(first) + text.slice(first.length).toLowerCase();
}

/** Declares a method whose result is about as long as its text. */
function lengthPreservingMethod(change: (text: string) => string): NativeDeclaration {
  return exactArguments(0, (runtime: Runtime, text: string) => {
    runtime.budget.chargeText(text.length);
    return change(text);
  });
}

/** Declares a method that tests each character; `whenEmpty` is its result for no characters. */
function characterTest(test: (one: string) => boolean, whenEmpty = false): NativeDeclaration {
  return exactArguments(0, (runtime: Runtime, text: string) => {
    runtime.budget.charge(text.length >>> 4);
    if (text === '') return whenEmpty;
    for (const one of text) if (!test(one)) return false;
    return true;
  });
}

function caseTest(wanted: RegExp, other: RegExp): NativeDeclaration {
  return exactArguments(0, (runtime: Runtime, text: string) => {
    runtime.budget.charge(text.length >>> 4);
    let hasWantedCase = false;
    for (const one of text) {
      if (other.test(one) || titleCasePattern.test(one)) return false;
      hasWantedCase ||= wanted.test(one);
    }
    return hasWantedCase;
  });
}

function isTitle(text: string): boolean {
  let hasCasedLetter = false;
  let isInside = false;
  for (const one of text) {
    if (upperCasePattern.test(one) || titleCasePattern.test(one)) {
      if (isInside) return false;
      isInside = true;
      hasCasedLetter = true;
    } else if (lowerCasePattern.test(one)) {
      if (!isInside) return false;
      hasCasedLetter = true;
    } else isInside = false;
  }
  return hasCasedLetter;
}

const isDigit = (one: string) => /\p{Nd}/u.test(one) || nonDecimalDigitPattern.test(one);
const isNumeric = (one: string) =>
  /\p{N}/u.test(one) || (hanCharacterPattern.test(one) && hanNumerals.has(one));

/** The methods of `str` about letter case and kinds of characters. */
export const caseMethods: Readonly<Record<string, NativeDeclaration>> = {
  upper: lengthPreservingMethod((text) => text.toUpperCase()),
  lower: lengthPreservingMethod((text) => text.toLowerCase()),
  casefold: lengthPreservingMethod(caseFold),
  capitalize: lengthPreservingMethod(capitalize),
  title: lengthPreservingMethod(title),
  swapcase: lengthPreservingMethod(swapCase),
  isalpha: characterTest((one) => /\p{L}/u.test(one)),
  isalnum: characterTest((one) => /\p{L}/u.test(one) || isNumeric(one)),
  isdecimal: characterTest((one) => /\p{Nd}/u.test(one)),
  isdigit: characterTest(isDigit),
  isnumeric: characterTest(isNumeric),
  isspace: characterTest((one) => isWhiteSpace(one.codePointAt(0)!)),
  isprintable: characterTest((one) => isPrintable(one.codePointAt(0)!), true),
  isascii: characterTest((one) => one <= '\x7f', true),
  isupper: caseTest(upperCasePattern, lowerCasePattern),
  islower: caseTest(lowerCasePattern, upperCasePattern),
  istitle: exactArguments(0, (runtime, text: string) => {
    runtime.budget.charge(text.length >>> 4);
    return isTitle(text);
  }),
  isidentifier: exactArguments(0, (runtime, text: string) => {
    runtime.budget.charge(text.length >>> 4);
    return /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(text);
  }),
};
