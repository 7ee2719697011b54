import { ListBuilder, type StructBuilder } from '../../engine/ingest/nested-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import type { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { AppError } from '../../engine/core/errors.js';
import { packStrings, type PackedStrings } from '../../engine/core/packed-strings.js';
import { hasUndeclaredType, overlaidColumn } from '../../engine/ingest/overlaid-columns.js';
import type { Column } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import { type FastFormatKey, fastKeyOf, readSamples } from './fast-samples.js';
import { uniquePhysicalName, refuseObjectColumns } from './columns.js';
import type { VcfLine } from './line.js';
import { latin1Text } from '../text/parse-numbers.js';
import { keyBuilderOf, type KeyBuilder, type ValueReport } from './key-builder.js';
import { appendValue } from './vcf-values.js';
import { codes } from '../../engine/ingest/validation-codes.js';

interface SampleOptions {
  /** The column of the samples, a list of objects, and its name. */
  readonly column: ColumnBuilder;
  readonly key: string;
  /** Sample names, in the order of the `#CHROM` line. */
  readonly samples: readonly string[];
  /** Whether percent-encoded characters are decoded, as in VCF 4.3 and later (section 1.2). */
  readonly decodes: boolean;
  readonly out: BatchBuilder;
  readonly report: Report;
  /** The column that the dataset already has. */
  readonly existingColumn: Column | undefined;
  /** Dotted names of declared integers that are stored as doubles. After adding a name, the parser leaves the line; see `InfoOptions`. */
  readonly widenedNames: Set<string>;
}

/**
 * The parser stops using the fast path when the lines that needed the general path, counted from any line on, are this many more than the
 * other lines.
 */
const maxGeneralLines = 16;

/** Parses FORMAT and the sample columns into a list of objects, one per sample (contract 10.6; VCF 4.5, section 1.6.2). */
export class SampleParser implements ValueReport {
  readonly #list: ListBuilder<StructBuilder>;
  readonly #struct: StructBuilder;
  readonly #sampleNames: readonly Uint8Array[];
  readonly #nameBuilder: Utf8Builder;
  readonly #entriesByKey = new Map<string, KeyBuilder>();
  readonly #physicalNames: Set<string>;
  readonly #report: Report;
  readonly #decodes: boolean;
  readonly #fieldName: string;
  /** The columns of the dataset by key. */
  readonly #knownColumns: ReadonlyMap<string, Column>;
  readonly #widenedNames: Set<string>;
  /** FORMAT of the previous line, which most lines repeat, and its keys. */
  #formatBytes: Uint8Array = new Uint8Array(0);
  #formatKeys: readonly KeyBuilder[] = [];
  #fastKeys: readonly FastFormatKey[] = [];
  readonly #packedNames: PackedStrings;
  /**
   * By how much the lines that needed the general path exceed the other lines, at least 0. From `maxGeneralLines` on, all lines take the
   * general path, and the number no longer changes.
   */
  #excessGeneralLines = 0;
  #lineNumber = 0;

