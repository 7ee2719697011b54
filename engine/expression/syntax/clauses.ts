import type { TokenCursor } from './token-cursor.js';
import type {
  Argument,
  ComprehensionClause,
  DisplayItem,
  Parameter,
  SyntaxNode,
  AssignmentTarget,
} from './syntax-tree.js';

/** The functions of the parser that other files of the grammar need. */
export interface ExpressionParser {
  readonly cursor: TokenCursor;
  parseNextExpression(): SyntaxNode;
  parseDisjunction(): SyntaxNode;
  parseBinary(): SyntaxNode;
  parseDisplayItem(): DisplayItem;
  /** Parses a range of positions of the source as a whole expression. */
  parseTemplateField(from: number, to: number): SyntaxNode;
}

/** Parses the `for` and `if` clauses of a comprehension. */
export function parseClauses(parser: ExpressionParser): ComprehensionClause[] {
  const { cursor } = parser;
  const clauses: ComprehensionClause[] = [];
  while (cursor.accept('for')) {
    const target = parseTargets(parser);
    cursor.expect('in');
    const iterable = cursor.withNesting(() => parser.parseDisjunction());
    const conditions: SyntaxNode[] = [];
    while (cursor.accept('if'))
      conditions.push(cursor.withNesting(() => parser.parseDisjunction()));
    clauses.push({ target, iterable, conditions });
  }
  return clauses;
}

/**
 * Parses the targets of a `for`: one target, or several separated by commas, to which each item is unpacked. To a list in brackets, the
 * item is unpacked even if the list has only one target.
 */
function parseTargets(parser: ExpressionParser, isList = false): AssignmentTarget {
  const { cursor } = parser;
  const position = cursor.currentPosition();
  const { at } = cursor.token;
  const targets: AssignmentTarget[] = [];
  let starred = -1;
  let isUnpacked = isList;
  do {
    if (cursor.isAt('in') || cursor.isAt(')') || cursor.isAt(']')) break;
    if (cursor.accept('*')) {
      if (starred >= 0)
        throw cursor.source.syntaxErrorAt('multiple starred expressions in assignment', at);
      starred = targets.length;
    }
    targets.push(parseTarget(parser));
    isUnpacked ||= cursor.isAt(',');
  } while (cursor.accept(','));
  if (targets.length === 0) throw cursor.unexpectedTokenError();
  if (targets.length === 1 && !isUnpacked) {
    if (starred >= 0)
      throw cursor.source.syntaxErrorAt('starred assignment target must be in a list or tuple', at);
    return targets[0]!;
  }
  return { kind: 'unpack', targets, starred, ...position };
}

function parseTarget(parser: ExpressionParser): AssignmentTarget {
  const { cursor } = parser;
  const position = cursor.currentPosition();
  for (const [opening, closing] of [
    ['(', ')'],
    ['[', ']'],
  ] as const) {
    if (!cursor.accept(opening)) continue;
    if (cursor.accept(closing)) return { kind: 'unpack', targets: [], starred: -1, ...position };
    const inner = cursor.withNesting(() => parseTargets(parser, opening === '['));
    cursor.expect(closing);
    return inner;
  }
  const { at, text } = cursor.token;
  if (cursor.isName() && text.startsWith('__'))
    throw cursor.source.syntaxErrorAt(`the name '${text}' is not allowed`, at);
  return { kind: 'name', name: cursor.takeName() };
}

/** Parses the arguments of a call after its opening parenthesis, including the closing one. */
export function parseArguments(parser: ExpressionParser): Argument[] {
  const { cursor } = parser;
  const args: Argument[] = [];
  const names = new Set<string>();
  while (!cursor.accept(')')) {
    const { at } = cursor.token;
    const argument = parseArgument(parser, args.length === 0);
    if (argument.kind === 'keyword') {
      if (names.has(argument.name))
        throw cursor.source.syntaxErrorAt(`keyword argument repeated: ${argument.name}`, at);
      names.add(argument.name);
    }
    const isAfterKeywords = args.some(({ kind }) => kind === 'unpacked-keywords');
    if (argument.kind === 'positional' && (names.size > 0 || isAfterKeywords))
      throw cursor.source.syntaxErrorAt(
        isAfterKeywords
          ? 'positional argument follows keyword argument unpacking'
          : 'positional argument follows keyword argument',
        at,
      );
    args.push(argument);
    if (cursor.isAt(')')) continue;
    const isGenerator =
      argument.kind === 'positional' &&
      argument.value.kind === 'comprehension' &&
      !cursor.isAt(',');
    if (isGenerator) throw cursor.unexpectedTokenError();
    cursor.expect(',');
  }
  return args;
}

