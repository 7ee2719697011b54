import type { ExpressionParser } from './clauses.js';
import { decodeEscapes, readStringToken } from './string-literal.js';
import type { StringLiteral } from './string-literal.js';
import type { SourceText } from './source-tokenizer.js';
import type { SyntaxNode, TemplatePart } from './syntax-tree.js';

/** Parses adjacent string literals, which become one text, or one template if an f-string with fields is among them. */
export function parseStrings(parser: ExpressionParser): SyntaxNode {
  const { cursor } = parser;
  const position = cursor.currentPosition();
  const parts: TemplatePart[] = [];
  let isTemplate = false;
  while (cursor.token.kind === 'string') {
    const literal = readStringToken(cursor.source, cursor.take());
    isTemplate ||= literal.isTemplate;
    if (literal.isTemplate) {
      const reader = new TemplateReader(parser, literal);
      for (const part of reader.readParts(0)) parts.push(part);
    } else {
      const text = decodeEscapes(cursor.source, literal.content, literal.at, literal.isRaw);
      parts.push({ kind: 'text', text });
    }
  }
  const joinedParts = joinTexts(parts);
  if (isTemplate && joinedParts.some(({ kind }) => kind === 'field'))
    return { kind: 'template', parts: joinedParts, ...position };
  const [only] = joinedParts;
  const value = only?.kind === 'text' ? only.text : '';
  return { kind: 'constant', value, ...position };
}

function joinTexts(parts: readonly TemplatePart[]): TemplatePart[] {
  const joinedParts: TemplatePart[] = [];
  for (const part of parts) {
    const last = joinedParts.at(-1);
    if (part.kind === 'text' && last?.kind === 'text')
      joinedParts[joinedParts.length - 1] = { kind: 'text', text: last.text + part.text };
    else if (part.kind === 'field' || part.text !== '') joinedParts.push(part);
  }
  return joinedParts;
}

/** Reads the text and the fields of one f-string. */
class TemplateReader {
  readonly #parser: ExpressionParser;
  readonly #source: SourceText;
  readonly #literal: StringLiteral;
  #at = 0;

  constructor(parser: ExpressionParser, literal: StringLiteral) {
    this.#parser = parser;
    this.#source = parser.cursor.source;
    this.#literal = literal;
  }

  /** Reads the parts up to the end, or in a format specification (`depth` > 0), up to its closing brace. */
  readParts(depth: number): TemplatePart[] {
    const { content } = this.#literal;
    const parts: TemplatePart[] = [];
    let from = this.#at;
    const flush = (to: number) => {
      const text = content.slice(from, to);
      const at = this.#literal.at + from;
      const decodedEscapes = decodeEscapes(this.#source, text, at, this.#literal.isRaw);
      if (decodedEscapes !== '') parts.push({ kind: 'text', text: decodedEscapes });
    };
    while (this.#at < content.length) {
      const character = content[this.#at]!;
      if (character === '\\' && !this.#literal.isRaw) {
        // The braces of \N{…} do not enclose a field.
        const name = /^\\N\{[^}]*\}/.exec(content.slice(this.#at));
        this.#at += name ? name[0].length : 2;
        if (!name && (content[this.#at - 1] === '{' || content[this.#at - 1] === '}'))
          this.#at -= 1;
        continue;
      }
      if (character === '{' || character === '}') {
        const isDoubled = content[this.#at + 1] === character && depth === 0;
        if (isDoubled) {
          flush(this.#at + 1);
          this.#at += 2;
          from = this.#at;
          continue;
        }
        flush(this.#at);
        if (character === '}') {
          if (depth > 0) return joinTexts(parts);
          throw this.#error("f-string: single '}' is not allowed");
        }
        for (const part of this.#field(depth)) parts.push(part);
        from = this.#at;
        continue;
      }
      this.#at += 1;
    }
    if (depth > 0) throw this.#error("f-string: expecting '}'");
    flush(this.#at);
    return joinTexts(parts);
  }

  /** Reads a field from its opening brace to its closing one; the debug form `{x=}` gives a text and a field. */
  #field(depth: number): TemplatePart[] {
    if (depth > 1) throw this.#error('f-string: expressions nested too deeply');
    const { content } = this.#literal;
    this.#at += 1;
    const from = this.#at;
    const to = this.#expressionEnd();
    const text = content.slice(from, to);
    if (text.trim() === '') throw this.#error('f-string: empty expression not allowed');
    if (text.includes('\\'))
      throw this.#error('f-string expression part cannot include a backslash');
    if (text.includes('#')) throw this.#error("f-string expression part cannot include '#'");
    const start = this.#literal.at + from;
    const value = this.#parser.parseTemplateField(start, this.#literal.at + to);
    this.#at = to;
    const parts: TemplatePart[] = [];
    if (content[this.#at] === '=') {
      this.#at += 1;
      while (/\s/.test(content[this.#at] ?? '')) this.#at += 1;
      parts.push({ kind: 'text', text: content.slice(from, this.#at) });
    }
    const conversion = this.#conversion();
    const hasSpec = content[this.#at] === ':';
    if (hasSpec) this.#at += 1;
    const spec = hasSpec ? this.readParts(depth + 1) : [];
    if (content[this.#at] !== '}') throw this.#error("f-string: expecting '}'");
    this.#at += 1;
    const isDebug = parts.length > 0 && conversion === '' && !hasSpec;
    parts.push({ kind: 'field', value, conversion: isDebug ? 'r' : conversion, spec });
    return parts;
  }

  #conversion(): '' | 's' | 'r' | 'a' {
    const { content } = this.#literal;
    if (content[this.#at] !== '!') return '';
    const conversionLetter = content[this.#at + 1];
    if (conversionLetter !== 's' && conversionLetter !== 'r' && conversionLetter !== 'a')
      throw this.#error("f-string: invalid conversion character: expected 's', 'r', or 'a'");
    this.#at += 2;
    return conversionLetter;
  }

  /** Returns the end of a field's expression: a `}`, `!`, `:` or `=` outside brackets and quotes, and outside comparison operators. */
  #expressionEnd(): number {
    const { content } = this.#literal;
    let depth = 0;
    for (let i = this.#at; i < content.length; i++) {
      const character = content[i]!;
      if (character === "'" || character === '"') {
        const quote = content.startsWith(character.repeat(3), i) ? character.repeat(3) : character;
        const end = content.indexOf(quote, i + quote.length);
        if (end < 0) throw this.#error('f-string: unterminated string');
        i = end + quote.length - 1;
      } else if ('([{'.includes(character)) depth += 1;
      else if (depth > 0) {
        if (')]}'.includes(character)) depth -= 1;
      } else if (character === '}' || character === ':') return i;
      else if (character === '!' && content[i + 1] !== '=') return i;
      else if (character === '!') i += 1;
      else if ('<>='.includes(character) && content[i + 1] === '=') i += 1;
      else if (character === '=') return i;
    }
    throw this.#error("f-string: expecting '}'");
  }

  #error(reason: string): Error {
    return this.#source.syntaxErrorAt(reason, this.#literal.at + this.#at);
  }
}
