import { LogFile } from '../../../scheduler/worker/log-file.js';

/*
 * Writes the lines 0 to 99 to a log, in a process whose files may not grow beyond a limit. When its standard input says that the file was
 * moved, it opens the path again.
 */
const [path = ''] = process.argv.slice(2);
const printReport = (text: string): void => void process.stdout.write(`${text}\n`);
const limitedLog = await LogFile.open(path, 0, printReport);
for (let n = 0; n < 100; n++) limitedLog.write(JSON.stringify({ n, filler: 'x'.repeat(n * 3) }));
process.stdin.on('data', () => limitedLog.reopen());
process.stdin.on('end', () => void limitedLog.close());
