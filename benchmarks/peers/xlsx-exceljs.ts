import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { setImmediate as pause } from 'node:timers/promises';
import ExcelJS from 'exceljs';

/*
 * The alternative to an export as excel, in a process of its own: node xlsx-exceljs.js <JSONL file> <XLSX file> <records>. It prints the
 * seconds from the first record to the complete file; the records are parsed before the time starts.
 */
const [source = '', target = '', limit = ''] = process.argv.slice(2);
const records: (string | number | boolean)[][] = [];
let columnTitles: string[] = [];
for await (const line of createInterface({ input: createReadStream(source) })) {
  if (records.length === Number(limit)) break;
  const record = JSON.parse(line) as Record<string, string | number | boolean>;
  columnTitles = Object.keys(record);
  records.push(Object.values(record));
}
const startedAt = performance.now();
const workbook = new ExcelJS.stream.xlsx.WorkbookWriter({ filename: target });
const sheet = workbook.addWorksheet('records');
sheet.addRow(columnTitles).commit();
for (const [i, record] of records.entries()) {
  sheet.addRow(record).commit();
  // Committed rows are freed only when the event loop runs, so the loop pauses from time to time.
  if (i % 10_000 === 0) await pause();
}
await workbook.commit();
process.stdout.write(`${(performance.now() - startedAt) / 1000}\n`);
