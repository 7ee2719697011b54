import type { Question } from './query-questions.js';

/** Milliseconds of Strandlake, followed by those of the peer engines; null for an engine that is not asked. */
export type EngineTimes = readonly (number | null)[];

/** A table with a row for each query, and Strandlake's milliseconds by the name of the query. */
export interface QuestionTable {
  readonly lines: string[];
  readonly times: ReadonlyMap<string, number>;
}

/** Measures all queries. A query that fails, or whose answers differ, is reported as failed; the run continues. */
export async function measureQuestionTable(
  title: string,
  questions: readonly Question[],
  limitOf: (question: Question) => number,
  measure: (question: Question) => Promise<EngineTimes>,
): Promise<QuestionTable> {
  const lines = [
    `**${title}**\n`,
    '| Question | Strandlake ms | DuckDB ms | chdb ms | Ratio to the better | Limit | |',
    '|---|---|---|---|---|---|---|',
  ];
  const timesByQuestion = new Map<string, number>();
  for (const question of questions) {
    const limit = limitOf(question);
    try {
      const questionTimes = await measure(question);
      timesByQuestion.set(question.name, questionTimes[0]!);
      lines.push(tableRowOf(question.name, questionTimes, limit));
    } catch (error) {
      process.exitCode = 1;
      process.stderr.write(`${String(error)}\n`);
      lines.push(`| ${question.name} | - | - | - | - | ${limit} | failed |`);
    }
    process.stderr.write(`${lines.at(-1)!}\n`);
  }
  return { lines, times: timesByQuestion };
}

function tableRowOf(name: string, [ours, ...theirs]: EngineTimes, limit: number): string {
  const ratio = ours! / Math.min(...theirs.filter((ms) => ms !== null));
  const shownTimes = [ours!, ...theirs].map((ms) => ms?.toFixed(1) ?? '-');
  const keptText = ratio <= limit ? 'kept' : 'missed';
  return `| ${[name, ...shownTimes, ratio.toFixed(2), limit, keptText].join(' | ')} |`;
}
