import type { HotColumns } from '../memory/hot-columns.js';
import type { MemoryExecutor } from '../memory/memory-executor.js';
import { openSqlEngine, type SqlEngine, type SqlEngineOptions } from '../sql/sql-engine.js';
import { SqlExecutor } from '../sql/sql-executor.js';
import type { Snapshot } from '../../store/store.js';
import type { Predicate } from '../predicate/predicate.js';
import type { Plan } from './plan.js';

/** Receives each plan before it is carried out, for the debug log. */
export type PlanListener = (plan: Plan, snapshot: Snapshot, predicate: Predicate) => void;

/** The SQL executor, the executor with columns in memory if there is one, and what observes the plans. */
export interface QueryEngine {
  readonly sql: SqlExecutor;
  readonly memory: MemoryExecutor | undefined;
  readonly onPlan: PlanListener | undefined;
  /** Records which columns in memory the queries use. */
  readonly hot: HotColumns | undefined;
  close(): Promise<void>;
}

/** The parts of a query engine other than its SQL engine. */
interface QueryEngineOptions {
  /** The executor with columns in memory; it is closed with the engine. */
  readonly memory?: MemoryExecutor;
  readonly onPlan?: PlanListener;
  readonly hot?: HotColumns;
}

/** Returns a query engine whose SQL engine is an embedded DuckDB, which its first statement opens. */
export function openQueryEngine(options: SqlEngineOptions & QueryEngineOptions): QueryEngine {
  return queryEngine(openSqlEngine(options), options);
}

/** Returns a query engine with the given SQL engine, which is closed with it. */
export function queryEngine(
  sql: SqlEngine,
  { memory, onPlan, hot }: QueryEngineOptions = {},
): QueryEngine {
  return {
    sql: new SqlExecutor(sql),
    memory,
    onPlan,
    hot,
    close: async () => {
      await memory?.close();
      await sql.close();
    },
  };
}
