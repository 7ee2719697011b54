import { parseConfig } from '../engine/core/config.js';
import { type QueryDataset, isLarge } from './query-dataset.js';
import { type OpenedEngine, agree, comparedEngines } from './query-engines.js';
import { type Question, questions } from './query-questions.js';
import { type EngineTimes, type QuestionTable, questionTable } from './query-rows.js';
import { peakResidentMb, residentMb } from './server.js';
import { type Line, lineOrFailure, median } from './table.js';

const warmups = 2;
const runs = 9;
/** Runs that are counted even if an engine needs minutes for them. */
const fewestRuns = 3;
/**
 * Number of times that every query runs on all engines before the first is timed. V8 compiles hot code only after dozens of
 * requests: a variant lookup takes 2.4 ms after five requests and 0.5 ms after a hundred.
 */
const passes = 20;
/** An engine that has worked on a question for so long is asked it only as often as it has to be. */
const enoughMs = 20_000;
/** Highest allowed ratio of words without a field to the same words in one field. */
const oneFieldBar = 3;

/** Tables of the engines in use: all questions with the memory after them, and words without a field against one field. */
export interface WarmTables {
  readonly questions: QuestionTable;
  readonly words: readonly Line[];
}

/** Measures all questions on engines that have answered each of them many times. */
export async function measureWarm(dataset: QueryDataset): Promise<WarmTables> {
  const all = questions(dataset.sample);
  const compared = comparedEngines(dataset);
  const opened: OpenedEngine[] = [];
  try {
    for (const engine of compared) opened.push(await engine.open());
    const asked = (question: Question): readonly (OpenedEngine | null)[] =>
      compared.map((engine, i) => (engine.answers(question) ? opened[i]! : null));
    const asker = new Asker();
    for (let pass = 0; pass < passes; pass++) {
      for (const question of all)
        for (const engine of asked(question)) if (engine) await asker.warm(engine, question);
    }
    const title = `${dataset.records.toLocaleString('en-US')} records, warm`;
    const usual = isLarge(dataset.records) ? 1.2 : 1;
    const table = await questionTable(
      title,
      all,
      ({ bar }) => bar ?? usual,
      (question) => asker.timed(question, asked(question)),
    );
    const words = await wordLines(asker, opened[0]!, all, table.times);
    table.lines.push(...memoryRows(opened, dataset.records));
    return { questions: table, words };
  } finally {
    for (const engine of opened) await engine.close();
  }
}

/** Asks questions again and again, slow ones less often. */
class Asker {
  readonly #spentMs = new Map<string, number>();

  /** Asks once, unless the engine has worked on the question for long enough. A failure is for `timed` to report. */
  async warm(engine: OpenedEngine, question: Question): Promise<void> {
    const key = `${engine.name}: ${question.name}`;
    const before = this.#spentMs.get(key) ?? 0;
    if (before >= enoughMs) return;
    const took = await engine.ask(question).then(
      ({ ms }) => ms,
      () => Infinity,
    );
    this.#spentMs.set(key, before + took);
  }

  /** Median times of the engines, which are asked in turn. */
  async timed(question: Question, engines: readonly (OpenedEngine | null)[]): Promise<EngineTimes> {
    const asked = engines.filter((engine) => engine !== null);
    for (let run = 0; run < warmups; run++)
      for (const engine of asked) await this.warm(engine, question);
    const times = engines.map((): number[] => []);
    for (let run = 0; run < runs; run++) {
      const answers = [];
      for (const [i, engine] of engines.entries()) {
        if (engine === null) continue;
        const key = `${engine.name}: ${question.name}`;
        const spent = this.#spentMs.get(key) ?? 0;
        if (run >= fewestRuns && spent >= enoughMs) continue;
        const answer = await engine.ask(question);
        times[i]!.push(answer.ms);
        this.#spentMs.set(key, spent + answer.ms);
        answers.push(answer);
        if (run === 0) agree(question, answers[0]!, engine.name, answer);
      }
    }
    return times.map((each) => (each.length === 0 ? null : median(each)));
  }
}

/** Words without a field against the same words in the field that has them. */
async function wordLines(
  asker: Asker,
  ours: OpenedEngine,
  all: readonly Question[],
  times: ReadonlyMap<string, number>,
): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const question of all) {
    const { name, inOneField } = question;
    const anywhereMs = times.get(name);
    if (inOneField === undefined || anywhereMs === undefined) continue;
    const line = lineOrFailure(name, async () => {
      const oneField = { ...question, name: `${name}, in one field`, request: inOneField };
      for (let pass = 0; pass < passes; pass++) await asker.warm(ours, oneField);
      const [oneFieldMs] = await asker.timed(oneField, [ours]);
      agree(question, await ours.ask(question), 'one field', await ours.ask(oneField));
      return {
        question: name,
        ours: `${anywhereMs.toFixed(1)} ms`,
        peer: `in one field ${oneFieldMs!.toFixed(1)} ms`,
        ratio: anywhereMs / oneFieldMs!,
        limit: oneFieldBar,
      };
    });
    lines.push(await line);
  }
  return lines;
}

/**
 * Memory of the processes after all questions. A dataset that fits into the cache is compared with DuckDB; what a larger one takes
 * is bounded by the settings.
 */
function memoryRows(engines: readonly OpenedEngine[], records: number): readonly string[] {
  const peaks = engines.map(({ pid }) => peakResidentMb(pid));
  const now = engines.map(({ pid }) => residentMb(pid));
  const { apiMemoryMb, queryCacheMb } = parseConfig([], process.env);
  const allowed = apiMemoryMb + queryCacheMb;
  const [against, limit, name] = isLarge(records)
    ? [allowed, 1.25, `of the settings, ${allowed} MB`]
    : [peaks[1]!, 1.5, 'of DuckDB'];
  const ratio = peaks[0]! / against;
  const shown = (values: readonly number[]): string =>
    values.map((mb) => mb.toFixed(0)).join(' | ');
  const verdict = `${ratio.toFixed(2)} | ${limit} ${name} | ${ratio <= limit ? 'kept' : 'missed'}`;
  return [
    `| peak memory of the process, MB | ${shown(peaks)} | ${verdict} |`,
    `| memory after all questions, MB | ${shown(now)} | - | - | |`,
  ];
}
