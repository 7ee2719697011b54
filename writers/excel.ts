import { invalidError } from '../engine/core/errors.js';
import { maxCellCharacters, sheetRowFormat } from './sheet-cells.js';
import {
  packageRelationships,
  sheetEnd,
  sheetStart,
  textSheetDocument,
  workbookDocuments,
  type RecordSheet,
} from './workbook.js';
import { fileCells, provenanceTexts, type Writer } from './writer.js';
import { deflateBlock, ZipWriter, type DeflatedBlock } from './zip.js';

/** A part of a workbook: some records as rows of sheets. */
interface ExcelPart {
  /** The rows of each sheet that contains some of the records. */
  readonly pieces: readonly DeflatedSheetRows[];
  /** For each cell of a record, the number of truncated texts in this cell, over all records of the part. */
  readonly cut: Uint32Array;
}

interface DeflatedSheetRows extends DeflatedBlock {
  /** The index of the sheet that contains the rows. */
  readonly sheet: number;
  readonly records: number;
}

/** The maximum number of rows and columns of a sheet that spreadsheets can open. */
const maxSheetRows = 1_048_576;
const maxSheetColumns = 16_384;

/** Creates the writer of a workbook format; each sheet of records has a row of titles and up to `sheetRecords` records. */
export function createExcelWriter(
  format: Pick<Writer, 'format' | 'description' | 'expandsLists'>,
  sheetRecords: number = maxSheetRows - 1,
): Writer<ExcelPart> {
  return {
    ...format,
    extension: 'xlsx',
    mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    partRecords: 8_192,
    encode(records, context) {
      const rows = sheetRowFormat(fileCells(context), records.first, sheetRecords);
      const xml = records.cells(rows);
      const first = Math.floor(records.first / sheetRecords);
      const pieces = rows.counts.flatMap((count, i): readonly DeflatedSheetRows[] => {
        if (count === 0) return [];
        const plain = xml.subarray(i === 0 ? 0 : rows.ends[i - 1], rows.ends[i]);
        return [{ sheet: first + i, records: count, ...deflateBlock(plain) }];
      });
      return { pieces, cut: rows.cut };
    },
    bytesOf: ({ pieces }) => pieces.map(({ deflated }) => deflated),
    async *join(parts, context, warn) {
      const cells = fileCells(context);
      if (cells.length > maxSheetColumns)
        throw invalidError('params', `The file would have ${cells.length} columns, and a sheet can have ${maxSheetColumns}: choose fewer fields, or the format csv.`); // prettier-ignore
      const zip = new ZipWriter();
      const sheets: RecordSheet[] = [];
      const cut = new Uint32Array(cells.length);
      const start = deflateBlock(sheetStart(cells.map(({ title }) => title)));
      const begin = (): Uint8Array => {
        sheets.push({ name: sheets.length === 0 ? 'records' : `records ${sheets.length + 1}`, rows: 1 });
        return Buffer.concat([zip.beginEntry(sheetPath(sheets.length)), zip.addPiece(start)]);
      }; // prettier-ignore
      const end = (): Uint8Array => {
        const plain = sheetEnd(cells.length, sheets.at(-1)!.rows);
        return Buffer.concat([zip.addPiece(deflateBlock(plain)), zip.endEntry()]);
      };
      yield zip.wholeEntry(...packageRelationships);
      yield begin();
      for await (const part of parts) {
        for (let i = 0; i < cut.length; i++) cut[i]! += part.cut[i]!;
        for (const piece of part.pieces) {
          if (piece.sheet === sheets.length) {
            yield end();
            yield begin();
          }
          const { name, rows } = sheets.at(-1)!;
          sheets[sheets.length - 1] = { name, rows: rows + piece.records };
          yield zip.addPiece(piece);
        }
      }
      yield end();
      yield zip.wholeEntry(
        sheetPath(sheets.length + 1),
        textSheetDocument(provenanceTexts(context)),
      );
      for (const document of workbookDocuments(sheets, ['provenance'], cells.length))
        yield zip.wholeEntry(...document);
      yield zip.endArchive();
      for (const [i, count] of cut.entries())
        if (count > 0) warn({ field: cells[i]!.name, count, message: truncatedTextsMessage });
    },
  };
}

const truncatedTextsMessage = `Texts of more than ${maxCellCharacters} characters, the most that a cell of a spreadsheet can have, were cut.`;

function sheetPath(number: number): string {
  return `xl/worksheets/sheet${number}.xml`;
}

/** Excel workbooks (Office Open XML, ECMA-376). */
export const xlsxWriter = createExcelWriter({
  format: 'excel',
  description:
    'Excel (XLSX): a sheet with a row of titles, then one row per record; lists are JSON in one cell.',
});

/** Workbooks in which a list gets as many columns as the longest list of the file has elements. */
export const xlsxExpandWriter = createExcelWriter({
  format: 'excel-expand',
  description: 'Like excel, with a column for each element of a list: b.0, b.1 and so on.',
  expandsLists: true,
});
