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
  showRow,
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
    const location = await resolveLocation(client, values.into);
    const isFolder = isFolderLocation(location, values.into);
    const folder = isFolder ? location : await resolveParentLocation(client, location);
    const importTarget = {
      vaultId: location.vaultId,
      folder: { path: folder.path, id: await resolveFolder(client, folder) },
    };
    let failedCount = 0;
    for (const file of positionals) {
      const fileImport: FileImport = isFolder
        ? { ...importTarget, file, datasetName: datasetNameOf(file) }
        : { ...importTarget, file, datasetName: basename(location.path), appends: true };
      try {
        const importedFile = await importFile(client, fileImport, withJsonProgress(terminal));
        showRow(terminal, {
          dataset: importedFile.fullPath,
          dataset_id: importedFile.datasetId,
          records: importedFile.recordCount,
          file,
        });
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        failedCount += 1;
        terminal.note(`${file} was not imported: ${error.message}`);
      }
    }
    return failedCount === 0 ? 0 : 1;
  },
};
