import type { Dictionary, Utf8Strings } from '../../../../engine/query/memory/column.js';

/** A dictionary that a test adds to. */
export class MadeDictionary implements Dictionary {
  readonly strings: string[];

  constructor(strings: readonly string[] = []) {
    this.strings = [...strings];
  }

  get utf8(): Utf8Strings {
    return stringsOf(this.strings);
  }
}

/** Strings in the form in which a column holds them. */
export function stringsOf(strings: readonly string[]): Utf8Strings {
  const offsets = new Uint32Array(strings.length + 1);
  strings.forEach((text, i) => (offsets[i + 1] = offsets[i]! + Buffer.byteLength(text)));
  return { kind: 'strings', bytes: Buffer.from(strings.join('')), offsets };
}