  constructor(options: SampleOptions) {
    const { column, key, samples, decodes, out, report, existingColumn, widenedNames } = options;
    this.#widenedNames = widenedNames;
    this.#knownColumns = new Map(
      (existingColumn?.children ?? []).map((child) => [child.name, child]),
    );
    if (!(column instanceof ListBuilder) || !('child' in column.items))
      throw new AppError(
        'invalid',
        `field ${key} of this dataset is no list of objects, which the samples of a VCF need: choose another sample_key`,
      );
    this.#list = column as ListBuilder<StructBuilder>;
    this.#struct = this.#list.items;
    this.#fieldName = key;
    this.#report = report;
    this.#decodes = decodes;
    this.#packedNames = packStrings(samples);
    const { bytes, offsets } = this.#packedNames;
    this.#sampleNames = samples.map((_, i) => bytes.subarray(offsets[i], offsets[i + 1]));
    const nameColumn = { name: 'name', physical: 'name', type: 'string', isList: false } as const;
    this.#nameBuilder = this.#struct.child(nameColumn) as Utf8Builder;
    for (const [name, builder] of this.#struct.children)
      if (name !== 'name') {
        const isWidened =
          widenedNames.has(`${key}.${name}`) && hasUndeclaredType(this.#knownColumns.get(name));
        this.#entriesByKey.set(name, keyBuilderOf(name, builder, undefined, isWidened));
      }
    const memberColumns = [...this.#struct.children.values()].map((child) => child.column());
    this.#physicalNames = new Set(
      [...memberColumns, ...this.#knownColumns.values()].map(({ physical }) =>
        physical.toLowerCase(),
      ),
    );
    out.addBuilder(key, column);
  }

  /** Reserves space for the samples of this many records, but not for more samples than `bytes` bytes of text can hold. */
  reserveRows(records: number, bytes: number): void {
    this.#struct.reserveRows(Math.min(records * this.#sampleNames.length, bytes >> 1));
  }

  /** Parses FORMAT and the samples of a line for record `row`; returns false if the line was rejected or the chunk has to be read again. */
  parseSamples(line: VcfLine, row: number): boolean {
    const { bytes, infoTo, formatTo, lineTo } = line;
    this.#lineNumber = line.numberInChunk;
    this.#list.padTo(row);
    if (!this.#readFormat(bytes, infoTo + 1, formatTo)) return false;
    if (this.#excessGeneralLines < maxGeneralLines) {
      if (this.#readFast(bytes, formatTo + 1, lineTo)) {
        if (this.#excessGeneralLines > 0) this.#excessGeneralLines--;
        return true;
      }
      this.#excessGeneralLines++;
    }
    const struct = this.#struct;
    const format = this.#formatKeys;
    let at = formatTo + 1;
    let sampleIndex = 0;
    for (; sampleIndex < this.#sampleNames.length && at <= lineTo; sampleIndex++) {
      const structRow = struct.length;
      const name = this.#sampleNames[sampleIndex]!;
      if ((at === lineTo || bytes[at] === 9) && !this.#toleratesEmpty(name)) return false;
      this.#nameBuilder.padTo(structRow);
      this.#nameBuilder.appendBytes(name, 0, name.length);
      let keyIndex = 0;
      for (;;) {
        let end = at;
        let hasEscape = false;
        for (; end < lineTo; end++) {
          const c = bytes[end]!;
          if (c === 58 || c === 9) break;
          if (c === 37) hasEscape = true;
        }
        const entry = format[keyIndex];
        if (entry === undefined) {
          // Where FORMAT is missing, each sample is missing, too: `bcftools` writes a period for both.
          const isMissing = format.length === 0 && end === at + 1 && bytes[at] === 46;
          if ((end > at && !isMissing) || keyIndex > format.length)
            return this.#reject(
              codes.unreadableLine,
              null,
              `sample "${latin1Text(name, 0, name.length)}" has more values than FORMAT has keys`,
            );
        } else if (!this.#appendValue(entry, bytes, at, end, structRow, hasEscape)) return false;
        at = end + 1;
        keyIndex++;
        if (end >= lineTo || bytes[end] === 9) break;
      }
      struct.endObject();
    }
    if (sampleIndex < this.#sampleNames.length)
      return this.#reject(
        codes.unreadableLine,
        null,
        `${sampleIndex} sample columns, the #CHROM line names ${this.#sampleNames.length}`,
      );
    if (at < lineTo)
      return this.#reject(
        codes.unreadableLine,
        null,
        `more sample columns than the ${this.#sampleNames.length} of the #CHROM line`,
      );
    this.#list.endList();
    return true;
  }

  /** Choice: an empty sample column counts as one without values, like `.`, with a warning. */
  #toleratesEmpty(name: Uint8Array): boolean {
    const message = `the column of sample "${latin1Text(name, 0, name.length)}" is empty: it has no values, as "."`;
    return !this.#report.warn(this.#lineNumber, codes.unreadableLine, this.#fieldName, message);
  }

  /** Parses the samples by the fast path; returns false, with nothing appended, if a value needs the general path. */
  #readFast(bytes: Uint8Array, from: number, to: number): boolean {
    const struct = this.#struct;
    const format = this.#formatKeys;
    const structRow = struct.length;
    const sampleCount = this.#sampleNames.length;
    if (
      format.length === 0 ||
      !readSamples(bytes, from, to, this.#fastKeys, sampleCount, structRow)
    ) {
      struct.truncate(structRow);
      return false;
    }
    this.#nameBuilder.padTo(structRow);
    this.#nameBuilder.appendConsecutive(this.#packedNames, sampleCount, null);
    struct.endObjects(sampleCount);
    this.#list.endList();
    return true;
  }

  #appendValue(
    entry: KeyBuilder,
    bytes: Uint8Array,
    from: number,
    to: number,
    structRow: number,
    hasEscape: boolean,
  ): boolean {
    const { column } = entry;
    column.padTo(structRow);
    if (entry.name === 'GT' && !isGenotype(bytes, from, to))
      return this.#rejectValue(
        entry,
        codes.invalidValue,
        `"${latin1Text(bytes, from, to)}" is not a genotype`,
      );
    const fault = appendValue(entry, bytes, from, to, this.#decodes && hasEscape, this);
    if (fault === null) return true;
    if (fault.isReported === true) return false;
    if (fault.isWider === true && hasUndeclaredType(this.#knownColumns.get(entry.name))) {
      this.#widenedNames.add(`${this.#fieldName}.${entry.name}`);
      return false;
    }
    if (this.#report.isDisabled) {
      column.truncate(structRow);
      column.appendNull();
      return true;
    }
    return this.#rejectValue(entry, fault.code, fault.message);
  }

  #readFormat(bytes: Uint8Array, from: number, to: number): boolean {
    const previousFormat = this.#formatBytes;
    if (previousFormat.length === to - from && previousFormat.length > 0) {
      let i = 0;
      while (i < previousFormat.length && previousFormat[i] === bytes[from + i]) i++;
      if (i === previousFormat.length) return true;
    }
    const text = new TextDecoder().decode(bytes.subarray(from, to));
    const keys = text === '.' || text === '' ? [] : text.split(':');
    const seenKeys = new Set<string>();
    for (const key of keys) {
      if (key === '')
        return this.#reject(
          codes.invalidValue,
          'FORMAT',
          `"${text.slice(0, 80)}" has an empty key`,
        );
      if (seenKeys.has(key))
        return this.#reject(codes.invalidValue, 'FORMAT', `the key ${key} occurs twice`);
      seenKeys.add(key);
    }
    this.#formatKeys = keys.map((key) => this.#entryOf(key));
    this.#fastKeys = this.#formatKeys.map(fastKeyOf);
    this.#formatBytes = bytes.slice(from, to);
    return true;
  }

