import { basename } from 'node:path';
import { AppError } from '../../engine/core/errors.js';
import { type Command, UsageError } from '../command.js';
import { datasetNameOf, importFile, type FileImport } from '../import-file.js';
import {
  resolveParentLocation,
  connectClient,
  resolveFolder,
  isFolderLocation,
  resolveLocation,
  serverOptions,
  showRows,
  withJsonProgress,
} from '../remote.js';
import { readOptions } from './options.js';

/** `strandlake import`: uploads files and imports them. */
export const importCommand: Command = {
  name: 'import',
  usage: 'import <file>… --into <vault:/path> [--url <url>] [--token <token>]',
  help: 'imports files: into the dataset at the path, or with a slash at the end each into a dataset in that folder',
  async run({ args, env, terminal }) {
    const options = { ...serverOptions, into: { type: 'string' } } as const;
    const { values, positionals } = readOptions(args, options, { min: 1, max: Infinity });
    if (values.into === undefined) throw new UsageError('--into is missing');
    const client = await connectClient(values, env);
    const place = await resolveLocation(client, values.into);
    const isFolder = isFolderLocation(place, values.into);
    const folder = isFolder ? place : await resolveParentLocation(client, place);
    const importTarget = {
      vaultId: place.vaultId,
      folder: { path: folder.path, id: await resolveFolder(client, folder) },
    };
    let failed = 0;
    for (const file of positionals) {
      const fileImport: FileImport = isFolder
        ? { ...importTarget, file, datasetName: datasetNameOf(file) }
        : { ...importTarget, file, datasetName: basename(place.path), appends: true };
      try {
        const done = await importFile(client, fileImport, withJsonProgress(terminal));
        showRows(terminal, {
          dataset: done.fullPath,
          dataset_id: done.datasetId,
          records: done.records,
          file,
        });
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        failed += 1;
        terminal.note(`${file} was not imported: ${error.message}`);
      }
    }
    return failed === 0 ? 0 : 1;
  },
};
