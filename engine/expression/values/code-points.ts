/** Longer texts are remembered after their first look, so that a loop over positions does not look again and again. */
const shortLength = 64;
let lastPlain = '';
let lastPoints: readonly string[] = [];
let lastSplit = '';

/** Whether all characters of a text are single code units, so that its positions are those of Python. */
export function isPlain(text: string): boolean {
  if (text.length > shortLength) {
    if (text === lastPlain) return true;
    for (let i = 0; i < text.length; i++)
      if ((text.charCodeAt(i) & 0xf800) === 0xd800) return false;
    lastPlain = text;
    return true;
  }
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xf800) === 0xd800) return false;
  return true;
}

/** The number of code points. */
export function codePointLength(text: string): number {
  return isPlain(text) ? text.length : pointsOf(text).length;
}

/** The code points as texts. */
export function pointsOf(text: string): readonly string[] {
  if (text === lastSplit) return lastPoints;
  const points = Array.from(text);
  if (text.length > shortLength) {
    lastSplit = text;
    lastPoints = points;
  }
  return points;
}

/** The characters from code point `start` up to `stop`, both within the text. */
export function sliceText(text: string, start: number, stop: number): string {
  return isPlain(text) ? text.slice(start, stop) : pointsOf(text).slice(start, stop).join('');
}

/** The code unit where code point `index` begins. */
export function unitOffset(text: string, index: number): number {
  if (isPlain(text)) return index;
  let unit = 0;
  for (let i = 0; i < index && unit < text.length; i++)
    unit += text.codePointAt(unit)! > 0xffff ? 2 : 1;
  return unit;
}

/** The number of code points before a code unit. */
export function pointOffset(text: string, unit: number): number {
  return isPlain(text) ? unit : Array.from(text.slice(0, unit)).length;
}
