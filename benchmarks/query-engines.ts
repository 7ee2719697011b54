import { openConnections } from './connections.js';
import type { PeerStatement, QueryPeer } from './peers/query-peer.js';
import type { QueryDataset } from './query-dataset.js';
import type { BenchmarkQuery, QueryAnswer } from './benchmark-queries.js';
import { openChdb, openDuckdb } from './query-tables.js';
import { startServer } from './server.js';

/** The part of an answer that must be equal for all engines: the total and the compared values. */
interface AnswerFacts {
  readonly total: number;
  readonly value: unknown;
}

interface EngineResult {
  /** Milliseconds: for the server, measured by its client and including HTTP; for a peer engine, measured in its process. */
  readonly ms: number;
  /** Parses the answer. The measured time does not include this. */
  parseFacts(): AnswerFacts;
}

/** An engine that has opened its data, in its own process. */
export interface OpenedEngine {
  readonly name: string;
  /** The process of the engine. */
  readonly pid: number;
  ask(query: BenchmarkQuery): Promise<EngineResult>;
  close(): Promise<void>;
}

/** One of the engines that are compared, Strandlake included. */
export interface ComparedEngine {
  readonly name: string;
  canRun(query: BenchmarkQuery): boolean;
  open(): Promise<OpenedEngine>;
}

/** Returns Strandlake, followed by the engines that it is compared with. */
export function comparedEngines(dataset: QueryDataset): readonly ComparedEngine[] {
  const { records } = dataset;
  return [
    { name: 'Strandlake', canRun: () => true, open: () => openStrandlake(dataset) },
    comparedPeer('DuckDB', ({ duckdb }) => duckdb, () => openDuckdb(records)), // prettier-ignore
    comparedPeer('chdb', ({ chdb }) => chdb, () => openChdb(records)), // prettier-ignore
  ];
}

/** Throws if two engines gave different answers. */
export function checkAgreement(
  query: BenchmarkQuery,
  ours: EngineResult,
  peer: string,
  theirs: EngineResult,
): void {
  const [a, b] = [ours, theirs].map((one) => JSON.stringify(one.parseFacts()));
  if (a === b) return;
  const shownAnswers = [a, b].map((text) => text!.slice(0, 400));
  throw new Error(`${query.name}: ours is ${shownAnswers[0]}, that of ${peer} ${shownAnswers[1]}`);
}

async function openStrandlake({ data, path }: QueryDataset): Promise<OpenedEngine> {
  const server = await startServer({ data });
  const connections = openConnections(server.origin, server.token, 1);
  return {
    name: 'Strandlake',
    pid: server.apiPid(),
    async ask({ name, request, answerValue }) {
      const body = JSON.stringify(request);
      const from = performance.now();
      const reply = await connections.post(path, body);
      const ms = performance.now() - from;
      if (reply.status !== 200)
        throw new Error(`${name}: ${reply.status} ${reply.text.slice(0, 500)}`);
      const parseFacts = (): AnswerFacts => {
        const answer = JSON.parse(reply.text) as QueryAnswer;
        return { total: answer.total, value: answerValue?.(answer) };
      };
      return { ms, parseFacts };
    },
    async close() {
      connections.close();
      await server.stop();
    },
  };
}

function comparedPeer(
  name: string,
  statementsOf: (query: BenchmarkQuery) => readonly PeerStatement[] | undefined,
  start: () => Promise<QueryPeer>,
): ComparedEngine {
  return {
    name,
    canRun: (query) => statementsOf(query) !== undefined,
    async open() {
      const peer = await start();
      return {
        name,
        pid: peer.pid,
        async ask(query) {
          const { ms, rows } = await peer.run(statementsOf(query) ?? []);
          const parseFacts = (): AnswerFacts => ({
            total: Number(rows.at(-1)?.[0]?.[0]),
            value: query.rowsValue?.(rows[0]!),
          });
          return { ms, parseFacts };
        },
        close: () => peer.stop(),
      };
    },
  };
}
