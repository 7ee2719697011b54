import { makeData, Utf8, type Data } from 'apache-arrow';
import { ListBuilder } from '../../engine/ingest/builders.js';
import { typedColumn } from '../../engine/ingest/typed.js';
import { type Recording, ValueColumn } from '../../engine/ingest/value-column.js';
import type { Column } from '../../engine/types.js';

/**
 * The column of an attribute: a text, or a list of texts as soon as one record has several. Values are kept as lists of one
 * until the chunk is finished, so nothing has to be read again within a chunk.
 */
export class AttributeColumn extends ValueColumn {
  readonly #physical: string;
  readonly #list: ListBuilder<ValueColumn>;
  #isList: boolean;
  #from = 0;

  constructor(
    name: string,
    physical: string,
    path: string,
    depth: number,
    recording: Recording,
    isList: boolean,
  ) {
    super(name, path, recording);
    this.#physical = physical;
    this.#isList = isList;
    const text: Column = { name, physical, type: 'string', isList: false };
    this.#list = new ListBuilder(typedColumn(text, path, depth, recording));
  }

  override get takesLists(): boolean {
    return true;
  }

  column(): Column {
    return { name: this.name, physical: this.#physical, type: 'string', isList: this.#isList };
  }

  beginList(): ValueColumn {
    const { items } = this.#list;
    this.#list.padTo(this.length);
    this.#from = items.length;
    return items;
  }

  endList(): void {
    if (this.#list.items.length - this.#from > 1) this.#isList = true;
    this.#list.endList();
    this.length++;
  }

  addText(bytes: Uint8Array, from: number, to: number): void {
    this.beginList().addText(bytes, from, to);
    this.endList();
  }

  override truncate(length: number): void {
    this.#list.truncate(length);
    if (length < this.length) this.length = length;
  }

  finish(length: number): Data {
    const lists = this.#list.finish(length);
    return this.#isList ? lists : flattened(lists);
  }

  addBoolean(): void {
    notText();
  }
  addInteger(): void {
    notText();
  }
  addBigint(): void {
    notText();
  }
  addDouble(): void {
    notText();
  }
  beginObject(): null {
    return notText();
  }
  endObject(): void {
    notText();
  }
}

/** Lists of one text each as the texts. */
function flattened(lists: Data): Data {
  const { length, nullCount, nullBitmap } = lists;
  const texts = lists.children[0]!;
  const valueOffsets = new Int32Array(length + 1);
  for (let i = 0; i <= length; i++)
    valueOffsets[i] = texts.valueOffsets[lists.valueOffsets[i] as number] as number;
  const data = texts.values as Uint8Array;
  return makeData({ type: new Utf8(), length, nullCount, nullBitmap, valueOffsets, data });
}

function notText(): never {
  throw new Error('attributes are texts');
}
