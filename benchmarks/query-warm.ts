import { parseConfig } from '../engine/core/config.js';
import { type QueryDataset, isLarge } from './query-dataset.js';
import { type OpenedEngine, checkAgreement, comparedEngines } from './query-engines.js';
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
  const enginesToCompare = comparedEngines(dataset);
  const openedEngines: OpenedEngine[] = [];
  try {
    for (const engine of enginesToCompare) openedEngines.push(await engine.open());
    const enginesAsked = (question: Question): readonly (OpenedEngine | null)[] =>
      enginesToCompare.map((engine, i) => (engine.answers(question) ? openedEngines[i]! : null));
    const asker = new Asker();
    await asker.warmAll(all, enginesAsked);
    const title = `${dataset.records.toLocaleString('en-US')} records, warm`;
    const usual = isLarge(dataset.records) ? 1.2 : 1;
    const table = await questionTable(
      title,
      all,
      ({ bar }) => bar ?? usual,
      (question) => asker.timed(question, enginesAsked(question)),
    );
    const words = await wordLines(asker, openedEngines[0]!, all, table.times);
    table.lines.push(...memoryRows(openedEngines, dataset.records));
    return { questions: table, words };
  } finally {
    for (const engine of openedEngines) await engine.close();
  }
}

/** Asks questions again and again, slow ones less often. */
export class Asker {
  readonly #spentMs = new Map<string, number>();

  /** Asks all questions of their engines in turn, until the engines are warm. */
  async warmAll(
    all: readonly Question[],
    enginesAsked: (question: Question) => readonly (OpenedEngine | null)[],
  ): Promise<void> {
    for (let pass = 0; pass < passes; pass++)
      for (const question of all)
        for (const engine of enginesAsked(question)) if (engine) await this.warm(engine, question);
  }

  /** Asks once, unless the engine has worked on the question for long enough. A failure is for `timed` to report. */
  async warm(engine: OpenedEngine, question: Question): Promise<void> {
    const key = `${engine.name}: ${question.name}`;
    const before = this.#spentMs.get(key) ?? 0;
    if (before >= enoughMs) return;
    const elapsedMs = await engine.ask(question).then(
      ({ ms }) => ms,
      () => Infinity,
    );
    this.#spentMs.set(key, before + elapsedMs);
  }

  /** Median times of the engines, which are asked in turn. */
  async timed(question: Question, engines: readonly (OpenedEngine | null)[]): Promise<EngineTimes> {
    const askedEngines = engines.filter((engine) => engine !== null);
    for (let run = 0; run < warmups; run++)
      for (const engine of askedEngines) await this.warm(engine, question);
    const engineTimes = engines.map((): number[] => []);
    for (let run = 0; run < runs; run++) {
      const answers = [];
      for (const [i, engine] of engines.entries()) {
        if (engine === null) continue;
        const key = `${engine.name}: ${question.name}`;
        const spentMs = this.#spentMs.get(key) ?? 0;
        if (run >= fewestRuns && spentMs >= enoughMs) continue;
        const answer = await engine.ask(question);
        engineTimes[i]!.push(answer.ms);
        this.#spentMs.set(key, spentMs + answer.ms);
        answers.push(answer);
        if (run === 0) checkAgreement(question, answers[0]!, engine.name, answer);
      }
    }
    return engineTimes.map((each) => (each.length === 0 ? null : median(each)));
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
      checkAgreement(question, await ours.ask(question), 'one field', await ours.ask(oneField));
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
  const allowedMb = apiMemoryMb + queryCacheMb;
  const [against, limit, name] = isLarge(records)
    ? [allowedMb, 1.25, `of the settings, ${allowedMb} MB`]
    : [peaks[1]!, 1.5, 'of DuckDB'];
  const ratio = peaks[0]! / against;
  const valuesText = (values: readonly number[]): string =>
    values.map((mb) => mb.toFixed(0)).join(' | ');
  const verdict = `${ratio.toFixed(2)} | ${limit} ${name} | ${ratio <= limit ? 'kept' : 'missed'}`;
  return [
    `| peak memory of the process, MB | ${valuesText(peaks)} | ${verdict} |`,
    `| memory after all questions, MB | ${valuesText(now)} | - | - | |`,
  ];
}
