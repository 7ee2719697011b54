import { util } from '@gmod/gff';
import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';

/*
 * The alternative to importing GFF3: @gmod/gff parses the file line by line. It does not link children to their parents, which would take
 * longer. node gff3-to-jsonl.js <GFF3 file> <JSON lines>
 */
const [source = '', target = ''] = process.argv.slice(2);
const outputDescriptor = openSync(target, 'w');
let partialLine = '';
let writtenRecordCount = 0;
for await (const piece of createReadStream(source, { encoding: 'utf8', highWaterMark: 1 << 20 })) {
  const lines = (partialLine + String(piece)).split('\n');
  partialLine = lines.pop() ?? '';
  writeLines(lines);
}
writeLines([partialLine]);
closeSync(outputDescriptor);
process.stdout.write(`${writtenRecordCount}\n`);

function writeLines(lines: readonly string[]): void {
  let text = '';
  for (const line of lines) {
    if (line === '' || line.startsWith('#')) continue;
    text += `${JSON.stringify(util.parseFeature(line))}\n`;
    writtenRecordCount++;
  }
  writeSync(outputDescriptor, text);
}
