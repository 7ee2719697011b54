import type { BooleanBuilder } from '../../engine/ingest/fixed-width-builders.js';
import { Utf8Builder } from '../../engine/ingest/utf8-builder.js';
import { ListBuilder, StructBuilder } from '../../engine/ingest/nested-builders.js';
import type { BatchBuilder } from '../../engine/ingest/batch.js';
import {
  hasOpenType,
  hasUndeclaredType,
  overlaidColumn,
} from '../../engine/ingest/overlaid-columns.js';
import type { Column } from '../../engine/core/types.js';
import type { Report } from '../reader.js';
import {
  describeType,
  uniquePhysicalName,
  refuseObjectColumns,
  typeConflictError,
} from './columns.js';
import { parseInteger } from '../text/parse-numbers.js';
import type { LineAnnotations } from './line-annotations.js';
import type { VcfLine } from './line.js';
import type { InfoExtent } from './stop-position.js';
import { InfoKeyTable } from './key-table.js';
import type { InfoInterpretation } from './vcf-header.js';
import { symbolsFieldName } from './known-sources.js';
import {
  keyBuilderOf,
  KeyKind,
  KeyRole,
  type KeyBuilder,
  type ValueReport,
} from './key-builder.js';
import { appendFastValue } from './fast-values.js';
import { appendValue } from './vcf-values.js';
import { codes } from '../../engine/ingest/validation-codes.js';

const severalValuesWarning = 'several values where the header promises one';
const repeatedKeyWarning = 'the key occurs twice: the first value holds';

interface InfoOptions {
  /** The column `info` that the header declares. */
  readonly column: Column | undefined;
  /** The column `info` that the dataset already has. */
  readonly existingColumn: Column | undefined;
  /** Whether percent-encoded characters are decoded, as in VCF 4.3 and later (section 1.2). */
  readonly decodes: boolean;
  readonly out: BatchBuilder;
  readonly report: Report;
  /**
   * Dotted names of declared integers that are stored as doubles, and of undeclared flags that are stored as text. After adding a name, the
   * parser leaves the line, and the chunk is read again.
   */
  readonly widenedNames: Set<string>;
  /** The interpretations of INFO keys. */
  readonly meanings: readonly InfoInterpretation[];
  /** The annotations of the line and their key, if each annotation becomes a record; else null. */
  readonly annotations: LineAnnotations | null;
  readonly explodedKey: string | null;
}

/** Parses INFO into the struct column `info`. */
export class InfoParser implements InfoExtent, ValueReport {
  infoEnd = -1;
  svlenFrom = 0;
  svlenTo = 0;
  readonly #struct: StructBuilder;
  readonly #keyTable = new InfoKeyTable();
  readonly #options: InfoOptions;
  /** Columns that the dataset has, by key. */
  readonly #knownColumns: ReadonlyMap<string, Column>;
  readonly #widenedNames: Set<string>;
  readonly #meanings: ReadonlyMap<string, InfoInterpretation>;
  readonly #physicalNames: Set<string>;
  /** Undeclared keys that have occurred only without a value so far. */
  readonly #undeclaredFlags = new Set<KeyBuilder>();
  readonly #decoder = new TextDecoder();
  /** The first key of the previous line. */
  #firstKey: KeyBuilder | null = null;
  #isColumnAdded = false;
  // The bytes of the record being parsed.
  #bytes: Uint8Array = new Uint8Array(0);
  #lineNumber = 0;
  #row = 0;

