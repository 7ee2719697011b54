import { limitExceededError, maxNesting } from '../values/expression-limits.js';
import { Float } from '../values/python-values.js';
import type { PyValue } from '../values/python-values.js';
import { toInt } from '../values/integers.js';
import { parseArguments, parseClauses, parseLambda } from './clauses.js';
import type { ExpressionParser } from './clauses.js';
import { childrenOf } from './children.js';
import { parseStrings } from './template-syntax.js';
import { TokenCursor } from './token-cursor.js';
import { SourceText } from './source-tokenizer.js';
import type {
  BinaryOperator,
  ComparisonOperator,
  ComparisonPart,
  DisplayItem,
  SyntaxNode,
} from './syntax-tree.js';

/**
 * Parses an expression (specification of expressions, sections 1 and 2). Binary operators are parsed by binding power: `parseBinary(n)`
 * parses all operators that bind tighter than n. Comparisons, `not`, `and`, `or` and the conditional bind less tightly, in this order, and
 * have methods of their own. Throws syntax errors and errors of exceeded limits.
 */
export function parseExpression(text: string): SyntaxNode {
  const source = new SourceText(text);
  const node = new Parser(source, 0, text.length, 0).parseWholeText();
  checkDepth(node);
  return node;
}

/** The binding power of each binary operator except `**`, which `#unary` parses. */
const bindingPowers: Readonly<Record<string, number>> = {
  '|': 1,
  '^': 2,
  '&': 3,
  '<<': 4,
  '>>': 4,
  '+': 5,
  '-': 5,
  '*': 6,
  '/': 6,
  '//': 6,
  '%': 6,
};

const comparisons = new Set(['==', '!=', '<', '<=', '>', '>=', 'in', 'is', 'not']);

class Parser implements ExpressionParser {
  readonly cursor: TokenCursor;

  constructor(source: SourceText, from: number, to: number, depth: number) {
    this.cursor = new TokenCursor(source, from, to, depth);
  }

  /** Parses the whole text of this parser: one expression, or a tuple without parentheses. */
  parseWholeText(): SyntaxNode {
    const node = this.parseTuple('end');
    if (this.cursor.token.kind !== 'end') throw this.cursor.unexpectedTokenError();
    return node;
  }

  /** Parses one expression, or several separated by commas as a tuple, up to a closing token. */
  parseTuple(closing: string): SyntaxNode {
    const position = this.cursor.currentPosition();
    const first = this.parseDisplayItem();
    if (!this.cursor.isAt(',')) {
      if (first.isUnpacked)
        throw this.cursor.source.syntaxErrorAt("can't use starred expression here", 0);
      return first.value;
    }
    const items = [first];
    while (this.cursor.accept(',')) {
      if (this.cursor.token.kind === 'end' || this.cursor.isAt(closing)) break;
      items.push(this.parseDisplayItem());
    }
    return { kind: 'tuple', items, ...position };
  }

  parseNextExpression(): SyntaxNode {
    return this.cursor.withNesting(() => {
      if (this.cursor.isAt('lambda')) return parseLambda(this);
      const position = this.cursor.currentPosition();
      const value = this.parseDisjunction();
      if (!this.cursor.accept('if')) return value;
      const test = this.parseDisjunction();
      if (!this.cursor.isAt('else'))
        throw this.cursor.source.syntaxErrorAt(
          "expected 'else' after 'if' expression",
          this.cursor.token.at,
        );
      this.cursor.expect('else');
      return {
        kind: 'conditional',
        test,
        value,
        otherwise: this.parseNextExpression(),
        ...position,
      };
    });
  }

  parseDisjunction(): SyntaxNode {
    return this.#junction('or', () => this.#junction('and', () => this.#negation()));
  }

  parseBinary(power = 0): SyntaxNode {
    let left = this.#unary();
    for (;;) {
      const { kind, text } = this.cursor.token;
      const operatorPower =
        kind === 'operator' && Object.hasOwn(bindingPowers, text) ? bindingPowers[text]! : 0;
      if (operatorPower <= power) return left;
      const position = this.cursor.currentPosition();
      this.cursor.take();
      const right = this.cursor.withNesting(() => this.parseBinary(operatorPower));
      left = { kind: 'binary', operator: text as BinaryOperator, left, right, ...position };
    }
  }

  parseDisplayItem(): DisplayItem {
    if (this.cursor.accept('*')) return { value: this.parseBinary(), isUnpacked: true };
    return { value: this.parseNextExpression(), isUnpacked: false };
  }

  parseTemplateField(from: number, to: number): SyntaxNode {
    const { cursor } = this;
    return cursor.withNesting(() =>
      new Parser(cursor.source, from, to, cursor.depth).parseWholeText(),
    );
  }

