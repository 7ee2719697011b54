import { homedir } from 'node:os';
import { join } from 'node:path';
import { replaceFile } from '../engine/core/atomic-files.js';
import { AppError } from '../engine/core/errors.js';
import { readFileStats, ensureLocalFolder, readFile } from '../engine/core/files.js';
import { type JsonBody, type Client, openClient } from './client.js';
import { type CommandContext, UsageError } from './command.js';
import type { Terminal } from './terminal.js';

/* The common parts of commands that work through a server: choosing the server, resolving paths on it, and showing results. */

/** The options that choose the server and the token. */
export const serverOptions = { url: { type: 'string' }, token: { type: 'string' } } as const;

/** The environment variable with the address of the server. The variable for the token is that of the server's setting. */
export const urlVariable = 'STRANDLAKE_URL';

type Environment = CommandContext['env'];

interface Login {
  readonly origin: string;
  readonly token: string;
}

/** Saves the address and the token in a file that only its owner can read (mode 600). Returns the path of the file. */
export async function saveLogin(login: Login, env: Environment): Promise<string> {
  const file = join(await ensureLocalFolder(settingsFolder(env)), loginName);
  await replaceFile(file, Buffer.from(`${JSON.stringify(login)}\n`));
  return file;
}

interface ServerFlags {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
}

/**
 * Returns a client of the server that is given by the flags, the environment (STRANDLAKE_URL, STRANDLAKE_TOKEN) or the last login, in this
 * order.
 * Throws `not-found` if no server or no token for it is known.
 */
export async function connectClient(flags: ServerFlags, env: Environment): Promise<Client> {
  const savedLogin = await readSavedLogin(env);
  const origin = baseUrlOf(flags.url ?? env[urlVariable] ?? savedLogin?.origin);
  if (origin === undefined) {
    throw new AppError('not-found', 'no server is known; log in first: strandlake login <url>');
  }
  const savedToken = savedLogin?.origin === origin ? savedLogin.token : undefined;
  const token = flags.token ?? env['STRANDLAKE_TOKEN'] ?? savedToken;
  if (token === undefined) {
    throw new AppError(
      'not-found',
      `no token for ${origin} is known; log in: strandlake login ${origin}`,
    );
  }
  return openClient(origin, token, new AbortController().signal);
}

/**
 * Returns, for a command that works through a server or on a data folder, a client of the server, or undefined to use the folder. Flags
 * decide; if there are none, the folder that the environment names is used, else the server that the environment or the last login names,
 * else the default folder.
 */
export async function connectUnlessFolder(
  flags: ServerFlags & { readonly data?: string | undefined },
  env: Environment,
): Promise<Client | undefined> {
  const namesServer = flags.url !== undefined || flags.token !== undefined;
  if (namesServer && flags.data !== undefined) {
    throw new UsageError('name a server or a data folder, not both');
  }
  if (namesServer) return connectClient(flags, env);
  if (flags.data !== undefined || env['STRANDLAKE_DATA'] !== undefined) return undefined;
  const isServerKnown = env[urlVariable] !== undefined || (await readSavedLogin(env)) !== undefined;
  return isServerKnown ? connectClient(flags, env) : undefined;
}

