import { Session, type Profiler } from 'node:inspector/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSource } from '../readers/source/open-source.js';
import { readerNamed } from '../readers/index.js';
import { runChunk } from '../scheduler/jobs/import/chunk.js';
import { type Format, recordCountOf } from './format.js';
import { writeResult } from './table.js';

const maxProfiledChunks = 12;
const chunkBytes = 8 << 20;

/**
 * Phases of parsing a chunk. The innermost frame of a sample's stack whose file matches one decides, and the first phase that matches
 * counts.
 */
const phasePatterns: readonly (readonly [name: string, place: RegExp])[] = [
  ['read and unpack', /\/readers\/source\/|\/engine\/core\/files\.js/],
  ['parse', /\/readers\//],
  ['columns', /\/engine\/ingest\//],
  ['Parquet', /\/engine\/store\/|parquet|wasm/],
];
const otherCategories = ['collect garbage', 'other'];

/**
 * Prints, for `--profile`, the share of each phase in the processor time of a pool thread, sampled while one thread reads chunks of each
 * format.
 */
export async function profileFormats(
  formats: readonly Format[],
  flags: ReadonlySet<string>,
): Promise<void> {
  const names = [...phasePatterns.map(([name]) => name), ...otherCategories];
  const lines = [
    `| Format | MB/s of one thread | ${names.join(' | ')} |`,
    `|---|---|${names.map(() => '---|').join('')}`,
  ];
  const details: string[] = [];
  for (const format of formats) {
    const { megabytesPerSecond, shares, functions } = await profileOneFormat(
      format,
      flags.has('--quick'),
    );
    const cells = names.map((name) => `${Math.round(100 * (shares.get(name) ?? 0))}%`);
    lines.push(`| ${format.name} | ${megabytesPerSecond.toFixed(0)} | ${cells.join(' | ')} |`);
    details.push(`${format.name}: ${functions.slice(0, 12).join(', ')}`);
  }
  const text = lines.join('\n');
  process.stdout.write(`${text}\n\n${details.join('\n')}\n`);
  if (flags.has('--write')) writeResult('profile', text);
}

async function profileOneFormat(format: Format, isQuick: boolean) {
  const file = await format.file(recordCountOf(format, isQuick));
  const folder = mkdtempSync(join(tmpdir(), 'strandlake-profile-'));
  const session = new Session();
  session.connect();
  try {
    await readChunks(format, file, folder, 2); // warm-up, so that the JavaScript engine has compiled the loops
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: 500 });
    await session.post('Profiler.start');
    const { seconds, bytes } = await readChunks(format, file, folder, maxProfiledChunks);
    const { profile } = await session.post('Profiler.stop');
    return { megabytesPerSecond: bytes / 1e6 / seconds, ...timeByCategory(profile) };
  } finally {
    session.disconnect();
    rmSync(folder, { recursive: true });
  }
}

/** Reads the first chunks of a file as a pool thread does. Returns seconds and decoded bytes; splitting the file is not counted. */
async function readChunks(format: Format, path: string, folder: string, maxChunks: number) {
  const source = await openSource(join(process.cwd(), path), path);
  let [index, bytes, seconds] = [0, 0, 0];
  try {
    const reader = readerNamed(format.reader);
    const params = reader.params(format.params ?? {});
    const { header, bodyOffset } = await reader.header(source.head, params);
    const splitter = reader.splitter?.(header, params);
    for await (const { ref } of source.chunks(bodyOffset, chunkBytes, undefined, splitter)) {
      const from = process.cpuUsage();
      const chunk = await runChunk({
        ref,
        index,
        reader: reader.name,
        header,
        params,
        columns: [],
        isFinal: false,
        isDryRun: false,
        isIntermediate: false,
        rejectedBytes: 0,
        validation: { disable: false, raiseOnErrors: false, strict: false, allowNewFields: true },
        transient: [],
        sampling: { count: 64, rate: 1 },
        commitId: 123_456_789_012_345,
        file: join(folder, `${index}.parquet`),
      });
      const { user, system } = process.cpuUsage(from);
      seconds += (user + system) / 1e6;
      bytes += chunk.bytes;
      if (++index === maxChunks) break;
    }
  } finally {
    await source.close();
  }
  return { seconds, bytes };
}

/** Returns the share of each phase, and the functions with their shares of self time, in descending order. */
function timeByCategory({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile) {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((c) => [c, id])));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const phaseOf = (id: number | undefined): string => {
    const node = id === undefined ? undefined : byId.get(id);
    if (node === undefined) return 'other';
    const { functionName, url } = node.callFrame;
    if (functionName === '(garbage collector)') return 'collect garbage';
    const matchingPhase = phasePatterns.find(([, place]) => place.test(url));
    return matchingPhase ? matchingPhase[0] : phaseOf(parents.get(node.id));
  };
  const phaseTimes = new Map<string, number>();
  const functionTimes = new Map<string, number>();
  let total = 0;
  for (const [i, id] of samples.entries()) {
    const { functionName, url } = byId.get(id)!.callFrame;
    if (functionName === '(idle)' || functionName === '(program)' || url === 'node:inspector')
      continue;
    const time = timeDeltas[i] ?? 0;
    const name = `${functionName || '(anonymous)'} ${url.split('/').at(-1) ?? ''}`.trim();
    const phase = phaseOf(id);
    total += time;
    phaseTimes.set(phase, (phaseTimes.get(phase) ?? 0) + time);
    functionTimes.set(name, (functionTimes.get(name) ?? 0) + time);
  }
  return {
    shares: new Map([...phaseTimes].map(([name, time]) => [name, time / total])),
    functions: [...functionTimes]
      .sort((a, b) => b[1] - a[1])
      .map(([name, time]) => `${name} ${((100 * time) / total).toFixed(1)}%`),
  };
}