function parseArgument(parser: ExpressionParser, isFirst: boolean): Argument {
  const { cursor } = parser;
  if (cursor.accept('*')) return { kind: 'unpacked', value: parser.parseNextExpression() };
  if (cursor.accept('**'))
    return { kind: 'unpacked-keywords', value: parser.parseNextExpression() };
  if (cursor.isName() && cursor.followingToken?.text === '=') {
    const name = cursor.takeName();
    if (name.startsWith('__'))
      throw cursor.source.syntaxErrorAt(`the name '${name}' is not allowed`, cursor.token.at);
    cursor.expect('=');
    return { kind: 'keyword', name, value: parser.parseNextExpression() };
  }
  const value = parser.parseNextExpression();
  if (!cursor.isAt('for')) return { kind: 'positional', value };
  const { at } = cursor.token;
  const position = cursor.currentPosition();
  const clauses = parseClauses(parser);
  if (!isFirst || cursor.isAt(','))
    throw cursor.source.syntaxErrorAt('Generator expression must be parenthesized', at);
  const generator: SyntaxNode = {
    kind: 'comprehension',
    result: 'generator',
    key: undefined,
    element: value,
    clauses,
    ...position,
  };
  return { kind: 'positional', value: generator };
}

/** Parses a lambda, beginning with its keyword. */
export function parseLambda(parser: ExpressionParser): SyntaxNode {
  const { cursor } = parser;
  const position = cursor.currentPosition();
  cursor.expect('lambda');
  const parameters = parseParameters(parser);
  cursor.expect(':');
  return { kind: 'lambda', parameters, body: parser.parseNextExpression(), ...position };
}

function parseParameters(parser: ExpressionParser): Parameter[] {
  const { cursor } = parser;
  const parameters: Parameter[] = [];
  const names = new Set<string>();
  let kind: 'positional' | 'keyword-only' | 'keywords' = 'positional';
  let hasBareStar = false;
  const add = (parameter: Parameter, at: number) => {
    if (parameter.name.startsWith('__'))
      throw cursor.source.syntaxErrorAt(`the name '${parameter.name}' is not allowed`, at);
    if (names.has(parameter.name))
      throw cursor.source.syntaxErrorAt(
        `duplicate argument '${parameter.name}' in function definition`,
        at,
      );
    names.add(parameter.name);
    parameters.push(parameter);
  };
  while (!cursor.isAt(':')) {
    const { at } = cursor.token;
    if (kind === 'keywords') throw cursor.unexpectedTokenError();
    if (cursor.accept('/')) {
      const isMisplaced =
        kind !== 'positional' ||
        parameters.length === 0 ||
        parameters.some((parameter) => parameter.kind === 'positional-only');
      if (isMisplaced) throw cursor.source.syntaxErrorAt('invalid syntax', at);
      for (const [i, one] of parameters.entries())
        parameters[i] = { ...one, kind: 'positional-only' };
    } else if (cursor.accept('**')) {
      add({ name: cursor.takeName(), kind: 'keywords', defaultValue: undefined }, at);
      kind = 'keywords';
    } else if (cursor.accept('*')) {
      if (kind !== 'positional') throw cursor.source.syntaxErrorAt('invalid syntax', at);
      kind = 'keyword-only';
      hasBareStar = cursor.isAt(',');
      if (!hasBareStar) add({ name: cursor.takeName(), kind: 'rest', defaultValue: undefined }, at);
    } else {
      const name = cursor.takeName();
      const defaultValue = cursor.accept('=') ? parser.parseNextExpression() : undefined;
      const before = parameters.at(-1);
      if (kind === 'positional' && defaultValue === undefined && before?.defaultValue)
        throw cursor.source.syntaxErrorAt('non-default argument follows default argument', at);
      if (kind === 'keyword-only') hasBareStar = false;
      add({ name, kind, defaultValue }, at);
    }
    if (!cursor.isAt(':')) cursor.expect(',');
  }
  if (hasBareStar)
    throw cursor.source.syntaxErrorAt('named arguments must follow bare *', cursor.token.at);
  return parameters;
}
