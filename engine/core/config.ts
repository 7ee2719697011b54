import { availableParallelism, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parseCidrBlock } from './ip-addresses.js';
import { parseAllowedAddress } from './allowed-addresses.js';
import { AppError } from './errors.js';

type LogLevel = 'silent' | 'error' | 'info' | 'debug';

/** All settings of the server, validated. Plain data, so that they can be sent to other processes. */
export interface Config {
  /** Address to listen on. */
  readonly host: string;
  /** Port to listen on; 0 picks a free one. */
  readonly port: number;
  /** Absolute path of the data folder. */
  readonly data: string;
  /** The base address that clients use, perhaps with a path prefix, without a final slash; null: taken from each request. */
  readonly publicUrl: string | null;
  /** Addresses and CIDR blocks of the proxies whose `Forwarded` and `X-Forwarded-*` headers are trusted. */
  readonly trustProxies: readonly string[];
  /** Number of threads in the worker process's pool, and for one query. */
  readonly threads: number;
  /** Memory of the API process without the cache of columns; half of it is the limit of the SQL engine. */
  readonly apiMemoryMb: number;
  /** Memory for cached columns of queries, in addition to the memory limit of the API process. */
  readonly queryCacheMb: number;
  /** Memory limit of the worker process. */
  readonly workerMemoryMb: number;
  /** Secret of the first token; null: a random one. */
  readonly token: string | null;
  /** Whether the server imports the bundled example when it starts for the first time. */
  readonly examples: boolean;
  /** Addresses that manifests may name although they are not public: `host:port`, an address or a CIDR block (allowed-addresses.ts). */
  readonly allowAddresses: readonly string[];
  /** Requests per minute, for each token and each address; 0 switches the limit off. */
  readonly rateLimit: number;
  /** Connections that one address may have open at the same time. */
  readonly connectionsPerAddress: number;
  /** Number of days for which earlier versions of datasets, deleted records, and deleted versions of files are kept. */
  readonly keepVersionsDays: number;
  /** `smtp://` or `smtps://` with host, port, user and password of a mail server; null: no e-mail is sent. */
  readonly smtpUrl: string | null;
  /** The sender of e-mails; null: no e-mail is sent. */
  readonly mailFrom: string | null;
  /** The credential of `GET /metrics`; null: only clients on the same machine may read the metrics. */
  readonly metricsToken: string | null;
  /** Files of at least this size are uploaded in parts. */
  readonly multipartMb: number;
  readonly log: LogLevel;
  /** Absolute path of the log; null: standard error. */
  readonly logFile: string | null;
  /** Size in MiB at which the log file is rotated; 0: never. */
  readonly logFileMb: number;
}

interface Setting<T> {
  readonly flag: string;
  readonly env: string;
  readonly hint: string;
  readonly help: string;
  /** The default, as the help shows it. */
  readonly shown: string;
  readonly defaultValue: T;
  /** Parses a value; throws an `Error` whose message describes valid values. */
  readonly parse: (text: string) => T;
}

