import type { Dictionary, Utf8Strings } from '../../../../engine/query/memory/match/column.js';

/** A dictionary to which a test adds values. */
export class TestDictionary implements Dictionary {
  readonly strings: string[];

  constructor(strings: readonly string[] = []) {
    this.strings = [...strings];
  }

  get utf8(): Utf8Strings {
    return utf8StringsOf(this.strings);
  }
}

/** Returns strings in the form in which a column in memory holds them. */
export function utf8StringsOf(strings: readonly string[]): Utf8Strings {
  const offsets = new Uint32Array(strings.length + 1);
  strings.forEach((text, i) => (offsets[i + 1] = offsets[i]! + Buffer.byteLength(text)));
  return { kind: 'strings', bytes: Buffer.from(strings.join('')), offsets };
}
