import { expect, test } from '@jest/globals';
import { entityParams, validationParams } from '../../../api/resources/shared/import-params.js';
import { builtinDeclarations } from '../../../engine/expression/builtins/builtin-declarations.js';
import { libraryDeclarations } from '../../../engine/expression/library/library-declarations.js';
import { querySchema } from '../../../api/resources/records/record-schemas.js';
import { commonParameterHelp, readers } from '../../../readers/index.js';
import { expectCurrentSection, markdownTable } from '../../generated-page.js';

const readersPage = 'docs/readers.md';

test('docs/readers.md describes every parameter of every reader', () => {
  const sections = readers.map(({ name, extensions, recognizes, parameters }) => {
    const extensionText = extensions.map((one) => `\`.${one}\``).join(', ');
    const recognitionTexts = [extensionText, ...(recognizes ? ['recognized by content'] : [])].filter((one) => one !== ''); // prettier-ignore
    const rows = Object.entries(parameters).map(([key, meaning]) => [
      `\`${key}\``,
      escapeCell(meaning),
    ]);
    const table = rows.length > 0 ? markdownTable([['Parameter', 'Meaning'], ...rows]) : 'No parameters of its own.'; // prettier-ignore
    return `### \`${name}\`\n\nFiles: ${recognitionTexts.join('; ')}.\n\n${table}`;
  });
  const commonRows = Object.entries(commonParameterHelp).map(([key, meaning]) => [
    `\`${key}\``,
    escapeCell(meaning),
  ]);
  const commonSection = `### Every reader\n\n${markdownTable([['Parameter', 'Meaning'], ...commonRows])}`;
  expectCurrentSection(readersPage, 'readers', [commonSection, ...sections].join('\n\n'));
});

test('docs/readers.md describes every parameter of validation and of entities', () => {
  for (const [name, { type }] of Object.entries({
    validation: validationParams,
    entities: entityParams,
  })) {
    // prettier-ignore
    const { properties } = type.schema as { properties: Record<string, { description?: string }> };
    const rows = Object.entries(properties).map(([key, { description = '' }]) => {
      expect([key, description]).not.toEqual([key, '']);
      return [`\`${key}\``, escapeCell(description)];
    });
    expectCurrentSection(readersPage, name, markdownTable([['Parameter', 'Meaning'], ...rows]));
  }
});

test('docs/queries.md describes every key of a query', () => {
  const { properties } = querySchema.schema as {
    properties: Record<string, { description?: string }>;
  };
  const rows = Object.entries(properties).map(([key, { description = '' }]) => {
    expect([key, description]).not.toEqual([key, '']);
    return [`\`${key}\``, escapeCell(description)];
  });
  expectCurrentSection('docs/queries.md', 'keys', markdownTable([['Key', 'Meaning'], ...rows]));
});

test('docs/expressions.md describes every function of expressions', () => {
  const kinds = [undefined, 'dataset', 'genome'] as const;
  const titles = ['Values, texts and records', 'Datasets', 'Genomes'];
  const sections = [
    ...kinds.map((kind) => libraryDeclarations.filter((one) => one.kind === kind)),
    builtinDeclarations,
  ].map((list, i) => {
    const rows = list.map(({ signature, text, example }) => [
      `\`${escapeCell(signature)}\``,
      escapeCell(text),
      `\`${escapeCell(example)}\``,
    ]);
    const title = titles[i] ?? 'Built-in functions and types';
    return `### ${title}\n\n${markdownTable([['Function', 'Meaning', 'Example'], ...rows])}`;
  });
  expectCurrentSection('docs/expressions.md', 'functions', sections.join('\n\n'));
});

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
