import { fileURLToPath } from 'node:url';
import { parseArguments, type Config, settingsHelp } from '../../engine/core/config.js';
import { AppError } from '../../engine/core/errors.js';
import { LogFile } from '../../scheduler/worker/log-file.js';
import { superviseProcess } from '../../scheduler/worker/supervisor.js';
import { type Client, openClient } from '../client.js';
import type { Command } from '../command.js';
import { saveServerOrigin, readRunningServerOrigin, withDataFolder } from '../data.js';
import { type PreparedStart, prepareFirstStart, createWorkToken } from '../first-start.js';
import { importFile, importedLine, type FileImport } from '../import-file.js';
import type { Terminal } from '../terminal.js';
import { localOrigin, exampleRequests } from '../welcome.js';

const apiEntry = fileURLToPath(new URL('../../api/main.js', import.meta.url));
const exampleFile = fileURLToPath(
  new URL('../../../examples/clinvar_grch38_2026_69k.vcf.gz', import.meta.url),
);

/** `strandlake serve`, which `npm start` runs. */
export const serve: Command = {
  name: 'serve',
  usage: 'serve [settings] [files to import …]',
  help: 'starts the server and imports the named files into your personal vault',
  details: () => `Settings, by flag or environment:\n${settingsHelp()}`,
  async run({ args, env, terminal }) {
    const { config, positionals } = parseArguments(args, env);
    const runningAddress = await readRunningServerOrigin(config.data);
    if (runningAddress !== undefined)
      return importIntoRunningServer(config, runningAddress, positionals, terminal);
    // The log is opened before the token is shown, which happens only once: if opening the log fails, the token is not lost.
    const log = await openLog(config, terminal);
    const preparedStart = await withDataFolder(config.data, (data) =>
      prepareFirstStart(data, config),
    );
    const say = (text: string): void => {
      terminal.note(text);
      log?.write(text);
    };
    const serverEnded = new AbortController();
    const { promise: listening, resolve: setPort } = Promise.withResolvers<number>();
    const server = superviseProcess(apiEntry, [JSON.stringify({ ...config, token: null })], {
      log,
      say,
      message: (message) => {
        if (isListening(message)) setPort(message.port);
        else if (isRefused(message)) say(`strandlake serve: ${message.reason}`);
      },
    }).finally(() => {
      serverEnded.abort();
      return log?.close();
    });
    const port = await Promise.race([listening, server.then(() => undefined)]);
    if (port !== undefined) {
      const origin = localOrigin(config.host, port);
      await saveServerOrigin(config.data, origin);
      announceServer(terminal, config, origin, preparedStart);
      await importAll(config, origin, preparedStart, positionals, terminal, serverEnded.signal);
    }
    return server;
  },
};

/** Opens the log file, if the settings name one; null otherwise. Only this process writes to it. */
async function openLog(config: Config, terminal: Terminal): Promise<LogFile | null> {
  const { logFile: path, logFileMb } = config;
  if (path === null) return null;
  return LogFile.open(path, logFileMb * 1024 ** 2, (text) => terminal.note(text));
}

/**
 * Returns true for the message that the API process sends once it listens. It contains the port, which the system chose if 0 was requested.
 */
function isListening(message: unknown): message is { readonly port: number } {
  const { type, port } = message as { readonly type?: unknown; readonly port?: unknown };
  return type === 'listening' && typeof port === 'number';
}

/**
 * Returns true for the message of an API process that cannot start and that a restart would not help, for example because its port is
 * taken.
 */
function isRefused(message: unknown): message is { readonly reason: string } {
  const { type, reason } = message as { readonly type?: unknown; readonly reason?: unknown };
  return type === 'refused' && typeof reason === 'string';
}

/**
 * Imports the named files through the server that already uses the data folder; returns the exit code. Throws `conflict` if no file is
 * named.
 */
async function importIntoRunningServer(
  config: Config,
  origin: string,
  files: readonly string[],
  terminal: Terminal,
): Promise<number> {
  if (files.length === 0) {
    const reason = `another server uses ${config.data} and is ready at ${origin}`;
    throw new AppError('conflict', `${reason}; stop it or choose another folder with --data`);
  }
  terminal.note(`Using the server that runs at ${origin}`);
  const preparedStart = await withDataFolder(config.data, (data) =>
    prepareFirstStart(data, config),
  );
  const { signal } = new AbortController();
  const withoutExample = { ...preparedStart, exampleVault: null };
  return (await importAll(config, origin, withoutExample, files, terminal, signal)) === 0 ? 0 : 1;
}

function announceServer(
  terminal: Terminal,
  config: Config,
  origin: string,
  preparedStart: PreparedStart,
): void {
  terminal.out(`Strandlake is ready at ${config.publicUrl ?? origin} (data in ${config.data})`);
  terminal.out(
    preparedStart.firstSecret === null
      ? `To create a token: npm run strandlake -- token add ${preparedStart.user.email}`
      : `Your token, shown this once: ${preparedStart.firstSecret}`,
  );
}

/**
 * Imports the example, if it is pending, and the named files. Failed imports do not affect the server and are reported, unless the
 * server has ended. Returns how many of the named files failed.
 */
async function importAll(
  config: Config,
  origin: string,
  preparedStart: PreparedStart,
  files: readonly string[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { exampleVault, personalVault, user, firstSecret } = preparedStart;
  if (!exampleVault && files.length === 0) return 0;
  const token = await withDataFolder(config.data, (data) => createWorkToken(data, user));
  const client = openClient(origin, token.secret, signal);
  const attempt = async (fileImport: FileImport): Promise<number | undefined> => {
    try {
      const importedFile = await importFile(client, fileImport, terminal);
      terminal.out(importedLine(importedFile));
      return importedFile.datasetId;
    } catch (error) {
      terminal.progress('');
      if (!signal.aborted)
        terminal.note(`${fileImport.file} was not imported: ${errorReason(error)}`);
      return undefined;
    }
  };
  try {
    if (exampleVault) {
      await importExample(client, exampleVault.id, firstSecret, attempt, terminal);
    }
    let failedCount = 0;
    for (const file of files) {
      if ((await attempt({ file, vaultId: personalVault.id })) === undefined) failedCount += 1;
    }
    return failedCount;
  } finally {
    await withDataFolder(config.data, ({ catalog }) => catalog.tokens.revoke(token.id));
  }
}

async function importExample(
  client: Client,
  vaultId: number,
  secret: string | null,
  attempt: (fileImport: FileImport) => Promise<number | undefined>,
  terminal: Terminal,
): Promise<void> {
  const datasetId = await attempt({ file: exampleFile, vaultId, datasetName: 'clinvar' });
  if (datasetId === undefined) return;
  await client.patch(`/v2/vaults/${vaultId}`, { metadata: { example: 'imported' } });
  terminal.out('');
  terminal.out(await exampleRequests(client.origin, secret ?? '$TOKEN', datasetId));
}

function errorReason(error: unknown): string {
  if (error instanceof AppError) return error.message;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message : String(cause);
}
