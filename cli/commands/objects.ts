import { basename, join } from 'node:path';
import { AppError } from '../../engine/core/errors.js';
import { type Command, UsageError } from '../command.js';
import { uploadFile } from '../upload-file.js';
import { isFolder, saveFile } from '../local-file.js';
import {
  resolveParentLocation,
  connectClient,
  resolveFolder,
  isFolderLocation,
  isRemote,
  resolveLocation,
  fetchListItems,
  serverOptions,
  showRow,
  withJsonProgress,
} from '../remote.js';
import { readOptions } from './options.js';

/** `strandlake ls`: lists vaults, the contents of a vault or folder, or a single file, dataset or shortcut. */
export const ls: Command = {
  name: 'ls',
  usage: 'ls [<vault:/path>] [--url <url>] [--token <token>]',
  help: 'lists the vaults, or the objects in a folder: type, size or records, id and path',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, serverOptions, { min: 0, max: 1 });
    const client = await connectClient(values, env);
    const [text] = positionals;
    if (text === undefined) {
      for (const vault of await fetchListItems(client, '/v2/vaults')) {
        const [id, path] = [Number(vault['id']), `${String(vault['full_path'])}:/`];
        showRow(terminal, { type: String(vault['vault_type']), size: null, id, path });
      }
      return 0;
    }
    const { vaultId, path, object } = await resolveLocation(client, text);
    if (path !== '/' && object === undefined) {
      throw new AppError('not-found', `there is nothing at ${text}`);
    }
    const parentId = path === '/' ? 'null' : String(object?.['id']);
    const isLeaf = object !== undefined && object['object_type'] !== 'folder';
    const listPath = `/v2/objects?vault_id=${vaultId}&parent_object_id=${parentId}`;
    for (const row of isLeaf ? [object] : await fetchListItems(client, listPath)) {
      const size = row['object_type'] === 'dataset' ? row['documents_count'] : row['size'];
      showRow(terminal, {
        type: String(row['object_type']),
        size: (size ?? null) as number | null,
        id: Number(row['id']),
        path: String(row['full_path']),
      });
    }
    return 0;
  },
};

/** `strandlake cp`: copies a file to the server or from it. */
export const cp: Command = {
  name: 'cp',
  usage: 'cp <file> <vault:/path>  or  cp <vault:/path> <file> [--url <url>] [--token <token>]',
  help: 'copies a file up to the server or down from it; into a folder where the target is one',
  async run({ args, env, terminal }) {
    const { values, positionals } = readOptions(args, serverOptions, { min: 2, max: 2 });
    const [from = '', to = ''] = positionals;
    if (isRemote(from) === isRemote(to)) {
      throw new UsageError('one of the two must be a path on the server, such as vault:/path');
    }
    const client = await connectClient(values, env);
    const progressTerminal = withJsonProgress(terminal);
    const location = await resolveLocation(client, isRemote(from) ? from : to);
    if (isRemote(to)) {
      const isIntoFolder = isFolderLocation(location, to);
      const folder = isIntoFolder ? location : await resolveParentLocation(client, location);
      const id = await resolveFolder(client, folder);
      const filename = basename(isIntoFolder ? from : location.path);
      const target = { vaultId: location.vaultId, folder: { path: folder.path, id }, filename };
      const objectId = await uploadFile(client, from, target, progressTerminal);
      const object = await client.get(`/v2/objects/${objectId}`);
      showRow(terminal, {
        type: 'file',
        size: Number(object['size']),
        id: objectId,
        path: String(object['full_path']),
      });
      return 0;
    }
    if (location.object?.['object_type'] !== 'file') {
      throw new AppError(
        'not-found',
        `${from} is ${location.object ? 'not a file' : 'not there'}; export writes datasets`,
      );
    }
    const { download_url: url } = await client.get(
      `/v2/objects/${String(location.object['id'])}/download`,
    );
    const file = (await isFolder(to)) ? join(to, basename(location.path)) : to;
    const bytes = await saveFile(file, client.download(String(url)));
    showRow(terminal, { type: 'file', size: bytes, id: Number(location.object['id']), path: file });
    return 0;
  },
};

/** `strandlake tasks`: lists tasks, newest first. */
export const tasks: Command = {
  name: 'tasks',
  usage: 'tasks [--status running] [--limit 20] [--url <url>] [--token <token>]',
  help: 'lists your tasks, newest first: id, status, type and description',
  async run({ args, env, terminal }) {
    const options = {
      ...serverOptions,
      status: { type: 'string' },
      limit: { type: 'string', default: '20' },
    } as const;
    const { values } = readOptions(args, options, { min: 0, max: 0 });
    const maxRows = Number(values.limit);
    if (!Number.isSafeInteger(maxRows) || maxRows < 1)
      throw new UsageError('--limit must be a whole number above 0');
    const client = await connectClient(values, env);
    const filter =
      values.status === undefined ? '' : `?status=${encodeURIComponent(values.status)}`;
    for (const row of await fetchListItems(client, `/v2/tasks${filter}`, maxRows)) {
      showRow(terminal, {
        id: Number(row['id']),
        status: String(row['status']),
        type: String(row['task_display_name']),
        description: String(row['description'] ?? ''),
      });
    }
    return 0;
  },
};
