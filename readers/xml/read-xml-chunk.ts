import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { createRecordFields } from '../../engine/ingest/make-column.js';
import { unifyChunkColumns } from '../../engine/ingest/unify-columns.js';
import { RecordContext, type FaultReport } from '../../engine/ingest/record-context.js';
import { type ValueColumn } from '../../engine/ingest/value-column.js';
import type { ReadOptions, Report } from '../reader.js';
import { characterColumn, countLineEnds, XmlFault } from './xml-characters.js';
import { RecordWriter } from './record-writer.js';
import { asUtf8, invalidByteFault, type XmlHeader } from './xml-header.js';
import type { XmlParams } from './xml-params.js';
import { XmlParser } from './xml-parser.js';
import { codes } from '../../engine/ingest/validation-codes.js';

/**
 * The shares of a chunk after which it is read again from its start with the types inferred so far, if a field has had values of types that
 * no builder stores together (one gene here, a list of genes there). The first records usually show such fields, so this costs far less
 * than a second pass over the whole chunk.
 */
const restartShares: readonly number[] = [1 / 32, 1 / 8, 1 / 2, 1];

/** Reads one chunk into columns; returns the number of lines that end in it. */
export function readXml(
  chunk: Uint8Array,
  head: XmlHeader,
  params: XmlParams,
  out: BatchBuilder,
  report: Report,
  { columns, hints = [], start = { depth: 0, column: head.column } }: ReadOptions,
): number {
  const { bytes, validBytes } = asUtf8(chunk, head.encoding);
  const restartOffsets = restartShares.map((share) => share * bytes.length);
  let inferredColumns = hints;
  /** Reads the chunk; returns false if it has to be read again with the columns in `inferredColumns`. */
  const readOnce = (): boolean => {
    const context = new LazyLineContext(report, bytes);
    const onNew = (column: ValueColumn): void => out.addBuilder(column.name, column);
    const fields = createRecordFields({
      declared: columns,
      context,
      onNew,
      hints: inferredColumns,
    });
    const shouldRestart = (at: number): boolean => {
      const countBefore = restartOffsets.length;
      while (restartOffsets.length > 0 && at >= restartOffsets[0]!) restartOffsets.shift();
      return restartOffsets.length < countBefore && context.mixedColumnCount > 0;
    };
    let isRestarted = false;
    try {
      const parser = new XmlParser(params.itemDepth, params.textKey, params.attributePrefix);
      const writer = new RecordWriter(parser.recordTree, parser.names, fields, context);
      const requiredNumbers = params.requiredKeys.map((key) => parser.names.numberOfName(key));
      parser.parseRecords(bytes, start.depth, (at) => {
        if (report.isStopped || at >= validBytes) return false;
        if (shouldRestart(at)) {
          isRestarted = true;
          return false;
        }
        if (!requiredNumbers.every((number) => parser.recordTree.hasChild(0, number))) return true;
        context.beginRecord(at);
        writer.write(out.rows);
        if (context.hasFailed) out.rollback(out.rows);
        else out.endRecord(out.tracksLineNumbers ? context.lineOfRecord() : 0);
        return true;
      });
      isRestarted ||= !report.isStopped && shouldRestart(bytes.length);
      if (!isRestarted && validBytes < bytes.length && !report.isStopped)
        throw invalidByteFault(chunk, validBytes);
      if (parser.hasEnded) report.markEndOfRecords();
    } catch (error) {
      if (!(error instanceof XmlFault)) throw error;
      // The text after the fault cannot be parsed, so the import fails and stores nothing.
      const fault = error.byteOffset < validBytes ? error : invalidByteFault(chunk, validBytes);
      const column = characterColumn(bytes, fault.byteOffset, start.column) + 1;
      context.beginRecord(fault.byteOffset);
      out.rollback(out.rows);
      context.reject(codes.unreadableLine, null, `column ${column}: ${fault.message}`);
      report.markDamaged();
      report.markEndOfRecords();
    }
    if (!isRestarted) return true;
    const chunkColumns = fields.columns.map((column) => column.column());
    inferredColumns = unifyChunkColumns(inferredColumns, chunkColumns);
    return false;
  };
  while (!readOnce()) {
    out.clear();
    report.restart();
  }
  return countLineEnds(bytes, 0, bytes.length);
}

/** A record context that computes the line of a record only when it is needed. */
class LazyLineContext extends RecordContext {
  /** Returns the line of the current record. */
  readonly lineOfRecord: () => number;
  #at = 0;
  constructor(report: Report, bytes: Uint8Array) {
    let countedOffset = 0;
    let lines = 1;
    const computeLine = (): number => {
      if (this.#at < countedOffset) [countedOffset, lines] = [0, 1];
      lines += countLineEnds(bytes, countedOffset, this.#at);
      countedOffset = this.#at;
      return lines;
    };
    const lineReport: FaultReport = {
      reject: (_line, code, field, message) => report.reject(computeLine(), code, field, message),
      warn: (_line, code, field, message) => report.warn(computeLine(), code, field, message),
      isDisabled: report.isDisabled,
    };
    super(lineReport);
    this.lineOfRecord = computeLine;
  }

  /** Begins the record at this position. */
  beginRecord(at: number): void {
    this.#at = at;
    this.recordNumber++;
    this.keyCount = 0;
    this.hasFailed = false;
  }
}