/** The settings. Parsing, `--help` and the table in README.md are derived from them. */
export const settings: { readonly [K in keyof Config]: Setting<Config[K]> } = {
  host: {
    ...settingNames('host', '<address>', 'address to listen on'),
    ...defaultValueOf('127.0.0.1'),
    parse: (text) => parseMatching(text, /^[A-Za-z0-9.:_-]+$/, 'a host name or an address'),
  },
  port: {
    ...settingNames('port', '<number>', 'port to listen on; 0 picks a free one'),
    ...defaultValueOf(3000),
    parse: (text) => parseWholeNumber(text, 0, 65_535),
  },
  data: {
    ...settingNames('data', '<folder>', 'data folder, created when missing'),
    ...defaultValueOf(resolve('data'), './data'),
    parse: (text) => resolve(text),
  },
  publicUrl: {
    ...settingNames(
      'public-url',
      '<url>',
      'address that clients use, when a proxy stands in front',
    ),
    ...defaultValueOf<string | null>(null, "the request's host"),
    parse: parseBaseAddress,
  },
  // Choice: no proxy is trusted by default, not even one on this machine, because many proxies forward the headers that clients send.
  trustProxies: {
    ...settingNames(
      'trust-proxies',
      '<list>',
      'proxies whose Forwarded headers are trusted: addresses or CIDR',
    ),
    ...defaultValueOf<readonly string[]>([], 'none'),
    parse: (text) => parseList(text, checkProxyAddress),
  },
  threads: {
    ...settingNames('threads', '<number>', 'threads for imports and exports, and for one query'),
    ...defaultValueOf(Math.min(availableParallelism(), 64), 'one per core, at most 64'),
    parse: (text) => parseWholeNumber(text, 1, 256),
  },
  apiMemoryMb: {
    ...settingNames(
      'api-memory-mb',
      '<MB>',
      'memory of the API process without the cache of columns; half of it limits SQL',
    ),
    ...defaultValueOf(1024),
    parse: (text) => parseWholeNumber(text, 256, 4_194_304),
  },
  queryCacheMb: {
    ...settingNames('query-cache-mb', '<MB>', 'memory for the cache of columns; 0 disables it'),
    ...defaultValueOf(eighthOfMemoryMb(), "an eighth of the machine's"),
    parse: (text) => parseWholeNumber(text, 0, 4_194_304),
  },
  workerMemoryMb: {
    ...settingNames('worker-memory-mb', '<MB>', 'memory of the worker process'),
    ...defaultValueOf(1024),
    parse: (text) => parseWholeNumber(text, 256, 4_194_304),
  },
  token: {
    ...settingNames('token', '<30 characters>', 'secret of the first token'),
    ...defaultValueOf<string | null>(null, 'a random one'),
    parse: (text) =>
      parseMatching(text, /^[A-Za-z0-9_-]{30}$/, 'exactly 30 letters, digits, "-" or "_"', true),
  },
  examples: {
    ...settingNames('examples', '<on|off>', 'import the bundled ClinVar file on the first start'),
    ...defaultValueOf(true, 'on'),
    parse: parseOnOff,
  },
  allowAddresses: {
    ...settingNames(
      'allow-addresses',
      '<list>',
      'non-public hosts from which manifests may fetch: host:port or CIDR',
    ),
    ...defaultValueOf<readonly string[]>([], 'none'),
    parse: (text) => parseList(text, parseAllowedAddress),
  },
  rateLimit: {
    ...settingNames(
      'rate-limit',
      '<number>',
      'requests per minute of one token or address; 0: no limit',
    ),
    ...defaultValueOf(6000),
    parse: (text) => parseWholeNumber(text, 0, 1_000_000_000),
  },
  connectionsPerAddress: {
    ...settingNames('connections-per-address', '<number>', 'open connections per client address'),
    ...defaultValueOf(200),
    parse: (text) => parseWholeNumber(text, 1, 1_000_000),
  },
  keepVersionsDays: {
    ...settingNames(
      'keep-versions-days',
      '<number>',
      'days for which earlier versions can be read',
    ),
    ...defaultValueOf(7),
    parse: (text) => parseWholeNumber(text, 0, 36_500),
  },
  smtpUrl: {
    ...settingNames('smtp-url', '<url>', 'mail server: smtp(s)://user:password@host:port'),
    ...defaultValueOf<string | null>(null, 'no e-mail'),
    parse: parseSmtpServer,
  },
  mailFrom: {
    ...settingNames('mail-from', '<address>', 'sender of e-mails'),
    ...defaultValueOf<string | null>(null, 'no e-mail'),
    parse: (text) =>
      parseMatching(
        text,
        /^([^\r\n<>]*<)?[^\s@<>]+@[^\s@<>]+>?$/,
        'an address such as Strandlake <exports@example.org>',
      ),
  },
  metricsToken: {
    ...settingNames('metrics-token', '<text>', 'credential of GET /metrics'),
    ...defaultValueOf<string | null>(null, 'clients on this machine'),
    parse: (text) =>
      parseMatching(text, /^[\x21-\x7e]{16,}$/, 'at least 16 printable characters', true),
  },
  multipartMb: {
    ...settingNames('multipart-mb', '<MB>', 'files of this size and more are uploaded in parts'),
    ...defaultValueOf(5120),
    parse: (text) => parseWholeNumber(text, 1, 5120),
  },
  log: {
    ...settingNames('log', '<level>', 'silent, error, info (also a line per request) or debug'),
    ...defaultValueOf<LogLevel>('error'),
    parse: parseLogLevel,
  },
  logFile: {
    ...settingNames('log-file', '<path>', 'file for the log, reopened on SIGHUP'),
    ...defaultValueOf<string | null>(null, 'standard error'),
    parse: (text) => resolve(text),
  },
  logFileMb: {
    ...settingNames(
      'log-file-mb',
      '<MB>',
      'size at which the log file is rotated, 4 are kept; 0: never',
    ),
    ...defaultValueOf(64),
    parse: (text) => parseWholeNumber(text, 0, 1_048_576),
  },
};

/** Returns an eighth of the memory of the machine or container in MiB, at least 128. */
function eighthOfMemoryMb(): number {
  const limit = process.constrainedMemory();
  const bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.max(128, Math.floor(bytes / 8 / 1024 ** 2));
}

interface Arguments {
  readonly config: Config;
  readonly positionals: readonly string[];
  readonly help: boolean;
}

/**
 * Determines the settings: a flag (`--port 3000`) has precedence over the environment (`STRANDLAKE_PORT`), and the environment over the
 * default. Throws one `AppError` with all mistakes.
 */
