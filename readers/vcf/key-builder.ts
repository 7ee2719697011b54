import type { ColumnBuilder } from '../../engine/ingest/column-builder.js';
import {
  BooleanBuilder,
  DoubleBuilder,
  IntegerBuilder,
  LongBuilder,
} from '../../engine/ingest/fixed-width-builders.js';
import { ListBuilder, StructBuilder } from '../../engine/ingest/nested-builders.js';
import type { Column } from '../../engine/core/types.js';
import { uniquePhysicalName } from './columns.js';

/** Describes why a value cannot be stored; the caller adds the line number and the field name. */
export interface ValueFault {
  readonly code: number;
  readonly message: string;
  /** The value is a number that would fit a double. */
  readonly isWider?: boolean;
  /** The value is NaN or infinite; `message` says so. */
  readonly isNonFinite?: boolean;
  /** The value is longer than a string may be, in a column that may become one of type `text`. */
  readonly isLongText?: boolean;
  /** The value has been reported as an error. */
  readonly isReported?: boolean;
}

/** Receives warnings about values that are not stored as the file has them. */
export interface ValueReport {
  /** Reports a warning; returns false if strict validation makes it an error. */
  warnOrRefuse(entry: KeyBuilder, code: number, message: string): boolean;
}

/** How the values of an INFO or FORMAT key are stored; determined once per chunk from the type of the column. */
export const enum KeyKind {
  Flag,
  Integer,
  Long,
  Double,
  /** An Integer of the header that is stored as a double, because a value of the chunk is a fraction. */
  Widened,
  Text,
  /** An ISO date; only for a field that somebody declared as a date. */
  Date,
  /** A field of JSON text: the value is a JSON string. */
  Json,
  Annotation,
}

/**
 * What a key determines besides its own column: the stop position of the record (END, SVLEN), the records that annotations become, or gene
 * symbols.
 */
export const enum KeyRole {
  None,
  End,
  Svlen,
  Exploded,
  /** Each value of this INFO key begins with a gene symbol, such as `BRCA1:672` in `GENEINFO`. */
  Genes,
}

/** An INFO or FORMAT key with the builder of its values. */
export interface KeyBuilder {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly kind: KeyKind;
  readonly isList: boolean;
  /** The builder of the column; `items` is the element builder of a list, else the same builder. */
  readonly column: ColumnBuilder;
  readonly items: ColumnBuilder;
  readonly role: KeyRole;
  /** The byte that separates the values of a list. */
  readonly separator: number;
  /** A second byte that separates the values; -1 for none. */
  readonly otherSeparator: number;
  /** Somebody declared the type of the field. */
  readonly isDeclared: boolean;
  /** The builders of the annotation parts that the header names, and the column for further parts. */
  readonly parts: readonly ColumnBuilder[];
  readonly extra: Column | null;
  /** The key that followed this key when it last occurred: most lines have the same order of keys. */
  next: KeyBuilder | null;
}

/**
 * Creates the entry of a key. `isWidened`: the header declares integers, the column stores doubles. `existingColumn` is the column that the
 * dataset has for the key; `separators` are the one or two characters that separate values.
 */
export function keyBuilderOf(
  name: string,
  column: ColumnBuilder,
  role = KeyRole.None,
  isWidened = false,
  existingColumn?: Column,
  separators = ',',
): KeyBuilder {
  const isList = column instanceof ListBuilder;
  const items = isList ? column.items : column;
  const parts = items instanceof StructBuilder ? [...items.children.values()] : [];
  return {
    name,
    bytes: new TextEncoder().encode(name),
    kind: isWidened ? KeyKind.Widened : keyKindOf(items),
    isList,
    column,
    items,
    role,
    separator: separators.charCodeAt(0),
    otherSeparator: separators.length > 1 ? separators.charCodeAt(1) : -1,
    isDeclared: column.column().isDeclared === true,
    parts,
    extra: parts.length === 0 ? null : extraColumn(parts, existingColumn),
    next: null,
  };
}

/**
 * Returns the column for further parts of an annotation: a list of strings named `extra`, or `extra_2` and so on if the header names a part
 * `extra`, or the dataset has one of another type.
 */
function extraColumn(parts: readonly ColumnBuilder[], existingColumn: Column | undefined): Column {
  const partColumns = parts.map((part) => part.column());
  const storedParts = existingColumn?.children ?? [];
  const isFree = (name: string) =>
    !partColumns.some((part) => part.name === name) &&
    storedParts.every((part) => part.name !== name || (part.isList && part.type === 'string'));
  let name = 'extra';
  for (let n = 2; !isFree(name); n++) name = `extra_${n}`;
  const storedPart = storedParts.find((part) => part.name === name);
  if (storedPart !== undefined) return storedPart;
  const takenNames = new Set(
    [...partColumns, ...storedParts].map(({ physical }) => physical.toLowerCase()),
  );
  return { name, physical: uniquePhysicalName(name, takenNames), type: 'string', isList: true };
}

/** Returns how the values of a builder are stored. */
export function keyKindOf(items: ColumnBuilder): KeyKind {
  if (items instanceof BooleanBuilder) return KeyKind.Flag;
  if (items instanceof LongBuilder)
    return items.column().type === 'date' ? KeyKind.Date : KeyKind.Long;
  if (items instanceof StructBuilder) return KeyKind.Annotation;
  if (items instanceof IntegerBuilder) return KeyKind.Integer;
  if (items instanceof DoubleBuilder) return KeyKind.Double;
  return items.column().type === 'json' ? KeyKind.Json : KeyKind.Text;
}
