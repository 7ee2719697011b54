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
  readonly truncatedCounts: Uint32Array;
}

interface DeflatedSheetRows extends DeflatedBlock {
  /** The index of the sheet that contains the rows. */
  readonly sheet: number;
  readonly records: number;
}

/** The maximum number of rows and columns of a sheet that spreadsheets can open. */
const maxSheetRows = 1_048_576;
const maxSheetColumns = 16_384;

/** Creates the writer of a workbook format; each sheet of records has a row of titles and up to `maxSheetRecords` records. */
export function createExcelWriter(
  format: Pick<Writer, 'format' | 'description' | 'expandsLists'>,
  maxSheetRecords: number = maxSheetRows - 1,
): Writer<ExcelPart> {
  return {
    ...format,
    extension: 'xlsx',
    mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    partRecords: 8_192,
    encode(records, context) {
      const rowFormat = sheetRowFormat(fileCells(context), records.first, maxSheetRecords);
      const xml = records.cells(rowFormat);
      const firstSheet = Math.floor(records.first / maxSheetRecords);
      const pieces = rowFormat.counts.flatMap((count, i): readonly DeflatedSheetRows[] => {
        if (count === 0) return [];
        const rowsXml = xml.subarray(i === 0 ? 0 : rowFormat.ends[i - 1], rowFormat.ends[i]);
        return [{ sheet: firstSheet + i, records: count, ...deflateBlock(rowsXml) }];
      });
      return { pieces, truncatedCounts: rowFormat.truncatedCounts };
    },
    bytesOf: ({ pieces }) => pieces.map(({ deflated }) => deflated),
    async *join(parts, context, warn) {
      const cells = fileCells(context);
      if (cells.length > maxSheetColumns)
        throw invalidError('params', `The file would have ${cells.length} columns, and a sheet can have ${maxSheetColumns}: choose fewer fields, or the format csv.`); // prettier-ignore
      const zip = new ZipWriter();
      const sheets: RecordSheet[] = [];
      const truncatedCounts = new Uint32Array(cells.length);
      const sheetStartBlock = deflateBlock(sheetStart(cells.map(({ title }) => title)));
      const beginSheet = (): Uint8Array => {
        sheets.push({ name: sheets.length === 0 ? 'records' : `records ${sheets.length + 1}`, rows: 1 });
        return Buffer.concat([zip.beginEntry(sheetPath(sheets.length)), zip.addPiece(sheetStartBlock)]);
      }; // prettier-ignore
      const endSheet = (): Uint8Array => {
        const sheetEndXml = sheetEnd(cells.length, sheets.at(-1)!.rows);
        return Buffer.concat([zip.addPiece(deflateBlock(sheetEndXml)), zip.endEntry()]);
      };
      yield zip.wholeEntry(...packageRelationships);
      yield beginSheet();
      for await (const part of parts) {
        for (let i = 0; i < truncatedCounts.length; i++)
          truncatedCounts[i]! += part.truncatedCounts[i]!;
        for (const piece of part.pieces) {
          if (piece.sheet === sheets.length) {
            yield endSheet();
            yield beginSheet();
          }
          const { name, rows } = sheets.at(-1)!;
          sheets[sheets.length - 1] = { name, rows: rows + piece.records };
          yield zip.addPiece(piece);
        }
      }
      yield endSheet();
      yield zip.wholeEntry(
        sheetPath(sheets.length + 1),
        textSheetDocument(provenanceTexts(context)),
      );
      for (const document of workbookDocuments(sheets, ['provenance'], cells.length))
        yield zip.wholeEntry(...document);
      yield zip.endArchive();
      for (const [i, count] of truncatedCounts.entries())
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

/** Workbooks in which a list gets as many columns as its longest value in the file has elements, at least one. */
export const xlsxExpandWriter = createExcelWriter({
  format: 'excel-expand',
  description: 'Like excel, with a column for each element of a list: b.0, b.1 and so on.',
  expandsLists: true,
});
