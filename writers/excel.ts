import { invalid } from '../engine/core/errors.js';
import { maxCellCharacters, sheetRows } from './sheet-cells.js';
import {
  packageRelationships,
  sheetEnd,
  sheetStart,
  textSheet,
  workbookDocuments,
  type RecordSheet,
} from './workbook.js';
import { fileCells, provenanceTexts, type Writer } from './writer.js';
import { deflatedPiece, ZipWriter, type DeflatedPiece } from './zip.js';

/** Some records as rows of sheets. */
interface ExcelPart {
  /** The rows of each sheet that has some of the records. */
  readonly pieces: readonly SheetPiece[];
  /** Number of texts that were cut, by cell. */
  readonly cut: Uint32Array;
}

interface SheetPiece extends DeflatedPiece {
  /** Index of the sheet. */
  readonly sheet: number;
  readonly records: number;
}

/** The most rows and columns that spreadsheets open. */
const maxRows = 1_048_576;
const maxColumns = 16_384;

/** Creates the writer of a format of workbooks, of which each sheet has a row of titles and up to `sheetRecords` records. */
export function excelWriter(
  format: Pick<Writer, 'format' | 'description' | 'expandsLists'>,
  sheetRecords: number = maxRows - 1,
): Writer<ExcelPart> {
  return {
    ...format,
    extension: 'xlsx',
    mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    partRecords: 8_192,
    encode(records, context) {
      const rows = sheetRows(fileCells(context), records.first, sheetRecords);
      const xml = records.cells(rows);
      const first = Math.floor(records.first / sheetRecords);
      const pieces = rows.counts.flatMap((count, i): readonly SheetPiece[] => {
        if (count === 0) return [];
        const plain = xml.subarray(i === 0 ? 0 : rows.ends[i - 1], rows.ends[i]);
        return [{ sheet: first + i, records: count, ...deflatedPiece(plain) }];
      });
      return { pieces, cut: rows.cut };
    },
    bytesOf: ({ pieces }) => pieces.map(({ deflated }) => deflated),
    async *join(parts, context, warn) {
      const cells = fileCells(context);
      if (cells.length > maxColumns)
        throw invalid('params', `The file would have ${cells.length} columns, and a sheet can have ${maxColumns}: choose fewer fields, or the format csv.`); // prettier-ignore
      const zip = new ZipWriter();
      const sheets: RecordSheet[] = [];
      const cut = new Uint32Array(cells.length);
      const start = deflatedPiece(sheetStart(cells.map(({ title }) => title)));
      const begin = (): Uint8Array => {
        sheets.push({ name: sheets.length === 0 ? 'records' : `records ${sheets.length + 1}`, rows: 1 });
        return Buffer.concat([zip.begin(sheetPath(sheets.length)), zip.add(start)]);
      }; // prettier-ignore
      const end = (): Uint8Array => {
        const plain = sheetEnd(cells.length, sheets.at(-1)!.rows);
        return Buffer.concat([zip.add(deflatedPiece(plain)), zip.end()]);
      };
      yield zip.entry(...packageRelationships);
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
          yield zip.add(piece);
        }
      }
      yield end();
      yield zip.entry(sheetPath(sheets.length + 1), textSheet(provenanceTexts(context)));
      for (const document of workbookDocuments(sheets, ['provenance'], cells.length))
        yield zip.entry(...document);
      yield zip.finish();
      for (const [i, count] of cut.entries())
        if (count > 0) warn({ field: cells[i]!.name, count, message: cutMessage });
    },
  };
}

const cutMessage = `Texts of more than ${maxCellCharacters} characters, the most that a cell of a spreadsheet can have, were cut.`;

function sheetPath(number: number): string {
  return `xl/worksheets/sheet${number}.xml`;
}

/** Excel workbooks (Office Open XML, ECMA-376). */
export const excel = excelWriter({
  format: 'excel',
  description:
    'Excel (XLSX): a sheet with a row of titles, then one row per record; lists are JSON in one cell.',
});

/** Workbooks in which a list has as many columns as the longest list of the file has elements. */
export const excelExpand = excelWriter({
  format: 'excel-expand',
  description: 'Like excel, with a column for each element of a list: b.0, b.1 and so on.',
  expandsLists: true,
});
