import { readFileSync, readdirSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/*
 * Proves that tests provoke every refusal: each expression of the product that makes the error of a refused request, or a sentence of one, notes its
 * place when it is evaluated. A whole run of the tests fails if a place was never noted.
 */

/**
 * The compiled modules whose refusals are counted: they run in the process of the API, and so in that of a test. Those left out are its bundle, and what
 * refuses to open a catalogue.
 */
const countedModules =
  /^(?!api\/main\.|engine\/catalog\/(catalog|migrations)\.)(api|engine\/(catalog|query\/request|search))\/.*\.js$/;

/** What throws an error that is no refusal: a bug, or the end of work for a client that has left. */
const otherErrors = new Set(['Error', 'canceled', 'clientLeft']);

/** The kinds of errors for which the server is at fault, or that nobody reads. */
const faults = new Set(['canceled', 'damaged', 'internal', 'no-space']);

/** A node of the syntax tree, ESTree with the offsets of its text. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** Whether the refusals of a compiled module are counted; `path` is relative to the folder of the build. */
export function isCounted(path: string): boolean {
  return countedModules.test(path);
}

/** The code of a module in which every refusal first passes its place, `<path>:<offset>`, to the global function `noteRefusal`. */
export function withNotes(path: string, code: string): string {
  const insertions = refusalsIn(code).flatMap(({ start, end }) => [
    { at: start, order: -end, text: `(noteRefusal(${JSON.stringify(`${path}:${start}`)}), ` },
    { at: end, order: -Infinity, text: ')' },
  ]);
  insertions.sort((a, b) => a.at - b.at || a.order - b.order);
  let noted = '';
  let copied = 0;
  for (const { at, text } of insertions) {
    noted += code.slice(copied, at) + text;
    copied = at;
  }
  return noted + code.slice(copied);
}

/** The refusals of the build that are not among the noted places, each as `<source file>:<line>: <code>`. */
export function missingRefusals(build: string, noted: ReadonlySet<string>): readonly string[] {
  return readdirSync(build, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter(isCounted)
    .toSorted()
    .flatMap((path) => {
      const code = readFileSync(join(build, path), 'utf8');
      const missing = refusalsIn(code).filter(({ start }) => !noted.has(`${path}:${start}`));
      if (missing.length === 0) return [];
      const map = new SourceMap(JSON.parse(readFileSync(join(build, `${path}.map`), 'utf8')) as SourceMapPayload); // prettier-ignore
      return missing.map(({ start, end }) => {
        const before = code.slice(0, start).split('\n');
        const entry = map.findEntry(before.length - 1, before.at(-1)!.length);
        const line = 'originalLine' in entry ? entry.originalLine + 1 : 0;
        const text = code.slice(start, end).replaceAll(/\s+/g, ' ').slice(0, 120);
        return `${path.replace(/\.js$/, '.ts')}:${line}: ${text}`;
      });
    });
}

/**
 * The expressions of a module that make the error of a refused request, or a sentence of one, in the order of the text; without those before a comment
 * such as `// deleted meanwhile`, which only another request at the same moment can provoke (`test/api/resources/races.test.ts` tries to).
 */
export function refusalsIn(code: string): readonly SyntaxNode[] {
  const found = new Map<string, SyntaxNode>();
  const add = (node: SyntaxNode): unknown => found.set(`${node.start} ${node.end}`, node);
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'ThrowStatement') results(node['argument']).filter(isCall).forEach(add);
    if (node.type === 'ReturnStatement') results(node['argument']).filter(isSentence).forEach(add);
    if (makesRefusal(node)) add(node);
    for (const value of Object.values(node))
      for (const child of [value].flat()) if (isNode(child)) visit(child);
  };
  visit(parseAst(code) as unknown as SyntaxNode);
  return [...found.values()]
    .filter(({ end }) => !/\/\/.*\bmeanwhile$/.test(lineRest(code, end)))
    .sort((a, b) => a.start - b.start);
}

/** What follows a position on its line. */
function lineRest(code: string, from: number): string {
  return /.*/.exec(code.slice(from, from + 200))![0];
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof (value as { type?: unknown } | null)?.type === 'string';
}

/** The expressions of which an expression has the value of one. */
function results(expression: unknown): readonly SyntaxNode[] {
  if (!isNode(expression)) return [];
  const { type, consequent, alternate, left, right } = expression;
  if (type === 'ConditionalExpression') return [consequent, alternate].flatMap(results);
  if (type === 'LogicalExpression') return [left, right].flatMap(results);
  return [expression];
}

function isCall({ type, callee }: SyntaxNode): boolean {
  return type === 'CallExpression' && !otherErrors.has(String((callee as SyntaxNode)['name']));
}

/** Whether an expression is a text that ends like a sentence of several words. */
function isSentence({ type, value, quasis }: SyntaxNode): boolean {
  const texts =
    type === 'TemplateLiteral'
      ? (quasis as readonly { readonly value: { readonly raw: string } }[]).map(
          (one) => one.value.raw,
        )
      : [value];
  return /\w \S.*\.$/s.test(texts.join('${}'));
}

/** Whether an expression makes the error of a refused request, or notes a mistake of a form. */
function makesRefusal({ type, callee, arguments: args, properties }: SyntaxNode): boolean {
  if (type === 'ObjectExpression') {
    // An error of OAuth2.
    const names = (properties as readonly SyntaxNode[]).map(({ key }) => (key as SyntaxNode | undefined)?.['name']); // prettier-ignore
    return names.includes('error') && names.includes('reason');
  }
  if (!isNode(callee)) return false;
  if (type === 'NewExpression') {
    const [code] = args as readonly SyntaxNode[];
    return /^(AppError|Problem)$/.test(String(callee['name'])) && !faults.has(String(code?.['value'])); // prettier-ignore
  }
  const property = callee['property'] as SyntaxNode | undefined;
  return (
    type === 'CallExpression' &&
    (/^(invalid|notFound|refuse|refusedRequest|refuseExchange)$/.test(String(callee['name'])) ||
      property?.['name'] === 'fail')
  );
}
