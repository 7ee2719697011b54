/** Of texts that are longer, the result of the last scan is kept, so that a loop over positions does not scan the text repeatedly. */
const maxUncachedLength = 64;
let lastPlainText = '';
let lastCodePoints: readonly string[] = [];
let lastSplitText = '';

/** Whether a text has no surrogates, so that JavaScript's positions equal Python's. */
export function hasNoSurrogates(text: string): boolean {
  if (text.length > maxUncachedLength) {
    if (text === lastPlainText) return true;
    for (let i = 0; i < text.length; i++)
      if ((text.charCodeAt(i) & 0xf800) === 0xd800) return false;
    lastPlainText = text;
    return true;
  }
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xf800) === 0xd800) return false;
  return true;
}

/** Returns the number of code points of a text. */
export function codePointLength(text: string): number {
  return hasNoSurrogates(text) ? text.length : codePointsOf(text).length;
}

/** Returns the code points of a text as a list of texts. */
export function codePointsOf(text: string): readonly string[] {
  if (text === lastSplitText) return lastCodePoints;
  const points = Array.from(text);
  if (text.length > maxUncachedLength) {
    lastSplitText = text;
    lastCodePoints = points;
  }
  return points;
}

/** Returns the characters from code point `start` up to (not including) `stop`, both within the text. */
export function sliceText(text: string, start: number, stop: number): string {
  return hasNoSurrogates(text)
    ? text.slice(start, stop)
    : codePointsOf(text).slice(start, stop).join('');
}

/** Returns the offset in code units at which code point `index` begins. */
export function codeUnitOffset(text: string, index: number): number {
  if (hasNoSurrogates(text)) return index;
  let unit = 0;
  for (let i = 0; i < index && unit < text.length; i++)
    unit += text.codePointAt(unit)! > 0xffff ? 2 : 1;
  return unit;
}

/** Returns the number of code points before an offset in code units. */
export function codePointOffset(text: string, unit: number): number {
  return hasNoSurrogates(text) ? unit : Array.from(text.slice(0, unit)).length;
}
