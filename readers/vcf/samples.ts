import { ListBuilder, type StructBuilder } from '../../engine/ingest/nested-builders.js';
import { Utf8Builder } from '../../engine/ingest/builders.js';
import type { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { AppError } from '../../engine/core/errors.js';
import type { Column } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import { type Call, callOf, readCalls } from './fast-samples.js';
import { freePhysical } from './columns.js';
import type { VcfHeader } from './header.js';
import { latin1 } from '../text/numbers.js';
import { appendValue, entryOf, type Entry } from './values.js';

/** Reads FORMAT and the sample columns into a list of objects, one per sample (contract 10.6). */
export class SampleParser {
  readonly #list: ListBuilder<StructBuilder>;
  readonly #struct: StructBuilder;
  readonly #names: readonly Uint8Array[];
  readonly #name: Utf8Builder;
  readonly #entries = new Map<string, Entry>();
  readonly #physicals: Set<string>;
  readonly #report: Report;
  readonly #decodes: boolean;
  readonly #field: string;
  readonly #known: ReadonlySet<string>;
  readonly #widened: Set<string>;
  /** The entries of the FORMAT text of the last line: files repeat it. */
  #format: readonly Entry[] = [];
  #layout: readonly Call[] = [];
  #formatBytes: Uint8Array = new Uint8Array(0);
  /** All names behind each other, and where each ends. */
  readonly #allNames: Uint8Array;
  readonly #nameEnds: Int32Array;
  /** Lines that were not plain, less those that were. */
  #odd = 0;

  constructor(
    column: ColumnBuilder,
    header: VcfHeader,
    key: string,
    out: BatchBuilder,
    report: Report,
    given: Column | undefined,
    widened: Set<string>,
  ) {
    this.#widened = widened;
    this.#known = new Set((given?.children ?? []).map((child) => child.name));
    if (!(column instanceof ListBuilder) || !('child' in column.items))
      throw new AppError(
        'invalid',
        `field ${key} of this dataset is no list of objects, which the samples of a VCF need: choose another sample_key`,
      );
    this.#list = column as ListBuilder<StructBuilder>;
    this.#struct = this.#list.items;
    this.#field = key;
    this.#report = report;
    this.#decodes = header.version >= 4.3;
    const encoder = new TextEncoder();
    this.#names = header.samples.map((name) => encoder.encode(name));
    this.#allNames = encoder.encode(header.samples.join(''));
    this.#nameEnds = new Int32Array(this.#names.length);
    let end = 0;
    for (const [i, name] of this.#names.entries()) this.#nameEnds[i] = end += name.length;
    const text = { name: 'name', physical: 'name', type: 'string', isList: false } as const;
    this.#name = this.#struct.child(text) as Utf8Builder;
    for (const [name, builder] of this.#struct.children)
      if (name !== 'name') {
        const isWidened = widened.has(`${key}.${name}`) && !this.#known.has(name);
        this.#entries.set(name, entryOf(name, builder, undefined, isWidened));
      }
    this.#physicals = new Set(
      [...this.#struct.children.values()].map((child) => child.column().physical.toLowerCase()),
    );
    out.add(key, column);
  }

  /** Makes room for the samples of so many records, no more than so many bytes can hold. */
  expect(records: number, bytes: number): void {
    this.#struct.expect(Math.min(records * this.#names.length, bytes >> 1));
  }

  /** Reads FORMAT in `bytes[from..formatEnd)` and the samples behind it; false when the line was rejected. */
  parse(
    bytes: Uint8Array,
    from: number,
    formatEnd: number,
    to: number,
    row: number,
    line: number,
  ): boolean {
    this.#list.padTo(row);
    if (!this.#readFormat(bytes, from, formatEnd, line)) return false;
    // Where most lines are odd, trying the short way first would be in vain.
    if (this.#odd < 16) {
      if (this.#readPlain(bytes, formatEnd + 1, to)) {
        if (this.#odd > 0) this.#odd--;
        return true;
      }
      this.#odd++;
    }
    const struct = this.#struct;
    const format = this.#format;
    let at = formatEnd + 1;
    let sample = 0;
    for (; sample < this.#names.length && at <= to; sample++) {
      const index = struct.length;
      const name = this.#names[sample]!;
      if (at === to || bytes[at] === 9)
        return this.#reject(
          line,
          0,
          null,
          `the column of sample "${latin1(name, 0, name.length)}" is empty: "." stands for no values`,
        );
      this.#name.padTo(index);
      this.#name.appendBytes(name, 0, name.length);
      let part = 0;
      for (;;) {
        let end = at;
        let hasEscape = false;
        for (; end < to; end++) {
          const c = bytes[end]!;
          if (c === 58 || c === 9) break;
          if (c === 37) hasEscape = true;
        }
        const entry = format[part];
        if (entry === undefined) {
          if (end > at || part > format.length)
            return this.#reject(
              line,
              0,
              null,
              `sample "${latin1(name, 0, name.length)}" has more values than FORMAT has keys`,
            );
        } else if (!this.#appendPart(entry, bytes, at, end, index, hasEscape, line)) return false;
        at = end + 1;
        part++;
        if (end >= to || bytes[end] === 9) break;
      }
      struct.endObject();
    }
    if (sample < this.#names.length)
      return this.#reject(
        line,
        0,
        null,
        `${sample} sample columns, the #CHROM line names ${this.#names.length}`,
      );
    if (at < to)
      return this.#reject(
        line,
        0,
        null,
        `more sample columns than the ${this.#names.length} of the #CHROM line`,
      );
    this.#list.endList();
    return true;
  }

  /** The samples in one walk; false, with nothing appended, when a value is not plain. */
  #readPlain(bytes: Uint8Array, from: number, to: number): boolean {
    const struct = this.#struct;
    const format = this.#format;
    const index = struct.length;
    const samples = this.#names.length;
    if (format.length === 0 || !readCalls(bytes, from, to, this.#layout, samples, index)) {
      struct.truncate(index);
      return false;
    }
    this.#name.padTo(index);
    this.#name.appendAll(this.#allNames, this.#nameEnds);
    struct.endObjects(samples);
    this.#list.endList();
    return true;
  }

  #appendPart(
    entry: Entry,
    bytes: Uint8Array,
    from: number,
    to: number,
    index: number,
    hasEscape: boolean,
    line: number,
  ): boolean {
    const { column } = entry;
    column.padTo(index);
    if (entry.name === 'GT' && !isGenotype(bytes, from, to))
      return this.#fault(entry, line, 301, `"${latin1(bytes, from, to)}" is not a genotype`);
    const fault = appendValue(entry, bytes, from, to, this.#decodes && hasEscape);
    if (fault === null) return true;
    if (fault.isWider === true && !this.#known.has(entry.name)) {
      this.#widened.add(`${this.#field}.${entry.name}`);
      return false;
    }
    if (this.#report.isDisabled) {
      column.truncate(index);
      column.appendNull();
      return true;
    }
    return this.#fault(entry, line, fault.code, fault.message);
  }

  #readFormat(bytes: Uint8Array, from: number, to: number, line: number): boolean {
    const last = this.#formatBytes;
    if (last.length === to - from && last.length > 0) {
      let i = 0;
      while (i < last.length && last[i] === bytes[from + i]) i++;
      if (i === last.length) return true;
    }
    const text = new TextDecoder().decode(bytes.subarray(from, to));
    const keys = text === '.' || text === '' ? [] : text.split(':');
    const seen = new Set<string>();
    for (const key of keys) {
      if (key === '')
        return this.#reject(line, 301, 'FORMAT', `"${text.slice(0, 80)}" has an empty key`);
      if (seen.has(key)) return this.#reject(line, 301, 'FORMAT', `the key ${key} occurs twice`);
      seen.add(key);
    }
    this.#format = keys.map((key) => this.#entry(key));
    this.#layout = this.#format.map(callOf);
    this.#formatBytes = bytes.slice(from, to);
    return true;
  }

  /** The entry of a key; an undeclared one is text. */
  #entry(name: string): Entry {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      const physical = freePhysical(name, this.#physicals);
      // `name` holds the sample's name; a FORMAT key of that name keeps its values under another.
      const unique = name === 'name' ? 'name~format' : name;
      entry = entryOf(
        unique,
        this.#struct.child({ name: unique, physical, type: 'string', isList: false }),
      );
      this.#entries.set(name, entry);
    }
    return entry;
  }

  #fault(entry: Entry, line: number, code: number, message: string): boolean {
    return this.#reject(line, code, `${this.#field}.${entry.name}`, message);
  }

  #reject(line: number, code: number, field: string | null, message: string): boolean {
    this.#report.reject(line, code, field, message);
    return false;
  }
}

/** Allele numbers or `.` between `/` and `|` (VCF 4.4 allows a leading one). */
function isGenotype(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const c = bytes[at]!;
    const isDigit = c >= 48 && c <= 57;
    if (!isDigit && c !== 46 && c !== 47 && c !== 124) return false;
  }
  return true;
}