export function parseArguments(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Arguments {
  const { tokens } = parseArgs({
    args: [...argv],
    options: {
      ...Object.fromEntries(settingsTable().map(([, s]) => [s.flag, { type: 'string' as const }])),
      help: { type: 'boolean', short: 'h' },
    },
    strict: false,
    tokens: true,
  });
  const errors: Record<string, string[]> = {};
  const flags = new Map<string, string>();
  const knownFlags = new Set(['help', ...settingsTable().map(([, s]) => s.flag)]);
  for (const token of tokens) {
    if (token.kind !== 'option' || token.name === 'help') continue;
    if (!knownFlags.has(token.name)) {
      errors[token.rawName] = ['is not a setting; --help lists them'];
    } else if (token.value === undefined || (!token.inlineValue && token.value.startsWith('--'))) {
      errors[token.rawName] = ['needs a value'];
    } else flags.set(token.name, token.value);
  }
  const config: Record<string, unknown> = {};
  for (const [key, setting] of settingsTable()) {
    const flag = flags.get(setting.flag);
    const text = flag ?? env[setting.env];
    config[key] = setting.defaultValue;
    if (text === undefined || (flag === undefined && text === '')) continue; // an empty variable counts as not set
    try {
      config[key] = setting.parse(text);
    } catch (error) {
      const name = flag === undefined ? setting.env : `--${setting.flag}`;
      errors[name] = [error instanceof Error ? error.message : String(error)];
    }
  }
  const messages = Object.entries(errors).map(([name, [text]]) => `${name}: ${text}`);
  if (messages.length > 0) throw new AppError('invalid', messages.join('\n'), errors);
  return {
    config: config as unknown as Config, // every key of `settings` was set above
    positionals: tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : [])),
    help: tokens.some((token) => token.kind === 'option' && token.name === 'help'),
  };
}

/** Returns the settings of a command line (`parseArguments`); throws if there are positional arguments. */
export function parseConfig(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Config {
  const { config, positionals } = parseArguments(argv, env);
  if (positionals.length === 0) return config;
  throw new AppError('invalid', `${positionals.join(', ')}: not expected here; --help has the use`);
}

/** Returns the text of `--help` about the settings, one line for each. */
export function settingsHelp(): string {
  const rows = settingsTable().map(([, s]) => [
    `--${s.flag} ${s.hint}`,
    s.env,
    `${s.help} (${s.shown})`,
  ]);
  const width = (at: number): number => Math.max(...rows.map((row) => row[at]?.length ?? 0));
  return rows
    .map(
      ([flag = '', env = '', help = '']) =>
        `  ${flag.padEnd(width(0))}  ${env.padEnd(width(1))}  ${help}`,
    )
    .join('\n');
}

function settingsTable(): [string, Setting<unknown>][] {
  return Object.entries(settings);
}

function settingNames(
  flag: string,
  hint: string,
  help: string,
): Pick<Setting<unknown>, 'flag' | 'env' | 'hint' | 'help'> {
  return { flag, hint, help, env: `STRANDLAKE_${flag.toUpperCase().replaceAll('-', '_')}` };
}

/** Returns the default value of a setting, and the text that `--help` shows for it. */
function defaultValueOf<T>(
  defaultValue: T,
  shown = String(defaultValue),
): { defaultValue: T; shown: string } {
  return { defaultValue, shown };
}

function parseMatching(text: string, shape: RegExp, expected: string, secret = false): string {
  if (shape.test(text)) return text;
  throw new Error(`must be ${expected}${secret ? '' : `, not "${text}"`}`);
}

function parseWholeNumber(text: string, least: number, most: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new Error(`must be a whole number from ${least} to ${most}, not "${text}"`);
}

function parseOnOff(text: string): boolean {
  if (/^(on|true|1|yes)$/i.test(text)) return true;
  if (/^(off|false|0|no)$/i.test(text)) return false;
  throw new Error(`must be on or off, not "${text}"`);
}

/**
 * Matches a path prefix: up to ten segments of at most 100 unreserved characters each, none of them `.` or `..`; also matches the empty
 * text.
 */
export const pathPrefixShape = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]{1,100}){0,10}$/;

function parseBaseAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const prefix = url?.pathname.replace(/\/$/, '') ?? '';
  const isPlain = url && !url.search && !url.hash && !url.username && pathPrefixShape.test(prefix);
  if (isPlain && /^https?:$/.test(url.protocol)) return url.origin + prefix;
  throw new Error(`must be http(s)://host[:port], perhaps with a plain path such as /lake, not "${text}"`); // prettier-ignore
}

function parseSmtpServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^smtps?:$/.test(url.protocol) && url.hostname !== '') return text;
  // The message does not contain the address, because that may include a password.
  throw new Error('must be smtp://host:port or smtps://user:password@host:port');
}

/** Parses a list of entries; `check` throws a description of what is wrong with an entry. */
function parseList(text: string, check: (entry: string) => unknown): readonly string[] {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  for (const entry of entries) check(entry);
  return entries;
}

function checkProxyAddress(text: string): void {
  if (parseCidrBlock(text) !== undefined) return;
  throw new Error(`must be addresses and CIDR blocks such as 127.0.0.1 or 10.0.0.0/8, not "${text}"`); // prettier-ignore
}

function parseLogLevel(text: string): LogLevel {
  const levels: readonly LogLevel[] = ['silent', 'error', 'info', 'debug'];
  const level = levels.find((name) => name === text);
  if (level) return level;
  throw new Error(`must be one of ${levels.join(', ')}, not "${text}"`);
}