  #junction(kind: 'and' | 'or', operand: () => SyntaxNode): SyntaxNode {
    const position = this.cursor.currentPosition();
    const first = operand();
    if (!this.cursor.isAt(kind)) return first;
    const operands = [first];
    while (this.cursor.accept(kind)) operands.push(operand());
    return { kind, operands, ...position };
  }

  #negation(): SyntaxNode {
    const position = this.cursor.currentPosition();
    if (!this.cursor.accept('not')) return this.#comparison();
    const operand = this.cursor.withNesting(() => this.#negation());
    return { kind: 'unary', operator: 'not', operand, ...position };
  }

  #comparison(): SyntaxNode {
    const first = this.parseBinary();
    const restParts: ComparisonPart[] = [];
    for (;;) {
      const { at } = this.cursor.token;
      const operator = this.#comparisonOperator();
      if (operator === undefined) break;
      restParts.push({
        operator,
        operand: this.parseBinary(),
        ...this.cursor.source.positionAt(at),
      });
    }
    if (restParts.length === 0) return first;
    const { line, column } = restParts[0]!;
    return { kind: 'comparison', first, rest: restParts, line, column };
  }

  #comparisonOperator(): ComparisonOperator | undefined {
    const { text, kind } = this.cursor.token;
    if ((kind !== 'operator' && kind !== 'name') || !comparisons.has(text)) return undefined;
    if (text === 'not' && this.cursor.followingToken?.text !== 'in') return undefined;
    this.cursor.take();
    if (text === 'not') {
      this.cursor.expect('in');
      return 'not in';
    }
    if (text === 'is' && this.cursor.accept('not')) return 'is not';
    return text as ComparisonOperator;
  }

  #unary(): SyntaxNode {
    const position = this.cursor.currentPosition();
    for (const operator of ['-', '+', '~'] as const) {
      if (!this.cursor.accept(operator)) continue;
      const operand = this.cursor.withNesting(() => this.#unary());
      return { kind: 'unary', operator, operand, ...position };
    }
    const base = this.#postfix();
    const { at } = this.cursor.token;
    if (!this.cursor.accept('**')) return base;
    const right = this.cursor.withNesting(() => this.#unary());
    const operatorPosition = this.cursor.source.positionAt(at);
    return { kind: 'binary', operator: '**', left: base, right, ...operatorPosition };
  }

  #postfix(): SyntaxNode {
    let node = this.#atom();
    for (;;) {
      const openingAt = this.cursor.token.at;
      if (this.cursor.accept('.')) {
        const position = this.cursor.currentPosition();
        const { at } = this.cursor.token;
        const name = this.cursor.takeName();
        if (name.startsWith('__'))
          throw this.cursor.source.syntaxErrorAt(`the attribute '${name}' is not allowed`, at);
        node = { kind: 'attribute', object: node, name, ...position };
      } else if (this.cursor.accept('(')) {
        const callee = node;
        const { line, column } = callee;
        node = { kind: 'call', callee, args: parseArguments(this), line, column };
      } else if (this.cursor.accept('[')) {
        const object = node;
        const index = this.cursor.withNesting(() => this.#index());
        this.cursor.expect(']');
        node = { kind: 'subscript', object, index, ...this.cursor.source.positionAt(openingAt) };
      } else return node;
    }
  }

  #index(): SyntaxNode {
    const position = this.cursor.currentPosition();
    const items = [this.#slice()];
    if (!this.cursor.isAt(',')) {
      if (items[0]!.isUnpacked) return { kind: 'tuple', items, ...position };
      return items[0]!.value;
    }
    while (this.cursor.accept(',')) {
      if (this.cursor.isAt(']')) break;
      items.push(this.#slice());
    }
    return { kind: 'tuple', items, ...position };
  }

  #slice(): DisplayItem {
    const position = this.cursor.currentPosition();
    const start = this.cursor.isAt(':') ? undefined : this.parseDisplayItem();
    if (start?.isUnpacked === true || !this.cursor.accept(':')) return start!;
    const isOpen = () => this.cursor.isAt(':') || this.cursor.isAt(']') || this.cursor.isAt(',');
    const stop = isOpen() ? undefined : this.parseNextExpression();
    const hasStep = this.cursor.accept(':') && !isOpen();
    const step = hasStep ? this.parseNextExpression() : undefined;
    const value: SyntaxNode = { kind: 'slice', start: start?.value, stop, step, ...position };
    return { value, isUnpacked: false };
  }

  #atom(): SyntaxNode {
    const position = this.cursor.currentPosition();
    const { token } = this.cursor;
    const constant = (value: PyValue): SyntaxNode => {
      this.cursor.take();
      return { kind: 'constant', value, ...position };
    };
    if (token.kind === 'number') return constant(numberValueOf(token.text));
    if (token.kind === 'string') return parseStrings(this);
    if (token.text === 'None') return constant(null);
    if (token.text === 'True') return constant(true);
    if (token.text === 'False') return constant(false);
    if (this.cursor.isName()) {
      if (token.text.startsWith('__'))
        throw this.cursor.source.syntaxErrorAt(`the name '${token.text}' is not allowed`, token.at);
      return { kind: 'name', name: this.cursor.takeName(), ...position };
    }
    if (this.cursor.accept('(')) return this.#parentheses(position);
    if (this.cursor.accept('[')) return this.#list(position);
    if (this.cursor.accept('{')) return this.#braces(position);
    throw this.cursor.unexpectedTokenError();
  }

  #parentheses(position: { line: number; column: number }): SyntaxNode {
    if (this.cursor.accept(')')) return { kind: 'tuple', items: [], ...position };
    const openingAt = this.cursor.token.at;
    const first = this.parseDisplayItem();
    if (this.cursor.isAt('for')) return this.#comprehension('generator', first, undefined, ')');
    if (this.cursor.isAt(',')) {
      const items = this.#moreItems([first], ')');
      return { kind: 'tuple', items, ...position };
    }
    if (first.isUnpacked)
      throw this.cursor.source.syntaxErrorAt('cannot use starred expression here', openingAt);
    this.cursor.expect(')');
    return first.value;
  }

  #list(position: { line: number; column: number }): SyntaxNode {
    if (this.cursor.accept(']')) return { kind: 'list', items: [], ...position };
    const first = this.parseDisplayItem();
    if (this.cursor.isAt('for')) return this.#comprehension('list', first, undefined, ']');
    return { kind: 'list', items: this.#moreItems([first], ']'), ...position };
  }

  #braces(position: { line: number; column: number }): SyntaxNode {
    if (this.cursor.accept('}')) return { kind: 'dict', items: [], ...position };
    if (!this.cursor.isAt('**')) {
      const first = this.parseDisplayItem();
      if (first.isUnpacked || !this.cursor.isAt(':')) {
        if (this.cursor.isAt('for')) return this.#comprehension('set', first, undefined, '}');
        return { kind: 'set', items: this.#moreItems([first], '}'), ...position };
      }
      this.cursor.expect(':');
      const value = this.parseNextExpression();
      if (this.cursor.isAt('for'))
        return this.#comprehension('dict', { value, isUnpacked: false }, first.value, '}');
      return { kind: 'dict', items: this.#dictItems([{ key: first.value, value }]), ...position };
    }
    return { kind: 'dict', items: this.#dictItems([this.#dictItem()]), ...position };
  }

  #dictItem(): { key: SyntaxNode | undefined; value: SyntaxNode } {
    if (this.cursor.accept('**')) return { key: undefined, value: this.parseBinary() };
    const key = this.parseNextExpression();
    this.cursor.expect(':');
    return { key, value: this.parseNextExpression() };
  }

  #dictItems(items: { key: SyntaxNode | undefined; value: SyntaxNode }[]): typeof items {
    while (this.cursor.accept(',')) {
      if (this.cursor.isAt('}')) break;
      items.push(this.#dictItem());
    }
    this.cursor.expect('}');
    return items;
  }

  #moreItems(items: DisplayItem[], closing: string): DisplayItem[] {
    while (this.cursor.accept(',')) {
      if (this.cursor.isAt(closing)) break;
      items.push(this.parseDisplayItem());
    }
    this.cursor.expect(closing);
    return items;
  }

  #comprehension(
    result: 'list' | 'set' | 'dict' | 'generator',
    element: DisplayItem,
    key: SyntaxNode | undefined,
    closing: string,
  ): SyntaxNode {
    const position = this.cursor.currentPosition();
    if (element.isUnpacked)
      throw this.cursor.source.syntaxErrorAt(
        'iterable unpacking cannot be used in comprehension',
        this.cursor.token.at,
      );
    const clauses = parseClauses(this);
    this.cursor.expect(closing);
    return { kind: 'comprehension', result, key, element: element.value, clauses, ...position };
  }
}

function numberValueOf(text: string): PyValue {
  if (/^0[xXoObB]/.test(text)) return toInt(BigInt(text.toLowerCase()));
  if (/^\d+$/.test(text)) return toInt(BigInt(text));
  return new Float(Number(text));
}

/** Checks the depth of the tree, because a long chain of operators makes a deep tree without any brackets. */
function checkDepth(root: SyntaxNode): void {
  const open: { node: SyntaxNode; depth: number }[] = [{ node: root, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.depth > maxNesting)
      throw limitExceededError(`nesting of more than ${maxNesting} levels`);
    for (const node of childrenOf(next.node)) open.push({ node, depth: next.depth + 1 });
  }
}
