import type { PagePlace } from './write-chunk.js';
import type { ByteSink } from './byte-sink.js';
import { ThriftWriter, thriftType } from './thrift.js';

/** Writes where the data pages of one column chunk are: `OffsetIndex` of parquet.thrift. */
export function writeOffsetIndex(sink: ByteSink, pages: readonly PagePlace[]): void {
  const thrift = new ThriftWriter(sink);
  thrift.start();
  thrift.list(1, thriftType.struct, pages.length);
  for (const { offset, bytes, firstRow } of pages) {
    thrift.start();
    thrift.i64(1, offset);
    thrift.i32(2, bytes);
    thrift.i64(3, firstRow);
    thrift.end();
  }
  thrift.end();
}
