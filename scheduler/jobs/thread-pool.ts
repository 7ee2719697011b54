declare const jobTypes: unique symbol;

/**
 * The name of a job for a thread of the pool, with the types of its input and its result: `worker/job-thread.ts` has a function of that
 * name. At run time, the name is a plain text.
 */
export type ThreadJob<J extends object, R> = string & { readonly [jobTypes]?: (job: J) => R };

/** The pool of threads in which the functions of `worker/job-thread.ts` run. */
export interface ThreadPool {
  readonly threads: number;
  /**
   * Runs a job in one of the threads. When the signal aborts, a queued job is dropped, and the thread of a running job is terminated; the
   * promise rejects only after that thread has exited, so nothing is written afterwards. If a thread dies, its job is created and run once
   * more (`attempt` 2), because another job may be the cause.
   */
  run<J extends object, R>(
    kind: ThreadJob<J, R>,
    job: (attempt: number) => J,
    signal: AbortSignal,
    options?: PoolRunOptions,
  ): Promise<R>;
  close(): Promise<void>;
}

/** Options for running a job in the pool. */
export interface PoolRunOptions {
  /** Whether the job runs before queued jobs that are not urgent. */
  readonly isUrgent?: boolean;
  /** Answers the calls of host functions that the job makes through its property `calls`, which the pool adds. */
  readonly calls?: HostCallHandler | undefined;
}

/** Answers the calls that expressions in the threads make of functions of their host, such as dataset functions. */
export interface HostCallHandler {
  /** The scope of the calls: within one scope, the same call has the same answer. */
  readonly scope: string;
  readonly answer: (call: unknown) => Promise<unknown>;
}
