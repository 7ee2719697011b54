/** An import of a source file. Type imports (`isType`) do not exist in the build. */
export interface ImportStatement {
  readonly specifier: string;
  readonly isType: boolean;
  /** Whether the module is loaded only when the statement runs: `await import('…')`. */
  readonly isLazy: boolean;
  /** The names that a list in braces imports or exports again; undefined if the statement has no such list. */
  readonly names: readonly string[] | undefined;
}

/** A source file in the form that the architecture rules examine. */
export interface ParsedSource {
  readonly path: string;
  readonly imports: readonly ImportStatement[];
  /**
   * The code alone: without comments, with `""` for each string and `/ /` for each regular expression; of a template, only the backticks and
   * `${…}` with the code in it.
   */
  readonly code: string;
  /** The contents of the string literals, in the order of the text. */
  readonly strings: readonly string[];
  /** The templates of the file: the tag before the backtick, and the text with each expression replaced by `${}`. */
  readonly templates: readonly { readonly tag: string; readonly text: string }[];
}

/** Finds the imports, the code, the strings and the templates of a source file by their spelling, without a syntax tree. */
export function readSource(path: string, text: string): ParsedSource {
  const { code, strings, templates } = scanSourceText(text);
  const imports: ImportStatement[] = [];
  // Matches the placeholder that `scanSourceText` substitutes for a string; it contains the string's number.
  const stringPlaceholder = /"(\d+)"/.source;
  const patterns = [
    new RegExp(`\\b(?:import|export)\\s+(type\\s)?([^;"]*?)\\bfrom\\s*${stringPlaceholder}`, 'g'),
    new RegExp(`\\bimport\\s*()()${stringPlaceholder}`, 'g'),
    new RegExp(`\\bimport\\s*\\(\\s*()()${stringPlaceholder}`, 'g'),
  ];
  for (const [at, pattern] of patterns.entries()) {
    for (const [, type, clause, number] of code.matchAll(pattern)) {
      imports.push({
        specifier: strings[Number(number)] ?? '',
        isType: Boolean(type),
        isLazy: at === 2,
        names: namesInBraces(clause ?? ''),
      });
    }
  }
  return { path, imports, code: code.replaceAll(/"\d+"/g, '""'), strings, templates };
}

/** Returns the names before `as` in a list such as `{ a, type B as C }`. */
function namesInBraces(clause: string): readonly string[] | undefined {
  const [, list] = /\{([^}]*)\}/.exec(clause) ?? [];
  return list?.split(',').flatMap((item) => /^\s*(?:type\s+)?([\w$]+)/.exec(item)?.[1] ?? []);
}

interface ScannedText {
  readonly code: string;
  readonly strings: readonly string[];
  readonly templates: readonly { readonly tag: string; readonly text: string }[];
}

function scanSourceText(text: string): ScannedText {
  const strings: string[] = [];
  const templates: { tag: string; text: string }[] = [];
  let code = '';
  let at = 0;

  /** Copies code up to the brace that closes an expression in a template, or up to the end of the file. */
  function copyCode(isInTemplate: boolean): void {
    let depth = 0;
    while (at < text.length) {
      const char = text.charAt(at);
      if (text.startsWith('//', at)) skipTo('\n');
      else if (text.startsWith('/*', at)) {
        skipTo('*/');
        at += 2;
      } else if (char === "'" || char === '"') copyString(char);
      else if (char === '`') copyTemplate();
      else if (char === '/' && startsRegularExpression(code)) skipRegularExpression();
      else {
        if (char === '{') depth += 1;
        if (char === '}' && isInTemplate && depth === 0) return;
        if (char === '}') depth -= 1;
        code += char;
        at += 1;
      }
    }
  }

  function skipTo(end: string): void {
    const endIndex = text.indexOf(end, at);
    at = endIndex === -1 ? text.length : endIndex;
    code += ' ';
  }

  function copyString(quote: string): void {
    const from = ++at;
    while (at < text.length && text[at] !== quote) at += text[at] === '\\' ? 2 : 1;
    code += `"${strings.push(text.slice(from, at)) - 1}"`;
    at += 1;
  }

  function copyTemplate(): void {
    const templateText = { tag: /[\w$.]*$/.exec(code)?.[0] ?? '', text: '' };
    templates.push(templateText);
    code += '`';
    at += 1;
    while (at < text.length && text[at] !== '`') {
      if (text.startsWith('${', at)) {
        at += 2;
        code += '${';
        templateText.text += '${}';
        copyCode(true);
        code += '}';
        at += 1;
      } else {
        const length = text[at] === '\\' ? 2 : 1;
        templateText.text += text.slice(at, at + length);
        at += length;
      }
    }
    code += '`';
    at += 1;
  }

  function skipRegularExpression(): void {
    let isInClass = false;
    for (at += 1; at < text.length && (isInClass || text[at] !== '/'); at += 1) {
      if (text[at] === '\\') at += 1;
      else if (text[at] === '[') isInClass = true;
      else if (text[at] === ']') isInClass = false;
    }
    code += '/ /';
    at += 1;
  }

  copyCode(false);
  return { code, strings, templates };
}

/** Whether a slash after this code begins a regular expression; otherwise it is a division. */
function startsRegularExpression(code: string): boolean {
  const codeBefore = code.trimEnd();
  return (
    codeBefore === '' || /[(,=:[!&|?{};+*%<>~^-]$|\b(return|typeof|case|of|in)$/.test(codeBefore)
  );
}
