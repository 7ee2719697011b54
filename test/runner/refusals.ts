import { readFileSync, readdirSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/*
 * Proves that tests provoke every refusal. Each expression of the counted modules that creates the error of a refused request, or a
 * sentence of its message, notes its position when it is evaluated. A complete run of the tests fails if a position was never noted.
 */

/**
 * The compiled modules whose refusals are counted: those of `api`, `engine/catalog`, `engine/query/request` and `engine/search`, which run
 * in the process of a test. The bundle of the API process (`api/main`) and the modules that refuse to open a catalogue are left out.
 */
const countedModulePattern =
  /^(?!api\/main\.|engine\/catalog\/(catalog|migrations)\.)(api|engine\/(catalog|query\/request|search))\/.*\.js$/;

/** The names of functions and classes whose errors are not refusals: errors of bugs, or of requests whose client has left. */
const nonRefusalErrors = new Set(['Error', 'canceledError', 'clientLeftError']);

/** The codes of errors that are the server's fault, or that no client reads. */
const serverFaultCodes = new Set(['canceled', 'damaged', 'internal', 'no-space']);

/** A node of a syntax tree in ESTree format, with the offsets of its text. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** Whether the refusals of a compiled module are counted; `path` is relative to the folder of the build. */
export function isCountedModule(path: string): boolean {
  return countedModulePattern.test(path);
}

/**
 * Returns the code of a module in which every refusal first passes its position, `<path>:<offset>`, to the global function `noteRefusal`.
 */
export function instrumentRefusals(path: string, code: string): string {
  const insertions = refusalsIn(code).flatMap(({ start, end }) => [
    { at: start, order: -end, text: `(noteRefusal(${JSON.stringify(`${path}:${start}`)}), ` },
    { at: end, order: -Infinity, text: ')' },
  ]);
  insertions.sort((a, b) => a.at - b.at || a.order - b.order);
  let instrumentedCode = '';
  let copiedEnd = 0;
  for (const { at, text } of insertions) {
    instrumentedCode += code.slice(copiedEnd, at) + text;
    copiedEnd = at;
  }
  return instrumentedCode + code.slice(copiedEnd);
}

/**
 * Returns the refusals of the build whose positions were not noted, each as `<source file>:<line>: <code>`. Those that end in a line of the
 * source with a comment such as `// deleted meanwhile` are left out, because only another request at the same moment can provoke them
 * (`test/api/resources/races.slow.test.ts` tries to).
 */
export function missingRefusals(
  build: string,
  notedPlaces: ReadonlySet<string>,
): readonly string[] {
  return readdirSync(build, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter(isCountedModule)
    .toSorted()
    .flatMap((path) => {
      const code = readFileSync(join(build, path), 'utf8');
      const unnotedRefusals = refusalsIn(code).filter(
        ({ start }) => !notedPlaces.has(`${path}:${start}`),
      );
      if (unnotedRefusals.length === 0) return [];
      const payload = JSON.parse(readFileSync(join(build, `${path}.map`), 'utf8')) as SourceMapPayload; // prettier-ignore
      const source = readFileSync(join(build, path, '..', payload.sources[0]!), 'utf8').split('\n');
      const map = new SourceMap(payload);
      const sourceLineOf = (offset: number): number => {
        const linesBefore = code.slice(0, offset).split('\n');
        const entry = map.findEntry(linesBefore.length - 1, linesBefore.at(-1)!.length);
        return 'originalLine' in entry ? entry.originalLine : 0;
      };
      return unnotedRefusals
        .filter(({ end }) => !/\/\/.*\bmeanwhile$/.test(source[sourceLineOf(end - 1)]!))
        .map(({ start, end }) => {
          const text = code.slice(start, end).replaceAll(/\s+/g, ' ').slice(0, 120);
          return `${path.replace(/\.js$/, '.ts')}:${sourceLineOf(start) + 1}: ${text}`;
        });
    });
}

/** Returns the expressions of a module that create the error of a refused request, or a sentence of its message, in the order of the code. */
export function refusalsIn(code: string): readonly SyntaxNode[] {
  const refusals = new Map<string, SyntaxNode>();
  const add = (node: SyntaxNode): unknown => refusals.set(`${node.start} ${node.end}`, node);
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'ThrowStatement')
      resultExpressions(node['argument']).filter(isErrorCall).forEach(add);
    if (node.type === 'ReturnStatement')
      resultExpressions(node['argument']).filter(isSentenceText).forEach(add);
    if (isRefusalExpression(node)) add(node);
    for (const value of Object.values(node))
      for (const child of [value].flat()) if (isNode(child)) visit(child);
  };
  visit(parseAst(code) as unknown as SyntaxNode);
  return [...refusals.values()].sort((a, b) => a.start - b.start);
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof (value as { type?: unknown } | null)?.type === 'string';
}

/** Returns the expressions that may give an expression its value, such as both branches of a conditional expression. */
function resultExpressions(expression: unknown): readonly SyntaxNode[] {
  if (!isNode(expression)) return [];
  const { type, consequent, alternate, left, right } = expression;
  if (type === 'ConditionalExpression') return [consequent, alternate].flatMap(resultExpressions);
  if (type === 'LogicalExpression') return [left, right].flatMap(resultExpressions);
  return [expression];
}

function isErrorCall({ type, callee }: SyntaxNode): boolean {
  return type === 'CallExpression' && !nonRefusalErrors.has(String((callee as SyntaxNode)['name']));
}

/** Whether an expression is a text that ends like a sentence and has several words. */
function isSentenceText({ type, value, quasis }: SyntaxNode): boolean {
  const texts =
    type === 'TemplateLiteral'
      ? (quasis as readonly { readonly value: { readonly raw: string } }[]).map(
          (one) => one.value.raw,
        )
      : [value];
  return /\w \S.*\.$/s.test(texts.join('${}'));
}

/** Whether an expression creates the error of a refused request, or notes a mistake in a form. */
function isRefusalExpression({ type, callee, arguments: args, properties }: SyntaxNode): boolean {
  if (type === 'ObjectExpression') {
    // An object with the properties `error` and `reason` is an error of OAuth2.
    const names = (properties as readonly SyntaxNode[]).map(({ key }) => (key as SyntaxNode | undefined)?.['name']); // prettier-ignore
    return names.includes('error') && names.includes('reason');
  }
  if (!isNode(callee)) return false;
  if (type === 'NewExpression') {
    const [code] = args as readonly SyntaxNode[];
    return /^(AppError|Problem)$/.test(String(callee['name'])) && !serverFaultCodes.has(String(code?.['value'])); // prettier-ignore
  }
  const property = callee['property'] as SyntaxNode | undefined;
  return (
    type === 'CallExpression' &&
    (/^(invalidError|notFoundError|refuse|refusedRequest|refuseExchange)$/.test(
      String(callee['name']),
    ) ||
      property?.['name'] === 'fail')
  );
}
