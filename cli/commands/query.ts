import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../../engine/core/errors.js';
import { parseJson, stringifyJson } from '../../engine/core/json.js';
import type { JsonBody } from '../client.js';
import { type Command, UsageError } from '../command.js';
import { saveFile } from '../local-file.js';
import {
  connectClient,
  resolveDataset,
  serverOptions,
  showRow,
  withJsonProgress,
} from '../remote.js';
import { progressLine } from '../terminal.js';
import { readOptions } from './options.js';

const queryOptions = {
  ...serverOptions,
  filters: { type: 'string' },
  query: { type: 'string' },
  fields: { type: 'string' },
  limit: { type: 'string' },
  'as-of': { type: 'string' },
} as const;

const conditionsUsage =
  "[--filters '<JSON>'] [--query '<query string>'] [--fields a,b] [--limit <number>] [--as-of <commit or time>]";
const maxPageRecords = 10_000;

/** `strandlake query`: prints records, each as one line of JSON. */
export const query: Command = {
  name: 'query',
  usage: `query <vault:/dataset> ${conditionsUsage} [--url <url>] [--token <token>]`,
  help: 'prints the records that meet the conditions, 100 unless --limit says otherwise, as JSON lines',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, queryOptions, { min: 1, max: 1 });
    const request = queryRequestOf(values);
    let recordsLeft = parseLimit(values.limit) ?? 100;
    const client = await connectClient(values, env);
    const dataset = await resolveDataset(client, positionals[0] ?? '');
    const path = `/v2/datasets/${String(dataset['id'])}/data`;
    let cursor: unknown = true;
    do {
      const limit = Math.min(recordsLeft, maxPageRecords);
      const page = await client.post(path, { ...request, limit, cursor });
      const records = page['results'] as readonly unknown[];
      for (const record of records) terminal.out(stringifyJson(record));
      recordsLeft -= records.length;
      cursor = page['cursor'];
      if (records.length === 0) break;
    } while (recordsLeft > 0 && cursor !== null);
    return 0;
  },
};

/** `strandlake export`: writes records to a local file. */
export const exportCommand: Command = {
  name: 'export',
  usage: `export <vault:/dataset> [--format <format>] [--out <file>] ${conditionsUsage} [--url <url>] [--token <token>]`,
  help: 'exports the records that meet the conditions to a local file',
  details: async () => {
    const { defaultFormat, exportFormats } = await loadFormats();
    const formatWidth = Math.max(...exportFormats.map(({ format }) => format.length));
    const lines = exportFormats.map(
      ({ format, description }) => `  ${format.padEnd(formatWidth)}  ${description}`,
    );
    return `Formats, ${defaultFormat} by default:\n${lines.join('\n')}`;
  },
  async run({ args, env, terminal }) {
    const options = {
      ...queryOptions,
      format: { type: 'string' },
      out: { type: 'string' },
    } as const;
    const { values, positionals } = readOptions(args, options, { min: 1, max: 1 });
    const limit = parseLimit(values.limit);
    const params = { ...queryRequestOf(values), ...(limit !== undefined && { limit }) };
    const client = await connectClient(values, env);
    const dataset = await resolveDataset(client, positionals[0] ?? '');
    const progressTerminal = withJsonProgress(terminal);
    let job = await client.post('/v2/dataset_exports', {
      dataset_id: Number(dataset['id']),
      format: values.format ?? (await loadFormats()).defaultFormat,
      params,
    });
    const path = `/v2/dataset_exports/${String(job['id'])}`;
    while (['pending', 'queued', 'running'].includes(String(job['status']))) {
      const progress = progressOf(job);
      const title = 'exporting';
      progressTerminal.progress(progressLine({ title, ...progress }), {
        event: title,
        ...progress,
      });
      await pause(pollMs);
      job = await client.get(path);
    }
    progressTerminal.progress('');
    if (job['status'] !== 'completed') {
      throw new AppError('input', String(job['error_message'] ?? `it was ${job['status']}`));
    }
    const { download_url: url } = await client.get(`${path}/download?redirect=false`);
    const name = String(dataset['filename'] ?? dataset['name'] ?? dataset['id']);
    // The name of the format is not always the extension, so the extension is read from the download address: it follows the id of the
    // export in the file name, which ends with both.
    const extension = decodeURIComponent(String(url))
      .split(`-${String(job['id'])}.`)
      .at(-1);
    const file = values.out ?? `${name}.${extension?.split('&')[0]}`;
    const bytes = await saveFile(file, client.download(String(url)));
    showRow(terminal, { file, bytes, records: progressOf(job).records });
    return 0;
  },
};

const pollMs = 200;

/** Loads the export formats, and with them all writers. */
const loadFormats = () => import('../../scheduler/jobs/export/format.js');

function progressOf(job: JsonBody): { percent: number | null; records: number; perSecond: number } {
  const { progress } = (job['metadata'] ?? {}) as { progress?: Record<string, unknown> };
  return {
    percent: (progress?.['percent'] ?? null) as number | null,
    records: Number(progress?.['processed_records'] ?? 0),
    perSecond: Number(progress?.['records_per_second'] ?? 0),
  };
}

function queryRequestOf(values: {
  readonly filters?: string | undefined;
  readonly query?: string | undefined;
  readonly fields?: string | undefined;
  readonly 'as-of'?: string | undefined;
}): JsonBody {
  const { filters, query: text, fields, 'as-of': asOf } = values;
  return {
    ...(filters !== undefined && { filters: parseFiltersJson(filters) }),
    ...(text !== undefined && { query: text }),
    ...(fields !== undefined && { fields: fields.split(',') }),
    ...(asOf !== undefined && { as_of: asOf }),
  };
}

function parseFiltersJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new UsageError(`--filters is not JSON; an example is '[["gene","BRCA2"]]'`);
  }
}

function parseLimit(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text) && Number(text) > 0) return Number(text);
  throw new UsageError('--limit must be a whole number above 0');
}
