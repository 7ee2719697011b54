import { readFileSync, writeFileSync } from 'node:fs';
import { ByteSource } from '../../../engine/parquet/byte-source.js';
import { footerLength, tailBytes } from '../../../engine/parquet/read-footer.js';
import { ThriftReader } from '../../../engine/parquet/thrift.js';

/** Indexes of pages that a file can lack, each with the id in `ColumnChunk` (parquet.thrift) from which on all fields are left out. */
const firstFieldOf = { OffsetIndex: 4, ColumnIndex: 6 } as const;

/**
 * Writes a copy of a Parquet file whose footer does not mention the ColumnIndex, or neither it nor the OffsetIndex, of the chunks for
 * which `isLacking` is true. `isLacking` is called with the number of the chunk in its row group.
 */
export function copyWithoutPageIndex(
  source: string,
  target: string,
  lackingIndex: keyof typeof firstFieldOf,
  isLacking: (chunk: number) => boolean = () => true,
): void {
  const file = readFileSync(source);
  const begin = file.length - footerLength(file.subarray(-tailBytes), file.length);
  const footer = file.subarray(begin, -tailBytes);
  const keptPieces: Uint8Array[] = [];
  let keptFrom = 0;
  const bytes = new ByteSource(footer);
  const thrift = new ThriftReader(bytes);
  const readStruct = (read: (id: number, at: number) => void): void => {
    thrift.start();
    for (
      let at = bytes.readOffset, id = thrift.nextFieldId();
      id !== 0;
      id = thrift.nextFieldId()
    ) {
      read(id, at);
      at = bytes.readOffset;
    }
  };
  const readList = (read: (item: number) => void): void => {
    const size = thrift.list();
    for (let item = 0; item < size; item++) read(item);
  };
  const readChunk = (chunk: number): void =>
    readStruct((id, at) => {
      thrift.skip();
      if (id < firstFieldOf[lackingIndex] || !isLacking(chunk)) return;
      if (keptFrom <= at) keptPieces.push(footer.subarray(keptFrom, at));
      keptFrom = bytes.readOffset;
    });
  const readGroup = (): void =>
    readStruct((id) => (id === 1 ? readList(readChunk) : thrift.skip()));
  readStruct((id) => (id === 4 ? readList(readGroup) : thrift.skip()));
  keptPieces.push(footer.subarray(keptFrom));
  const shortenedFooter = Buffer.concat(keptPieces);
  const tail = Buffer.from(file.subarray(-tailBytes));
  tail.writeUInt32LE(shortenedFooter.length);
  writeFileSync(target, Buffer.concat([file.subarray(0, begin), shortenedFooter, tail]));
}
