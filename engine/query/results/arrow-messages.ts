import {
  makeData,
  RecordBatch,
  RecordBatchReader,
  RecordBatchStreamWriter,
  Schema,
  Type,
  type Data,
  type List,
  type Struct,
} from 'apache-arrow';
import { recordBatch, ResultColumnBuilder } from './column-builders.js';
import type { ProjectedColumn } from './projection.js';

/*
 * An Arrow IPC stream consists of a message with the schema, messages with one record batch each, and an end marker. A message is a marker
 * of four bytes, the length of its metadata in four bytes, the metadata, and the body (Arrow columnar format, "Encapsulated message
 * format"). Messages are not compressed, because other implementations misread the compression of apache-arrow.
 */

/** For each record of a page, the part that contains it and its index in the part. */
export interface RowSourceOrder {
  readonly part: Uint16Array;
  readonly index: Uint32Array;
}

export const arrowEndOfStream = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

/** Returns the first bytes of an Arrow stream, which contain the schema with its metadata. */
export function arrowSchemaMessage(
  projection: readonly ProjectedColumn[],
  metadata = new Map<string, string>(),
): Uint8Array<ArrayBuffer> {
  const builders = projection.map(({ column }) => new ResultColumnBuilder(column));
  const { schema, data } = recordBatch(builders, 0, 'own');
  const stream = arrowStreamOf(new RecordBatch(new Schema(schema.fields, metadata), data));
  return stream.slice(0, schemaMessageLength(stream));
}

/** Returns the IPC message of a record batch. */
export function arrowBatchMessage(batch: RecordBatch): Uint8Array<ArrayBuffer> {
  const stream = arrowStreamOf(batch);
  return stream.slice(schemaMessageLength(stream), stream.length - arrowEndOfStream.length);
}

/** Returns the message of a record batch whose rows are gathered from the batches of several messages. */
export function gatherArrowMessage(
  messages: readonly Uint8Array[],
  projection: readonly ProjectedColumn[],
  order: RowSourceOrder,
): Uint8Array<ArrayBuffer> {
  const schemaMessage = arrowSchemaMessage(projection);
  const batches = messages.map((message) => {
    const [batch] = RecordBatchReader.from(
      Buffer.concat([schemaMessage, message, arrowEndOfStream]),
    );
    return batch!;
  });
  const data = gatherColumns(batches.map((batch) => batch.data), order); // prettier-ignore
  return arrowBatchMessage(new RecordBatch(batches[0]!.schema, data as Data<Struct>));
}

function arrowStreamOf(batch: RecordBatch): Uint8Array<ArrayBuffer> {
  return RecordBatchStreamWriter.writeAll([batch]).toUint8Array(true) as Uint8Array<ArrayBuffer>;
}

/** Returns the length of the message with the schema, which has no body. */
function schemaMessageLength({ buffer, byteOffset }: Uint8Array): number {
  return 8 + new DataView(buffer, byteOffset).getInt32(4, true);
}

/**
 * Gathers the values at `order` from columns of one type that `ResultColumnBuilder` built, which stores the value 0, or no bytes, under a
 * null.
 */
function gatherColumns(columns: readonly Data[], order: RowSourceOrder): Data {
  const { part, index } = order;
  const { length } = index;
  const { type } = columns[0]!;
  const validityBits = new Uint8Array(Math.ceil(length / 64) * 8);
  let nullCount = 0;
  for (let i = 0; i < length; i++) {
    if (columns[part[i]!]!.getValid(index[i]!)) validityBits[i >> 3]! |= 1 << (i & 7);
    else nullCount++;
  }
  const base = { type, length, nullCount, nullBitmap: nullCount === 0 ? null : validityBits };
  switch (type.typeId) {
    case Type.Struct: {
      const children = columns[0]!.children.map((_, i) =>
        gatherColumns(columns.map((column) => column.children[i]!), order),
      ); // prettier-ignore
      return makeData({ ...base, type: type as Struct, children });
    }
    case Type.List: {
      const { valueOffsets, elements } = gatherListElements(columns, order);
      const child = gatherColumns(columns.map((column) => column.children[0]!), elements); // prettier-ignore
      return makeData({ ...base, type: type as List, valueOffsets, child });
    }
    case Type.Utf8: {
      const { valueOffsets, elements } = gatherListElements(columns, order);
      const data = new Uint8Array(elements.index.length);
      for (let i = 0; i < data.length; i++)
        data[i] = (columns[elements.part[i]!]!.values as Uint8Array)[elements.index[i]!]!;
      return makeData({ ...base, valueOffsets, data } as never);
    }
    case Type.Bool: {
      const data = new Uint8Array(validityBits.length);
      for (let i = 0; i < length; i++) {
        const flags = columns[part[i]!]!.values as Uint8Array;
        const at = index[i]!;
        if ((flags[at >> 3]! & (1 << (at & 7))) !== 0) data[i >> 3]! |= 1 << (i & 7);
      }
      return makeData({ ...base, data } as never);
    }
    default: {
      const { constructor } = columns[0]!.values as Float64Array;
      const data = new (constructor as Float64ArrayConstructor)(length);
      // The values are either numbers in all columns, or bigints in all columns.
      for (let i = 0; i < length; i++)
        data[i] = (columns[part[i]!]!.values as Float64Array)[index[i]!]!;
      return makeData({ ...base, data } as never);
    }
  }
}

/** Returns the order of the elements of lists, or of the bytes of strings, for the rows in `order`. */
function gatherListElements(
  columns: readonly Data[],
  { part, index }: RowSourceOrder,
): { readonly valueOffsets: Int32Array; readonly elements: RowSourceOrder } {
  const valueOffsets = new Int32Array(index.length + 1);
  for (let i = 0; i < index.length; i++) {
    const offsets = columns[part[i]!]!.valueOffsets as Int32Array;
    valueOffsets[i + 1] = valueOffsets[i]! + offsets[index[i]! + 1]! - offsets[index[i]!]!;
  }
  const elementCount = valueOffsets[index.length]!;
  const elements = { part: new Uint16Array(elementCount), index: new Uint32Array(elementCount) };
  for (let i = 0; i < index.length; i++) {
    const from = (columns[part[i]!]!.valueOffsets as Int32Array)[index[i]!]!;
    for (let to = valueOffsets[i]!, at = from; to < valueOffsets[i + 1]!; to++, at++) {
      elements.part[to] = part[i]!;
      elements.index[to] = at;
    }
  }
  return { valueOffsets, elements };
}
