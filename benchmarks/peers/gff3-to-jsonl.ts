import { util } from '@gmod/gff';
import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';

/*
 * The alternative to importing GFF3: @gmod/gff parses line by line. Linking children to their parents is left out, because it
 * takes longer. node gff3-to-jsonl.js <GFF3 file> <JSON lines>
 */
const [source = '', target = ''] = process.argv.slice(2);
const out = openSync(target, 'w');
let rest = '';
let count = 0;
for await (const piece of createReadStream(source, { encoding: 'utf8', highWaterMark: 1 << 20 })) {
  const lines = (rest + String(piece)).split('\n');
  rest = lines.pop() ?? '';
  writeLines(lines);
}
writeLines([rest]);
closeSync(out);
process.stdout.write(`${count}\n`);

function writeLines(lines: readonly string[]): void {
  let text = '';
  for (const line of lines) {
    if (line === '' || line.startsWith('#')) continue;
    text += `${JSON.stringify(util.parseFeature(line))}\n`;
    count++;
  }
  writeSync(out, text);
}
