import { LogFile } from '../../../scheduler/worker/log-file.js';

/*
 * Writes the lines 0 to 99 to a log, in a process whose files may not grow beyond a limit. Whenever it is told, on standard input,
 * that the file was moved, it opens it anew.
 */
const [path = ''] = process.argv.slice(2);
const report = (text: string): void => void process.stdout.write(`${text}\n`);
const log = await LogFile.open(path, 0, report);
for (let n = 0; n < 100; n++) log.write(JSON.stringify({ n, filler: 'x'.repeat(n * 3) }));
process.stdin.on('data', () => log.reopen());
process.stdin.on('end', () => void log.close());
