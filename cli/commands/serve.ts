import { fileURLToPath } from 'node:url';
import { parseArguments, type Config } from '../../engine/core/config.js';
import { AppError } from '../../engine/core/errors.js';
import { supervise } from '../../scheduler/worker/supervisor.js';
import { type Client, openClient } from '../client.js';
import type { Command } from '../command.js';
import { withData } from '../data.js';
import { type Prepared, prepare, createWorkToken } from '../first-start.js';
import { importFile, importedLine, type FileImport } from '../import-file.js';
import type { Terminal } from '../terminal.js';
import { localOrigin, threeRequests } from '../welcome.js';

const apiEntry = fileURLToPath(new URL('../../api/main.js', import.meta.url));
const exampleFile = fileURLToPath(
  new URL('../../../examples/clinvar_grch38_2026_69k.vcf.gz', import.meta.url),
);

/** `strandlake serve`, which `npm start` runs. */
export const serve: Command = {
  name: 'serve',
  usage: 'serve [settings] [files to import …]',
  help: 'starts the server and imports the named files into your personal vault',
  async run({ args, env, terminal }) {
    const { config, positionals } = parseArguments(args, env);
    const prepared = await withData(config.data, (data) => prepare(data, config));
    const serverEnded = new AbortController();
    const { promise: listening, resolve: setPort } = Promise.withResolvers<number>();
    const server = supervise(apiEntry, [JSON.stringify({ ...config, token: null })], {
      say: (text) => terminal.note(text),
      message: (message) => {
        if (isListening(message)) setPort(message.port);
      },
    }).finally(() => serverEnded.abort());
    const port = await Promise.race([listening, server.then(() => undefined)]);
    if (port !== undefined) {
      const origin = localOrigin(config.host, port);
      announce(terminal, config, origin, prepared);
      await importAll(config, origin, prepared, positionals, terminal, serverEnded.signal);
    }
    return server;
  },
};

/** True for the message that the API process sends once it listens. It has the port, which is chosen by the system if 0 was requested. */
function isListening(message: unknown): message is { readonly port: number } {
  const { type, port } = message as { readonly type?: unknown; readonly port?: unknown };
  return type === 'listening' && typeof port === 'number';
}

function announce(terminal: Terminal, config: Config, origin: string, prepared: Prepared): void {
  terminal.out(`Strandlake is ready at ${config.publicUrl ?? origin} (data in ${config.data})`);
  terminal.out(
    prepared.firstSecret === null
      ? `To create a token: npm run strandlake -- token add ${prepared.user.email}`
      : `Your token, shown this once: ${prepared.firstSecret}`,
  );
}

/** Imports the example, if it is pending, and the named files. Failures are reported and do not affect the server. */
async function importAll(
  config: Config,
  origin: string,
  prepared: Prepared,
  files: readonly string[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  const { exampleVault, personalVault, user, firstSecret } = prepared;
  if (!exampleVault && files.length === 0) return;
  const token = await withData(config.data, (data) => createWorkToken(data, user));
  const client = openClient(origin, token.secret, signal);
  const attempt = async (wanted: FileImport): Promise<number | undefined> => {
    try {
      const imported = await importFile(client, wanted, terminal);
      terminal.out(importedLine(imported));
      return imported.datasetId;
    } catch (error) {
      terminal.progress('');
      if (!signal.aborted) terminal.note(`${wanted.file} was not imported: ${reasonOf(error)}`);
      return undefined;
    }
  };
  try {
    if (exampleVault) {
      await importExample(client, exampleVault.id, firstSecret, attempt, terminal);
    }
    for (const file of files) await attempt({ file, vaultId: personalVault.id });
  } finally {
    await withData(config.data, ({ catalog }) => catalog.tokens.revoke(token.id));
  }
}

async function importExample(
  client: Client,
  vaultId: number,
  secret: string | null,
  attempt: (wanted: FileImport) => Promise<number | undefined>,
  terminal: Terminal,
): Promise<void> {
  const datasetId = await attempt({ file: exampleFile, vaultId, datasetName: 'clinvar' });
  if (datasetId === undefined) return;
  await client.patch(`/v2/vaults/${vaultId}`, { metadata: { example: 'imported' } });
  terminal.out('');
  terminal.out(threeRequests(client.origin, secret ?? '$TOKEN', datasetId));
}

function reasonOf(error: unknown): string {
  if (error instanceof AppError) return error.message;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message : String(cause);
}
