import { cellStyles, columnLetters, escapeXmlText } from './sheet-cells.js';

/* The documents of a workbook other than the rows of its sheets (ECMA-376, part 1, sections 12 and 18; part 2 for the package). */

/** A sheet of records. */
export interface RecordSheet {
  readonly name: string;
  /** Number of rows: the records of the sheet and the row of titles. */
  readonly rows: number;
}

const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const spreadsheetNamespace = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const relationshipsNamespace =
  'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packageNamespace = 'http://schemas.openxmlformats.org/package/2006';
const documentMediaType = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** Returns the XML of a sheet up to its first record: the row of titles, which stays visible when the sheet is scrolled. */
export function sheetStart(titles: readonly string[]): Buffer {
  const cells = titles.map((title, i) => textCell(i, 1, title, cellStyles.header)).join('');
  return Buffer.from(
    `${xmlDeclaration}<worksheet xmlns="${spreadsheetNamespace}"><sheetViews><sheetView workbookViewId="0">` +
      '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>' +
      '<sheetFormatPr defaultRowHeight="15"/>' +
      `<sheetData><row r="1">${cells}</row>`,
  );
}

/** Returns the XML of a sheet after its last record. */
export function sheetEnd(columnCount: number, rowCount: number): Buffer {
  const filter =
    columnCount === 0 ? '' : `<autoFilter ref="A1:${columnLetters(columnCount - 1)}${rowCount}"/>`;
  return Buffer.from(`</sheetData>${filter}</worksheet>`);
}

/** Returns the XML of a sheet with two columns of text. */
export function textSheetDocument(rows: readonly (readonly [string, string])[]): Buffer {
  const rowElements = rows.map(([name, value], i) => {
    const cells = textCell(0, i + 1, name, cellStyles.header) + textCell(1, i + 1, value, cellStyles.general); // prettier-ignore
    return `<row r="${i + 1}">${cells}</row>`;
  });
  const widths = '<cols><col min="1" max="1" width="24" customWidth="1"/><col min="2" max="2" width="80" customWidth="1"/></cols>'; // prettier-ignore
  return Buffer.from(
    `${xmlDeclaration}<worksheet xmlns="${spreadsheetNamespace}">${widths}<sheetData>${rowElements.join('')}</sheetData></worksheet>`,
  );
}

function textCell(column: number, row: number, text: string, style: number): string {
  return `<c r="${columnLetters(column)}${row}" s="${style}" t="inlineStr"><is>${escapeXmlText(text)}</is></c>`;
}

/**
 * Returns the styles, the workbook, its relationships and the content types, each as a pair of its name in the package and its content. In
 * the workbook, the sheets of records come first, then `otherNames`.
 */
export function workbookDocuments(
  sheets: readonly RecordSheet[],
  otherNames: readonly string[],
  columnCount: number,
): readonly (readonly [string, Buffer])[] {
  const names = [...sheets.map(({ name }) => name), ...otherNames];
  const filters = columnCount === 0 ? [] : sheets.map(({ name, rows }, i) => {
    const range = `'${name}'!$A$1:$${columnLetters(columnCount - 1)}$${rows}`;
    return `<definedName name="_xlnm._FilterDatabase" localSheetId="${i}" hidden="1">${range}</definedName>`;
  }); // prettier-ignore
  const definedNames =
    filters.length === 0 ? '' : `<definedNames>${filters.join('')}</definedNames>`;
  const sheetElements = names.map((name, i) => `<sheet name="${name}" sheetId="${i + 1}" r:id="rId${i + 1}"/>`); // prettier-ignore
  const sheetRelationships = names.map((_, i) => relationshipXml(i + 1, 'worksheet', `worksheets/sheet${i + 1}.xml`)); // prettier-ignore
  const overrides = [
    ['workbook', 'sheet.main'],
    ['styles', 'styles'],
    ...names.map((_, i) => [`worksheets/sheet${i + 1}`, 'worksheet']),
  ].map(([part, type]) => `<Override PartName="/xl/${part}.xml" ContentType="${documentMediaType}.${type}+xml"/>`); // prettier-ignore
  const documents: readonly (readonly [string, string])[] = [
    ['xl/styles.xml', stylesheetXml],
    [
      'xl/workbook.xml',
      `<workbook xmlns="${spreadsheetNamespace}" xmlns:r="${relationshipsNamespace}"><sheets>${sheetElements.join('')}</sheets>${definedNames}</workbook>`,
    ],
    [
      'xl/_rels/workbook.xml.rels',
      `<Relationships xmlns="${packageNamespace}/relationships">${sheetRelationships.join('')}${relationshipXml(names.length + 1, 'styles', 'styles.xml')}</Relationships>`,
    ],
    [
      '[Content_Types].xml',
      `<Types xmlns="${packageNamespace}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
        `<Default Extension="xml" ContentType="application/xml"/>${overrides.join('')}</Types>`,
    ],
  ];
  return documents.map(([name, xml]) => [name, Buffer.from(xmlDeclaration + xml)]);
}

/** The first document of the package, which names the workbook document. */
export const packageRelationships: readonly [string, Buffer] = [
  '_rels/.rels',
  Buffer.from(
    `${xmlDeclaration}<Relationships xmlns="${packageNamespace}/relationships">${relationshipXml(1, 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
  ),
];

function relationshipXml(id: number, type: string, target: string): string {
  return `<Relationship Id="rId${id}" Type="${relationshipsNamespace}/${type}" Target="${target}"/>`;
}

/** The styles document, whose cell formats (`cellXfs`) are in the order of `cellStyles`. */
const stylesheetXml =
  `<styleSheet xmlns="${spreadsheetNamespace}">` +
  '<numFmts count="3"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>' +
  '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>' +
  '<numFmt numFmtId="166" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss.000"/></numFmts>' +
  '<fonts count="2"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font>' +
  '<font><b/><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts>' +
  '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
  '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
  '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
  '<cellXfs count="5"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>' +
  '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>' +
  [164, 165, 166].map((id) => `<xf numFmtId="${id}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`).join('') +
  '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'; // prettier-ignore
