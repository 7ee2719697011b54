import type { SyntaxPosition } from '../values/expression-errors.js';
import { limitExceededError, maxNesting } from '../values/expression-limits.js';
import { tokenize } from './source-tokenizer.js';
import type { SourceText, SourceToken } from './source-tokenizer.js';

/** Reserved words, which cannot be names. */
const keywords = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global if ' +
    'import in is lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

/** Reads the tokens of a part of a source from left to right. */
export class TokenCursor {
  readonly source: SourceText;
  readonly #tokens: readonly SourceToken[];
  #next = 0;
  #depth: number;

  constructor(source: SourceText, from: number, to: number, depth: number) {
    this.source = source;
    this.#tokens = tokenize(source, from, to);
    this.#depth = depth;
  }

  get token(): SourceToken {
    return this.#tokens[this.#next]!;
  }

  get followingToken(): SourceToken | undefined {
    return this.#tokens[this.#next + 1];
  }

  /** The depth of nesting at the cursor. */
  get depth(): number {
    return this.#depth;
  }

  take(): SourceToken {
    const { token } = this;
    if (token.kind !== 'end') this.#next += 1;
    return token;
  }

  /** Whether the next token is this operator or keyword. */
  isAt(text: string): boolean {
    const { token } = this;
    return token.text === text && (token.kind === 'operator' || token.kind === 'name');
  }

  accept(text: string): boolean {
    if (!this.isAt(text)) return false;
    this.#next += 1;
    return true;
  }

  expect(text: string): void {
    if (this.accept(text)) return;
    throw this.unexpectedTokenError();
  }

  /** Reads a name, which must not be a keyword. */
  takeName(): string {
    if (!this.isName()) throw this.unexpectedTokenError();
    return this.take().text;
  }

  isName(): boolean {
    return this.token.kind === 'name' && !keywords.has(this.token.text);
  }

  currentPosition(): SyntaxPosition {
    return this.source.positionAt(this.token.at);
  }

  unexpectedTokenError(): Error {
    const { token } = this;
    if (token.kind === 'operator' && (token.text === '=' || token.text.endsWith(':=')))
      return this.source.syntaxErrorAt(
        'invalid syntax: an assignment is not an expression',
        token.at,
      );
    return this.source.syntaxErrorAt('invalid syntax', token.at);
  }

  /** Runs `parse` one level of nesting deeper. */
  withNesting<T>(parse: () => T): T {
    this.#depth += 1;
    if (this.#depth > maxNesting)
      throw limitExceededError(`nesting of more than ${maxNesting} levels`);
    const result = parse();
    this.#depth -= 1;
    return result;
  }
}
