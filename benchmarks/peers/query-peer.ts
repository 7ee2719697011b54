import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** One statement of a peer: its rows as JSON records, as a page is answered, or as plain values. */
export interface PeerStatement {
  readonly sql: string;
  readonly shape: 'records' | 'values';
}

/** What a peer's process is sent: statements to run one after the other. */
export interface PeerRequest {
  readonly statements: readonly PeerStatement[];
}

/** What it answers: the time for all of them, measured there, and the values of those that ask for values. */
export type PeerAnswer =
  | { readonly ms: number; readonly rows: readonly (readonly (readonly unknown[])[])[] }
  | { readonly error: string };

/** An engine in a process of its own that stays, so that neither its start nor a transport is counted. */
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
  await answerOf(name, child); // it says that it is ready
  return {
    name,
    pid: child.pid ?? 0,
    async run(statements) {
      const request: PeerRequest = { statements };
      child.send(request);
      const answer = await answerOf(name, child);
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

async function answerOf(name: string, child: ChildProcess): Promise<PeerAnswer> {
  const ended = new AbortController();
  const { signal } = ended;
  const exit = once(child, 'exit', { signal }).then(([code, kill]) => {
    throw new Error(`${name} ended with ${String(code ?? kill)}`);
  });
  exit.catch(() => undefined); // also when it is only called off
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal }), exit])) as [
      PeerAnswer,
    ];
    return message;
  } finally {
    ended.abort();
  }
}

/** The part of the peer's process: answers requests with `one`, which makes the text of a statement's answer, until the parent goes. */
export function serve(
  one: (statement: PeerStatement) => Promise<() => readonly (readonly unknown[])[]>,
): void {
  process.on('message', ({ statements }: PeerRequest) => {
    void answer(statements).then((message) => process.send?.(message));
  });
  process.on('disconnect', () => process.exit(0));
  const ready: PeerAnswer = { ms: 0, rows: [] };
  process.send?.(ready);

  async function answer(statements: readonly PeerStatement[]): Promise<PeerAnswer> {
    try {
      const parse: (() => readonly (readonly unknown[])[])[] = [];
      const from = performance.now();
      for (const statement of statements) parse.push(await one(statement));
      const ms = performance.now() - from;
      return { ms, rows: parse.map((rows) => rows()) };
    } catch (error) {
      const text = statements.map(({ sql }) => sql.slice(0, 200)).join('; ');
      return { error: `${String(error)} in: ${text}` };
    }
  }
}
