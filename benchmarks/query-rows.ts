import type { Question } from './query-questions.js';

/** Milliseconds of Strandlake and of each peer behind it; null for an engine that is not asked. */
export type EngineTimes = readonly (number | null)[];

/** A table with a row for each question, and Strandlake's milliseconds by the name of the question. */
export interface QuestionTable {
  readonly lines: string[];
  readonly times: ReadonlyMap<string, number>;
}

/** Measures all questions. One that fails, or whose answers differ, is reported as failed and does not end the run. */
export async function questionTable(
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
      lines.push(rowOf(question.name, questionTimes, limit));
    } catch (error) {
      process.exitCode = 1;
      process.stderr.write(`${String(error)}\n`);
      lines.push(`| ${question.name} | - | - | - | - | ${limit} | failed |`);
    }
    process.stderr.write(`${lines.at(-1)!}\n`);
  }
  return { lines, times: timesByQuestion };
}

function rowOf(name: string, [ours, ...theirs]: EngineTimes, limit: number): string {
  const ratio = ours! / Math.min(...theirs.filter((ms) => ms !== null));
  const shownTimes = [ours!, ...theirs].map((ms) => ms?.toFixed(1) ?? '-');
  const keptText = ratio <= limit ? 'kept' : 'missed';
  return `| ${[name, ...shownTimes, ratio.toFixed(2), limit, keptText].join(' | ')} |`;
}