  constructor(options: InfoOptions) {
    const { column, existingColumn, widenedNames, meanings } = options;
    this.#meanings = new Map(meanings.map((one) => [one.id, one]));
    this.#options = options;
    this.#widenedNames = widenedNames;
    const emptyColumn: Column = {
      name: 'info',
      physical: 'info',
      type: 'object',
      isList: false,
      children: [],
    };
    const structColumn = column ?? overlaidColumn(emptyColumn, existingColumn);
    if (structColumn.type !== 'object' || structColumn.isList)
      throw typeConflictError('info', describeType(structColumn), 'object');
    this.#struct = new StructBuilder(structColumn);
    this.#knownColumns = new Map(
      (existingColumn?.children ?? []).map((child) => [child.name, child]),
    );
    this.#physicalNames = new Set(
      [...(column?.children ?? []), ...(existingColumn?.children ?? [])].map((child) =>
        child.physical.toLowerCase(),
      ),
    );
    for (const [name, builder] of this.#struct.children)
      this.#keyTable.add(
        keyBuilderOf(
          name,
          builder,
          this.#roleOf(name),
          this.#isWidened(name),
          this.#knownColumns.get(name),
          this.#meanings.get(name)?.separator,
        ),
      );
    if (this.#struct.children.size > 0) this.#addColumn();
  }

  /**
   * Parses the INFO of a line for record `row`; returns false when the line was rejected or the chunk has to be read again. Where every
   * annotation becomes a record, `annotationIndex` is the index of the annotation of this record; -1 for none.
   */
  parseInfo(line: VcfLine, row: number, annotationIndex: number): boolean {
    const { bytes, infoFrom: from, infoTo: to } = line;
    this.infoEnd = -1;
    this.svlenTo = this.svlenFrom = 0;
    this.#lineNumber = line.numberInChunk;
    this.#bytes = bytes;
    this.#row = row;
    if (from >= to || (to - from === 1 && bytes[from] === 46)) {
      if (this.#isColumnAdded) this.#struct.padTo(row);
      return true;
    }
    this.#struct.padTo(row);
    const { annotations } = this.#options;
    let guess = this.#firstKey;
    let previous: KeyBuilder | null = null;
    for (let at = from; at < to;) {
      // Most files repeat the order of their keys, so the key that followed in the previous line is tried first.
      let entry = guess;
      if (entry === null || !isKeyAt(entry.bytes, bytes, at, to)) {
        entry = this.#keyTable.find(bytes, at, to);
        if (entry === null) {
          const c = bytes[at];
          if (c === 61)
            return this.#reject(codes.unreadableLine, null, 'a value without a key in INFO');
          if (c === 59) {
            // An empty item: `;;` or a trailing `;`.
            at++;
            continue;
          }
          entry = this.#addKey(at, to);
        }
        if (previous === null) this.#firstKey = entry;
        else previous.next = entry;
      }
      previous = entry;
      guess = entry.next;
      const keyEnd = at + entry.bytes.length;
      const hasValue = keyEnd < to && bytes[keyEnd] === 61;
      if (entry.role === KeyRole.Exploded && annotations?.valueFrom === keyEnd + 1) {
        if (!this.#appendAnnotation(entry, annotations, annotationIndex)) return false;
        at = annotations.valueTo + 1;
        continue;
      }
      const fastEnd = hasValue ? appendFastValue(entry, bytes, keyEnd + 1, to, row) : -1;
      if (fastEnd >= 0) {
        if (entry.role !== KeyRole.None) this.#applyRole(entry, keyEnd + 1, fastEnd);
        at = fastEnd + 1;
        continue;
      }
      let valueEnd = hasValue ? keyEnd + 1 : keyEnd;
      let hasComma = false;
      let hasEscape = false;
      if (hasValue) {
        for (; valueEnd < to; valueEnd++) {
          const c = bytes[valueEnd]!;
          if (c === 59) break;
          if (c === 44) hasComma = true;
          else if (c === 37) hasEscape = true;
        }
      }
      if (!this.#appendKey(entry, keyEnd, valueEnd, hasComma, hasEscape)) return false;
      at = valueEnd + 1;
    }
    this.#struct.endObject();
    return true;
  }

  /** Appends a key with the value `bytes[keyEnd + 1..valueEnd)`, or without a value when `valueEnd` is `keyEnd`. */
  #appendKey(
    entry: KeyBuilder,
    keyEnd: number,
    valueEnd: number,
    hasComma: boolean,
    hasEscape: boolean,
  ): boolean {
    const { column } = entry;
    if (column.length > this.#row)
      return this.warnOrRefuse(entry, codes.unexpectedList, repeatedKeyWarning);
    column.padTo(this.#row);
    if (valueEnd === keyEnd) {
      if (entry.kind === KeyKind.Flag && !entry.isList) (column as BooleanBuilder).append(true);
      else if (entry.kind === KeyKind.Text && !entry.isList) appendTrue(entry, this);
      else column.appendNull();
      return true;
    }
    if (this.#undeclaredFlags.has(entry)) {
      // Choice: an undeclared key that has a value in any of its occurrences is text, and "true" where it has no value.
      this.#widenedNames.add(`info.${entry.name}`);
      return false;
    }
    const from = keyEnd + 1;
    let to = valueEnd;
    if (hasComma && !entry.isList) {
      if (!this.warnOrRefuse(entry, codes.unexpectedList, severalValuesWarning)) return false;
      // Choice: where the header declares one value and several come, text is stored unsplit; of any other type, the first value is stored.
      if (entry.kind !== KeyKind.Text) to = this.#bytes.indexOf(44, from);
    }
    if (entry.role !== KeyRole.None) this.#applyRole(entry, from, to);
    return this.#appendRange(entry, from, to, hasEscape);
  }

  #appendAnnotation(entry: KeyBuilder, annotations: LineAnnotations, index: number): boolean {
    if (entry.column.length > this.#row)
      return this.warnOrRefuse(entry, codes.unexpectedList, repeatedKeyWarning);
    entry.column.padTo(this.#row);
    if (index < 0) {
      entry.column.appendNull();
      return true;
    }
    return this.#appendRange(
      entry,
      annotations.annotationStarts[index]!,
      annotations.annotationEnd(index),
      true,
    );
  }

  #appendRange(entry: KeyBuilder, from: number, to: number, hasEscape: boolean): boolean {
    const { column } = entry;
    const { decodes, report } = this.#options;
    const fault = appendValue(entry, this.#bytes, from, to, decodes && hasEscape, this);
    if (fault === null) return true;
    if (fault.isReported === true) return false;
    if (fault.isWider === true && hasUndeclaredType(this.#knownColumns.get(entry.name))) {
      this.#widenedNames.add(`info.${entry.name}`);
      return false;
    }
    if (report.isDisabled) {
      column.truncate(this.#row);
      column.appendNull();
      return true;
    }
    return this.#reject(fault.code, `info.${entry.name}`, fault.message);
  }

  #isWidened(name: string): boolean {
    return (
      this.#widenedNames.has(`info.${name}`) && hasUndeclaredType(this.#knownColumns.get(name))
    );
  }

  /** Keeps the values of END and SVLEN, from which `symbolicAlleleStop` determines the stop position, and stores gene symbols. */
  #applyRole(entry: KeyBuilder, from: number, to: number): void {
    if (entry.role === KeyRole.End) this.infoEnd = parseInteger(this.#bytes, from, to);
    else if (entry.role === KeyRole.Svlen) {
      this.svlenFrom = from;
      this.svlenTo = to;
    } else if (entry.role === KeyRole.Genes) this.#appendSymbols(entry, from, to);
  }

  /** Appends the gene symbols of a value such as `BRCA2:675|LOC1:2` to the list field that `symbolsFieldName` names. */
  #appendSymbols({ name }: KeyBuilder, from: number, to: number): void {
    const bytes = this.#bytes;
    const list = this.#struct.children.get(symbolsFieldName(name));
    if (!(list instanceof ListBuilder) || !(list.items instanceof Utf8Builder)) return;
    const { symbolTerminator, separator = '|' } = this.#meanings.get(name)!;
    const [terminator, separatorByte] = [symbolTerminator!.charCodeAt(0), separator.charCodeAt(0)];
    const otherByte = separator.length > 1 ? separator.charCodeAt(1) : separatorByte;
    list.padTo(this.#row);
    for (let at = from; at < to; at++) {
      let end = at;
      while (end < to && bytes[end] !== terminator && bytes[end] !== separatorByte && bytes[end] !== otherByte) end++; // prettier-ignore
      if (end > at && !(end - at === 1 && bytes[at] === 46)) list.items.appendBytes(bytes, at, end);
      while (end < to && bytes[end] !== separatorByte && bytes[end] !== otherByte) end++;
      at = end;
    }
    list.endList();
  }

  #roleOf(name: string): KeyRole {
    if (name === this.#options.explodedKey) return KeyRole.Exploded;
    if (name === 'END') return KeyRole.End;
    if (this.#meanings.get(name)?.symbolTerminator !== undefined) return KeyRole.Genes;
    return name === 'SVLEN' ? KeyRole.Svlen : KeyRole.None;
  }

  warnOrRefuse(entry: KeyBuilder, code: number, message: string): boolean {
    const { report } = this.#options;
    return !report.warn(this.#lineNumber, code, `info.${entry.name}`, message);
  }

  #reject(code: number, field: string | null, message: string): false {
    this.#options.report.reject(this.#lineNumber, code, field, message);
    return false;
  }

  /**
   * Adds a key that the header does not declare. Unless the dataset has it with a type, it is a string, or a flag if its first occurrence
   * has no value and `widenedNames` does not have it (contract 10.6).
   */
  #addKey(from: number, to: number): KeyBuilder {
    const bytes = this.#bytes;
    let keyEnd = from;
    while (keyEnd < to && bytes[keyEnd] !== 61 && bytes[keyEnd] !== 59) keyEnd++;
    const name = this.#decoder.decode(bytes.subarray(from, keyEnd));
    const knownColumn = this.#knownColumns.get(name);
    const hasValue =
      (keyEnd < to && bytes[keyEnd] === 61) || this.#widenedNames.has(`info.${name}`);
    const ownColumn: Column = {
      name,
      physical:
        knownColumn === undefined
          ? uniquePhysicalName(name, this.#physicalNames)
          : knownColumn.physical,
      type: hasValue ? 'string' : 'boolean',
      isList: false,
    };
    const column = overlaidColumn(ownColumn, knownColumn);
    refuseObjectColumns([ownColumn], [column], 'info.');
    const entry = keyBuilderOf(name, this.#struct.child(column), this.#roleOf(name));
    if (hasOpenType(knownColumn) && !hasValue) this.#undeclaredFlags.add(entry);
    this.#keyTable.add(entry);
    this.#addColumn();
    return entry;
  }

  #addColumn(): void {
    if (this.#isColumnAdded) return;
    this.#isColumnAdded = true;
    this.#options.out.addBuilder('info', this.#struct);
  }
}

/** Returns whether the key is at `at`, followed by `=`, `;` or the end. */
function isKeyAt(key: Uint8Array, bytes: Uint8Array, at: number, to: number): boolean {
  const end = at + key.length;
  if (end > to) return false;
  for (let i = 0; i < key.length; i++) if (key[i] !== bytes[at + i]) return false;
  return end === to || bytes[end] === 61 || bytes[end] === 59;
}

const trueBytes = new TextEncoder().encode('true');

function appendTrue(entry: KeyBuilder, report: ValueReport): void {
  appendValue(entry, trueBytes, 0, trueBytes.length, false, report);
}
