import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * A statement for a peer engine. With the shape `records`, its rows become JSON records, like a page of Strandlake, and only their total
 * length and their number are returned; with the shape `values`, the rows are returned as values.
 */
export interface PeerStatement {
  readonly sql: string;
  readonly shape: 'records' | 'values';
}

/** Message to the process of a peer engine: statements to run one after another. */
export interface PeerRequest {
  readonly statements: readonly PeerStatement[];
}

/**
 * Answer of the process of a peer engine: the time of all statements in milliseconds, measured in that process, and the rows of each
 * statement; with the shape `records`, one row with the length and the number of the records.
 */
export type PeerAnswer =
  | { readonly ms: number; readonly rows: readonly (readonly (readonly unknown[])[])[] }
  | { readonly error: string };

/**
 * A database engine that Strandlake is compared with, in a process of its own. The process runs all queries, so that neither its start nor
 * a transport is counted.
 */
export interface QueryPeer {
  readonly name: string;
  readonly pid: number;
  run(statements: readonly PeerStatement[]): Promise<Extract<PeerAnswer, { ms: number }>>;
  stop(): Promise<void>;
}

/** Starts one of the programs of this folder. */
export async function startPeer(
  name: string,
  script: string,
  args: readonly string[],
): Promise<QueryPeer> {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const child = fork(file, [...args], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  await receivePeerAnswer(name, child); // the first message says that the engine is ready
  return {
    name,
    pid: child.pid ?? 0,
    async run(statements) {
      const request: PeerRequest = { statements };
      child.send(request);
      const answer = await receivePeerAnswer(name, child);
      if ('error' in answer) throw new Error(`${name}: ${answer.error}`);
      return answer;
    },
    async stop() {
      if (child.exitCode !== null) return;
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

async function receivePeerAnswer(name: string, child: ChildProcess): Promise<PeerAnswer> {
  const endController = new AbortController();
  const { signal } = endController;
  const exit = once(child, 'exit', { signal }).then(([code, exitSignal]) => {
    throw new Error(`${name} ended with ${String(code ?? exitSignal)}`);
  });
  exit.catch(() => undefined); // if the signal removes the listener, the promise rejects and nobody awaits it
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal }), exit])) as [
      PeerAnswer,
    ];
    return message;
  } finally {
    endController.abort();
  }
}

/**
 * Serves a peer engine in this process: answers messages until the parent ends. `runStatement` runs a statement and returns a function that
 * parses the rows of its result; the measured time does not include the parsing.
 */
export function servePeer(
  runStatement: (statement: PeerStatement) => Promise<() => readonly (readonly unknown[])[]>,
): void {
  process.on('message', ({ statements }: PeerRequest) => {
    void runStatements(statements).then((message) => process.send?.(message));
  });
  process.on('disconnect', () => process.exit(0));
  const readyMessage: PeerAnswer = { ms: 0, rows: [] };
  process.send?.(readyMessage);

  async function runStatements(statements: readonly PeerStatement[]): Promise<PeerAnswer> {
    try {
      const parseFunctions: (() => readonly (readonly unknown[])[])[] = [];
      const from = performance.now();
      for (const statement of statements) parseFunctions.push(await runStatement(statement));
      const ms = performance.now() - from;
      return { ms, rows: parseFunctions.map((rows) => rows()) };
    } catch (error) {
      const text = statements.map(({ sql }) => sql.slice(0, 200)).join('; ');
      return { error: `${String(error)} in: ${text}` };
    }
  }
}