/** Returns the base address of a server, with `http://` by default and perhaps with a path prefix; undefined for no text. */
export function baseUrlOf(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  const url = URL.parse(/^https?:\/\//i.test(text) ? text : `http://${text}`);
  if (url !== null) return url.origin + url.pathname.replace(/\/+$/, '');
  throw new AppError('invalid', `${text} is not the address of a server`);
}

const loginName = 'login.json';

function settingsFolder(env: Environment): string {
  const base = env['XDG_CONFIG_HOME'] ?? join(env['HOME'] ?? homedir(), '.config');
  return join(base, 'strandlake');
}

async function readSavedLogin(env: Environment): Promise<Login | undefined> {
  const file = join(settingsFolder(env), loginName);
  if ((await readFileStats(file)) === undefined) return undefined;
  return JSON.parse(Buffer.from(await readFile(file)).toString('utf8')) as Login;
}

interface VaultLocation {
  readonly vaultId: number;
  /** `/runs/a`, without a slash at the end; the root is `/`. */
  readonly path: string;
  /** The object at the location; undefined for the root, or if there is no object. */
  readonly object: JsonBody | undefined;
}

/**
 * Returns whether a text names a location on the server: `vault:/path`, `domain:vault:/path` or `~/path`. On Windows, a path with a drive
 * letter, such as `C:/path`, is local.
 */
export function isRemote(text: string): boolean {
  if (process.platform === 'win32' && /^[A-Za-z]:[\\/]/.test(text)) return false;
  return /^[^/]*:|^~(\/|$)/.test(text);
}

/** Finds a location by its full path. Throws `not-found` if there is no such vault. */
export async function resolveLocation(client: Client, fullPath: string): Promise<VaultLocation> {
  const text = /^[^/]*$/.test(fullPath) && !fullPath.endsWith(':') ? `${fullPath}:/` : fullPath;
  const query = new URLSearchParams({ full_path: text }).toString();
  const [vault] = await fetchListItems(client, `/v2/vaults?${query}`);
  if (vault === undefined) {
    throw new AppError('not-found', `there is no vault for ${fullPath}; strandlake ls lists them`);
  }
  const pathInVault = text.slice(text.search(/(?<=:|^~)\/|$/));
  return resolveLocationInVault(
    client,
    Number(vault['id']),
    `/${pathInVault.split('/').filter(Boolean).join('/')}`,
  );
}

/** Returns the location of the parent folder, which need not exist. */
export function resolveParentLocation(
  client: Client,
  { vaultId, path }: VaultLocation,
): Promise<VaultLocation> {
  return resolveLocationInVault(client, vaultId, path.slice(0, path.lastIndexOf('/')) || '/');
}

async function resolveLocationInVault(
  client: Client,
  vaultId: number,
  path: string,
): Promise<VaultLocation> {
  const query = new URLSearchParams({ vault_id: String(vaultId), path }).toString();
  const [object] = path === '/' ? [] : await fetchListItems(client, `/v2/objects?${query}`);
  return { vaultId, path, object };
}

/** Returns whether a location given as `text` is a folder, or is to become one, rather than a file or dataset. */
export function isFolderLocation({ path, object }: VaultLocation, text: string): boolean {
  return path === '/' || text.endsWith('/') || object?.['object_type'] === 'folder';
}

/**
 * Returns the dataset with an id, or the object of the dataset at a full path. Throws `not-found` if there is no dataset at the path, and
 * `invalid` if there is none with the id.
 */
export async function resolveDataset(client: Client, text: string): Promise<JsonBody> {
  if (/^\d+$/.test(text)) return client.get(`/v2/datasets/${text}`);
  const { object } = await resolveLocation(client, text);
  if (object?.['object_type'] === 'dataset') return object;
  throw new AppError('not-found', `${text} is ${object ? 'not a dataset' : 'not there'}`);
}

/** Returns the id of the folder at a location, which is created with its parents if it is missing; null for the root of the vault. */
export async function resolveFolder(
  client: Client,
  { vaultId, path, object }: VaultLocation,
): Promise<number | null> {
  if (path === '/') return null;
  if (object?.['object_type'] === 'folder') return Number(object['id']);
  if (object !== undefined) throw new AppError('conflict', `${path} is no folder`);
  let parentId: number | null = null;
  const folderNames = path.split('/').filter(Boolean);
  for (const [i, filename] of folderNames.entries()) {
    const knownFolder = await resolveLocationInVault(
      client,
      vaultId,
      `/${folderNames.slice(0, i + 1).join('/')}`,
    );
    const folder: JsonBody =
      knownFolder.object ??
      (await client.post('/v2/objects', {
        vault_id: vaultId,
        object_type: 'folder',
        filename,
        parent_object_id: parentId,
      }));
    parentId = Number(folder['id']);
  }
  return parentId;
}

const pageSize = 500;

/** Returns the rows of a list: of all its pages, but at most `maxRows` rows. */
export async function fetchListItems(
  client: Client,
  path: string,
  maxRows = Infinity,
): Promise<readonly JsonBody[]> {
  const rows: JsonBody[] = [];
  const separator = path.includes('?') ? '&' : '?';
  while (rows.length < maxRows) {
    const limit = Math.min(pageSize, maxRows - rows.length);
    const page = await client.get(`${path}${separator}limit=${limit}&offset=${rows.length}`);
    const data = (page['data'] ?? []) as readonly JsonBody[];
    rows.push(...data);
    if (data.length < limit) break;
  }
  return rows;
}

/** Prints one result: as columns if a person reads it at a terminal, else as a JSON line with the same keys. */
export function showRow(
  terminal: Terminal,
  row: Readonly<Record<string, string | number | null>>,
): void {
  if (!terminal.isTerminal) return terminal.out(JSON.stringify(row));
  const cells = Object.values(row).map((value) => (value === null ? '-' : String(value)));
  terminal.out(cells.join('  '));
}

/** Returns a terminal that shows progress as a bar for a person, else as JSON lines on standard error. */
export function withJsonProgress(terminal: Terminal): Terminal {
  if (terminal.drawsProgress) return terminal;
  return {
    ...terminal,
    progress: (_text, state) => {
      if (state !== undefined) terminal.progress(JSON.stringify(state));
    },
  };
}
