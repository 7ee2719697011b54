import type { Data } from 'apache-arrow';
import type { Column } from '../core/types.js';
import { ValueColumn } from './value-column.js';

/** Takes the values of a reserved name and keeps none; it is in no batch. */
export class DroppedColumn extends ValueColumn {
  column(): Column {
    return { name: this.name, physical: this.name, type: 'string', isList: false, seen: 'null' };
  }
  finish(): Data {
    throw new Error(`the reserved column ${this.name} is in no batch`);
  }
  addBoolean(): void {}
  addInteger(): void {}
  addBigint(): void {}
  addDouble(): void {}
  addText(): void {}
  beginObject(): null {
    return null;
  }
  endObject(): void {}
  beginList(): null {
    return null;
  }
  endList(): void {}
  // Its length stays 0, so that it never looks as if its record had it already.
  override appendNull(): void {}
  override padTo(): void {}
  override truncate(): void {}
}