  /** Returns the entry of a key; a key that neither the header nor the dataset has is a string. */
  #entryOf(name: string): KeyBuilder {
    let entry = this.#entriesByKey.get(name);
    if (entry === undefined) {
      // `name` is the key for the sample's name, so a FORMAT key `name` is stored under another name.
      const memberName = name === 'name' ? 'name~format' : name;
      const knownColumn = this.#knownColumns.get(memberName);
      const physical = knownColumn?.physical ?? uniquePhysicalName(name, this.#physicalNames);
      const ownColumn: Column = { name: memberName, physical, type: 'string', isList: false };
      const column = overlaidColumn(ownColumn, knownColumn);
      refuseObjectColumns([ownColumn], [column], `${this.#fieldName}.`);
      entry = keyBuilderOf(memberName, this.#struct.child(column));
      this.#entriesByKey.set(name, entry);
    }
    return entry;
  }

  warnOrRefuse(entry: KeyBuilder, code: number, message: string): boolean {
    return !this.#report.warn(this.#lineNumber, code, `${this.#fieldName}.${entry.name}`, message);
  }

  #rejectValue(entry: KeyBuilder, code: number, message: string): boolean {
    return this.#reject(code, `${this.#fieldName}.${entry.name}`, message);
  }

  #reject(code: number, field: string | null, message: string): false {
    this.#report.reject(this.#lineNumber, code, field, message);
    return false;
  }
}

/** Returns whether the text has only characters of a GT: digits, `.`, `/` and `|`. Their order is not checked. */
function isGenotype(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const c = bytes[at]!;
    const isDigit = c >= 48 && c <= 57;
    if (!isDigit && c !== 46 && c !== 47 && c !== 124) return false;
  }
  return true;
}
