import type { Data } from 'apache-arrow';
import type { Column } from '../core/types.js';
import { ValueColumn } from './value-column.js';

/**
 * A column that discards its values and is not part of a batch: for fields with a reserved name, and for values that a reader only checks.
 */
export class DiscardedColumn extends ValueColumn {
  column(): Column {
    return { name: this.name, physical: this.name, type: 'string', isList: false, seen: 'null' };
  }
  finish(): Data {
    throw new Error(`the discarded column ${this.name} is part of no batch`);
  }
  addBoolean(): void {}
  addInteger(): void {}
  addBigint(): void {}
  addDouble(): void {}
  addString(): void {}
  beginObject(): null {
    return null;
  }
  endObject(): void {}
  beginList(): null {
    return null;
  }
  endList(): void {}
  // Nothing is appended, so the length stays 0 and no key counts as repeated in its record.
  override appendNull(): void {}
  override padTo(): void {}
  override truncate(): void {}
}
