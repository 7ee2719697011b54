import { realpathSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { delimitedLines, materialise } from '../../../../engine/query/results/materialise.js';
import { openSegments } from '../../../../engine/query/results/row-blocks.js';
import { project } from '../../../../engine/query/results/projection.js';
import type { Value } from '../../../../engine/core/types.js';
import {
  column,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestRow,
} from '../dataset.js';
import { Random } from '../random.js';
import { seed } from '../../../seed.js';

/* Compares list cells, with few and with many distinct values, with the JSON of their values. */

let engineFixture: EngineFixture;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
});
afterAll(() => engineFixture.close());

/** Functions that return random values for the lists of a column. */
const randomValueByColumn: Readonly<Record<string, (random: Random) => Value>> = {
  few_strings: (random) => random.pick(['a', 'G"T', 'x,y', 'ä\n', '', 'a longer one']),
  many_strings: (random) => `text ${random.integerBelow(1e9)}`,
  long_strings: (random) => random.pick(['x', 'y']).repeat(150),
  few_integers: (random) => random.integerBelow(5) - 2,
  many_integers: (random) => random.integerBelow(2 ** 32) - 2 ** 31,
  few_doubles: (random) => random.pick([0, 0.5, -1e-7, 1e21]),
  many_doubles: (random) => random.integerBelow(2 ** 31) / 7,
  booleans: (random) => random.chance(0.5),
};

const elementTypeOf = (name: string) =>
  (['string', 'integer', 'double', 'boolean'] as const).find((type) => name.endsWith(`${type}s`))!;

const quoteCsvCell = (cell: string): string =>
  /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

describe(`lists of scalars (STRANDLAKE_SEED=${seed})`, () => {
  test.each([40, 3_000])('have the JSON of their values in each of %i records', async (count) => {
    const random = new Random(seed);
    const randomList = (make: (random: Random) => Value): Value =>
      random.chance(0.1)
        ? null
        : random.list(random.pick([0, 1, 1, 1, 2, 3, 9]), () => (random.chance(0.1) ? null : make(random))); // prettier-ignore
    const rows = random.list(count, (): TestRow =>
      Object.fromEntries(
        Object.entries(randomValueByColumn).map(([name, make]) => [name, randomList(make)]),
      ),
    );
    const columns = Object.keys(randomValueByColumn).map((name) =>
      listColumn(column(name, elementTypeOf(name))),
    );
    const { snapshot, fields } = await engineFixture.newDataset(columns, [rows]);
    const projection = project(snapshot.columns, fields, {
      fields: null,
      excludeFields: [['_id'], ['_commit']],
    });
    const source = openSegments([{ path: realpathSync(snapshot.files[1]!) }]);
    // The rows are read in another order, so that the values of a block are not consecutive.
    const otherOrder = Array.from({ length: count }, (_, i) => (i * 7) % count).filter(
      (i) => i % 11 > 0,
    );
    try {
      for (const rowNumbers of [otherOrder, rows.map((_, i) => i)]) {
        const refs = rowNumbers.map((row) => [0, row] as const);
        const layout = { delimiter: ',', lineEnd: '\r\n', isFormulaSafe: false } as const;
        const lines = Buffer.from(delimitedLines(source, refs, projection, layout)).toString();
        const expectedLines = rowNumbers.map((row) => {
          const values = Object.values(rows[row]!);
          return values
            .map((value) => (value === null ? '' : quoteCsvCell(JSON.stringify(value))))
            .join(',');
        });
        expect(lines).toBe(expectedLines.map((line) => `${line}\r\n`).join(''));
        const texts = materialise(source, refs, projection, 'json');
        expect(texts).toEqual(rowNumbers.map((row) => JSON.stringify(rows[row])));
      }
    } finally {
      source.close();
    }
  });
});
