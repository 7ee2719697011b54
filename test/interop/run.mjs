/*
 * Opens datasets that the store has written with ClickHouse (chdb, the same engine embedded), which shares no code with Strandlake, and
 * checks that it sees the same rows in every version, and that queries have the same answers in its dialect.
 * `npm run test:interop` builds, installs and runs this.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const { query, queryBind } = createRequire(import.meta.url)('chdb');
const project = process.cwd();
const buildUrl = new URL('../../dist/', import.meta.url);
const { openDataFolder, makeFolder } = await import(new URL('engine/core/files.js', buildUrl));
const { deletedRows, deletionVector } = await import(
  new URL('engine/store/deletion-vector.js', buildUrl)
);
const { openStore } = await import(new URL('engine/store/open-store.js', buildUrl));
const { rowIdColumn } = await import(new URL('engine/store/row-ids.js', buildUrl));
const { writeCheckpoint } = await import(new URL('engine/store/checkpoints.js', buildUrl));
const { mergeSegments } = await import(new URL('engine/store/merge-segments.js', buildUrl));
const { writeSegment } = await import(new URL('test/engine/store/write-segment.js', buildUrl));
const { readWithDuckdb } = await import(new URL('test/engine/store/duckdb.js', buildUrl));
const { Lake } = await import(new URL('test/scheduler/lake.js', buildUrl));
const { createScheduler } = await import(new URL('scheduler/queue/scheduler.js', buildUrl));
const { compareDialects } = await import(new URL('test/interop/dialects.js', buildUrl));
const { batchOf, random } = await import(new URL('test/engine/store/random.js', buildUrl));

/** Number of random histories; STRANDLAKE_HISTORIES overrides it. */
const historyCount = Number(process.env.STRANDLAKE_HISTORIES ?? 200);

const root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-interop-')));
// ClickHouse opens files below its working folder only.
process.chdir(await realpath(tmpdir()));
const folder = await openDataFolder(root);
const store = openStore(folder);
let passedCount = 0;
let failedCount = 0;

const column = (name, type, more = {}) => ({ name, physical: name, type, isList: false, ...more });

/** The columns of a small dataset: every type, also in lists and objects. `records` has nulls and extreme values of them. */
const allTypeColumns = [
  column('boolean', 'boolean'),
  column('date', 'date'),
  column('double', 'double'),
  column('float', 'float'),
  column('integer', 'integer'),
  column('long', 'long'),
  column('string', 'string'),
  column('strings', 'string', { isList: true }),
  column('info', 'object', {
    children: [column('AF', 'double', { isList: true }), column('DP', 'integer')],
  }),
  column('csq', 'object', { isList: true, children: [column('gene', 'string')] }),
];
const records = [
  [true, 0n, 0.1, 1.5, 7, 2n ** 63n - 1n, 'é🧬', ['a', null, ''], { AF: [0.5], DP: 1 }, [{ gene: 'BRCA1' }]],
  [false, -1n, -1e308, -0.5, -2147483648, -(2n ** 63n), '', [], { AF: null, DP: null }, [{ gene: null }]],
  [null, null, null, null, null, null, null, null, null, null],
  [true, 1_700_000_000_123_456n, 5e-324, 3, 0, 0n, "it's \"quoted\"\n", ['x'], { AF: [], DP: 9 }, []],
]; // prettier-ignore

/** The columns of a larger dataset, as an import of a VCF file makes them. */
const variantColumns = [
  column('chrom', 'string'),
  column('pos', 'long'),
  column('variant', 'string'),
  column('qual', 'double'),
  column('info', 'object', { children: [column('AC', 'integer'), column('gene', 'string')] }),
];

await check('ClickHouse reads every value of every type', async () => {
  const id = 1;
  await commit(id, allTypeColumns, [columnsOf(allTypeColumns, records)], 1n);
  assert.deepEqual(selectTexts(id, allTypeColumns), expectedTexts(allTypeColumns, records));
});

await check('two commits and a remove are three versions with the right rows', async () => {
  const id = 2;
  const first = await commit(
    id,
    variantColumns,
    [makeVariantValues(1, 60_000), makeVariantValues(2, 60_000)],
    10n,
  );
  const second = await commit(id, variantColumns, [makeVariantValues(3, 150_000)], 11n);
  const removedPaths = [first.segments[1].path];
  const change = { columns: variantColumns, add: [], remove: removedPaths, info: {} };
  const third = await store.commit(id, change, folder.scratch);
  for (const [snapshot, seeds] of [
    [first, [1, 2]],
    [second, [1, 2, 3]],
    [third, [1, 3]],
  ]) {
    const values = seeds.map((seed) => makeVariantValues(seed, seed === 3 ? 150_000 : 60_000));
    checkSums(id, snapshot.version, variantColumns, values);
  }
  assert.equal(third.rows, 210_000);
});

await check('a column that came later is null in earlier rows', async () => {
  const id = 3;
  await commit(id, [column('n', 'long')], [[[1n, 2n]]], 20n);
  const widerColumns = [
    column('n', 'long'),
    column('t', 'string'),
    column('info', 'object', { children: [column('a', 'long')] }),
  ];
  await commit(id, widerColumns, [[[3n], ['x'], [{ a: 5n }]]], 21n);
  const rows = run(`select n, t from ${table(id)} order by n`);
  assert.deepEqual(rows, [
    { n: 1, t: null },
    { n: 2, t: null },
    { n: 3, t: 'x' },
  ]);
  const nestedRows = run(`select tupleElement(info, 'a') a from ${table(id)} order by n`);
  assert.deepEqual(nestedRows.at(-1), { a: 5 });
});

await check('a field of an object that came later is null in earlier rows', async () => {
  const id = 4;
  const info = (...names) => [
    column('n', 'long'),
    column('info', 'object', { children: names.map((name) => column(name, 'long')) }),
  ];
  await commit(id, info('a'), [[[1n], [{ a: 1n }]]], 30n);
  await commit(id, info('a', 'b'), [[[2n], [{ a: 2n, b: 3n }]]], 31n);
  const rows = run(
    `select n, tupleElement(info, 'a') a, tupleElement(info, 'b') b from ${table(id)} order by n`,
  );
  assert.deepEqual(rows, [
    { n: 1, a: 1, b: null },
    { n: 2, a: 2, b: 3 },
  ]);
});

await check('an empty dataset has its columns and no rows', async () => {
  const id = 5;
  await store.commit(
    id,
    { columns: variantColumns, add: [], remove: [], info: {} },
    folder.scratch,
  );
  assert.deepEqual(run(`select count() n from ${table(id)}`), [{ n: 0 }]);
  const names = run(`describe ${table(id)}`).map((row) => row.name);
  assert.deepEqual(names, ['_id', '_commit', ...variantColumns.map((c) => c.physical)]);
});

await check(
  'merged segments are the same rows to ClickHouse, in the versions before and after',
  async () => {
    const id = 6;
    let snapshotBefore;
    for (let i = 0; i < 20; i++) {
      const ownRecords = records.map((record) => record.with(5, BigInt(i)));
      snapshotBefore = await commit(
        id,
        allTypeColumns,
        [columnsOf(allTypeColumns, ownRecords)],
        BigInt(40 + i),
      );
    }
    const textsBefore = selectTexts(
      id,
      ['_id', '_commit'].map((name) => column(name)).concat(allTypeColumns),
    );
    const { segments, columns } = await store.nextMerge(id);
    assert.equal(segments.length, 20);
    const scratch = folder.taskScratch(60, 1);
    await makeFolder(scratch);
    const sources = segments.map((segment) => ({
      file: folder.datasetFile(id, segment.path),
      segment,
    }));
    const mergedSegment = await mergeSegments(sources, columns, join(scratch, '0.parquet'));
    const rewrite = { replace: segments, add: [mergedSegment], info: {} };
    const snapshotAfter = await store.rewrite(id, rewrite, scratch);
    assert.deepEqual(
      [snapshotAfter.segments.length, snapshotAfter.version],
      [1, snapshotBefore.version + 1],
    );
    const rows = selectTexts(
      id,
      ['_id', '_commit'].map((name) => column(name)).concat(allTypeColumns),
    );
    assert.equal(rows.length, 20 * records.length);
    assert.deepEqual(rows, textsBefore);
    for (const { version } of [snapshotBefore, snapshotAfter]) {
      const [{ n }] = run(
        `select count() n from ${table(id)} settings delta_lake_snapshot_version = ${version}`,
      );
      assert.equal(n, rows.length);
    }
  },
);

await check(
  'a checkpoint alone tells ClickHouse the rows of a table, with deleted rows and after a vacuum',
  async () => {
    const id = 20;
    // The clock advances with each use, so the file was removed before the vacuum.
    let time = Date.now();
    const ownStore = openStore(folder, { keepVersionsMs: 0, pinMs: 0, now: () => (time += 1) });
    const fields = [column('n', 'long')];
    for (let i = 0; i < 20; i++)
      await commit(id, fields, [[[0n, 1n, 2n].map((n) => n + BigInt(3 * i))]], BigInt(200 + i));
    let snapshot = await ownStore.snapshot(id);
    const deletion = deletionVector(Int32Array.of(0, 2));
    const update = [{ ...snapshot.segments[3], deletion }];
    const change = {
      columns: fields,
      add: [],
      remove: [],
      update,
      info: {},
      base: snapshot.version,
    };
    snapshot = await ownStore.commit(id, change, folder.scratch);
    const removal = { columns: fields, add: [], remove: [snapshot.segments[7].path], info: {} };
    await ownStore.commit(id, removal, folder.scratch);
    const numbersLeft = Array.from({ length: 60 }, (_, n) => n).filter((n) => n !== 9 && n !== 11 && (n < 21 || n > 23)); // prettier-ignore
    const selectNumbers = () =>
      run(`select n from ${table(id)} order by n`).map(({ n }) => Number(n));
    assert.deepEqual(selectNumbers(), numbersLeft);
    const { files } = await ownStore.beginVacuum(id, { since: undefined, versions: [] });
    for (const { path } of files) await rm(folder.datasetFile(id, path));
    const version = await ownStore.endVacuum(id);
    assert.deepEqual(selectNumbers(), numbersLeft);
    const scratch = folder.taskScratch(200, 1);
    await makeFolder(scratch);
    const file = join(scratch, 'checkpoint.parquet');
    await ownStore.publishCheckpoint(id, file, await writeCheckpoint(folder, id, version, file));
    assert.deepEqual(selectNumbers(), numbersLeft);
    // Without the log entries that it replaces, ClickHouse knows the table from the checkpoint alone.
    for (let entry = 0; entry < version; entry++) await rm(folder.logEntry(id, entry));
    assert.deepEqual(selectNumbers(), numbersLeft);
  },
);

await check(
  'deleted rows are gone to ClickHouse, in every form of a bitmap and every version',
  async () => {
    const id = 7;
    const rows = 150_000;
    const n = [column('n', 'long')];
    const allRows = Array.from({ length: rows }, (_, row) => row);
    let snapshot = await commit(id, n, [[allRows.map(BigInt)], [[BigInt(rows)]]], 70n);
    const next = random(7);
    const deletions = {
      few: [0, 7, 65_535, 65_536, rows - 1],
      half: allRows.filter(() => next() < 0.5),
      runs: allRows.filter((row) => row % 70_000 < 30_000),
      'runs and a list': allRows.filter((row) => row < 5_000 || row === 140_000),
      'all but one': allRows.slice(1),
      all: allRows,
    };
    const expectedRows = new Map([[snapshot.version, [...allRows, rows]]]);
    for (const deletedNumbers of Object.values(deletions)) {
      const deletion = deletionVector(Int32Array.from(deletedNumbers));
      const update = [{ ...snapshot.segments[0], deletion }];
      const change = { columns: n, add: [], remove: [], update, info: {}, base: snapshot.version };
      snapshot = await store.commit(id, change, folder.scratch);
      const deletedSet = new Set(deletedNumbers);
      expectedRows.set(snapshot.version, [...allRows.filter((row) => !deletedSet.has(row)), rows]);
      assert.equal(snapshot.rows, expectedRows.get(snapshot.version).length);
    }
    for (const [version, numbersLeft] of expectedRows) {
      const foundRows = run(
        `select n from ${table(id)} order by n settings delta_lake_snapshot_version = ${version}`,
      );
      assert.deepEqual(
        foundRows.map((row) => Number(row.n)),
        numbersLeft,
      );
    }
    const { segments } = await openStore(folder).snapshot(id);
    assert.deepEqual([...deletedRows(segments[0].deletion)], deletions.all);
  },
);

await check(
  'random histories of appends, deletes, replacements, rollbacks and merges have the same rows there, in every version',
  async () => {
    const seed = Number(
      process.env.STRANDLAKE_SEED ?? process.env.STRANDLAKE_FRESH_SEED ?? Date.now() % 1e9,
    );
    const next = random(seed);
    const columns = [column('n', 'long')];
    let last = 0n;
    for (let id = 1_000; id < 1_000 + historyCount; id++) {
      const where = `STRANDLAKE_SEED=${seed}, history ${id - 1_000}`;
      /** By version: the rows of the model. */
      const rowsByVersion = new Map();
      const rolledBackVersions = new Set();
      let rows = [];
      let snapshot;
      for (let step = 0; step < 12; step++) {
        const stepDraw = snapshot === undefined ? 0 : next();
        const change = { columns, add: [], remove: [], info: {}, base: snapshot?.version };
        if (stepDraw < 0.4) {
          const newNumbers = Array.from({ length: 1 + Math.floor(next() * 300) }, () => ++last);
          snapshot = await commit(id, columns, [[newNumbers]], 1_000n + last);
          rows = [...rows, ...newNumbers.map((n) => ({ n: Number(n), by: snapshot.version }))];
        } else if (stepDraw < 0.7) {
          const share = next();
          const update = snapshot.segments.map((segment) => {
            const earlierRows = segment.deletion ? [...deletedRows(segment.deletion)] : [];
            const deletedRowNumbers = Array.from({ length: segment.rows }, (_, row) => row).filter(
              (row) => next() < share || earlierRows.includes(row),
            );
            return deletedRowNumbers.length > 0
              ? { ...segment, deletion: deletionVector(Int32Array.from(deletedRowNumbers)) }
              : segment;
          });
          const changedSegments = update.filter((segment, i) => segment !== snapshot.segments[i]);
          const add = [];
          const newNumbers = Array.from({ length: 1 + Math.floor(next() * 300) }, () => ++last);
          if (next() < 0.5) {
            // As an upsert does it: the rows that replace others store their row ids.
            const ids = newNumbers.map((_, i) => BigInt(3 * i));
            const storedColumns = [rowIdColumn, ...columns];
            const data = batchOf(
              storedColumns,
              [ids, newNumbers],
              newNumbers.length,
              1_000n + last,
            );
            const path = join(folder.scratch, 'replacing.parquet');
            add.push(
              await writeSegment({ columns: storedColumns, data, rows: newNumbers.length }, path),
            );
          }
          snapshot = await store.commit(
            id,
            { ...change, add, update: changedSegments },
            folder.scratch,
          );
          const addedNumbers = add.length === 0 ? [] : newNumbers;
          const allRows = [
            ...rows,
            ...addedNumbers.map((n) => ({ n: Number(n), by: snapshot.version })),
          ];
          rows = await readModelRows(snapshot, allRows);
        } else if (stepDraw < 0.85) {
          const version = Math.floor(next() * (snapshot.version + 1));
          const rollback = await store.rollback(id, version);
          if (rolledBackVersions.has(version) || rollback.blockers.length > 0) continue;
          rolledBackVersions.add(version);
          snapshot = await store.commit(id, { ...change, ...rollback, info: {} }, folder.scratch);
          rolledBackVersions.add(snapshot.version);
          assert.equal(snapshot.rows, rows.length - rollback.removed + rollback.restored, where);
          rows = await readModelRows(snapshot, [...rowsByVersion.values()].flat());
        } else {
          if (snapshot.segments.length < 2) continue;
          const scratch = folder.taskScratch(id, step);
          await makeFolder(scratch);
          const segments = snapshot.segments.slice(0, 2);
          const sources = segments.map((segment) => ({
            file: folder.datasetFile(id, segment.path),
            segment,
          }));
          const mergedSegment = await mergeSegments(
            sources,
            columns,
            join(scratch, '0.parquet'),
            false,
          );
          snapshot = await store.rewrite(
            id,
            { replace: segments, add: [mergedSegment], info: {} },
            scratch,
          );
          rolledBackVersions.add(snapshot.version);
        }
        rowsByVersion.set(snapshot.version, rows);
      }
      for (const [version, model] of rowsByVersion) {
        const foundRows = run(
          `select n from ${table(id)} order by n settings delta_lake_snapshot_version = ${version}`,
        );
        assert.deepEqual(
          foundRows.map((row) => Number(row.n)),
          model.map(({ n }) => n).sort((a, b) => a - b),
          where,
        );
      }
    }
  },
);

for (const name of ['clinvar_grch38.vcf.gz', 'freebayes_7_samples.vcf']) {
  await check(`${name}, imported by the pool, has the same values there as in DuckDB`, async () => {
    await withImportedFile(join(project, 'test/fixtures/vcf', name), name, async (lake, id) => {
      const { columns, files } = await lake.store.snapshot(id);
      const sumColumns = scalarColumns(columns);
      assert.ok(sumColumns.length > 5);
      const duckdb = await readWithDuckdb(
        files,
        sumColumns
          .map(({ path, isText }, i) => {
            const value = path.map(quote).join('.');
            const sum = isText ? `sum(strlen(${value}))` : `round(sum(${value}), 3)`;
            return `count(${value})::double c${i}, coalesce(${sum}, 0)::double s${i}`;
          })
          .join(', '),
      );
      const clickhouse = sumColumns.map(({ path, isText }, i) => {
        const [top, ...below] = path;
        const value = below.reduce((at, b) => `tupleElement(${at}, '${b}')`, quote(top));
        const sum = isText ? `sum(length(${value}))` : `round(sum(${value}), 3)`;
        return `toFloat64(count(${value})) c${i}, toFloat64(coalesce(${sum}, 0)) s${i}`;
      });
      const [sumsRow] = run(
        `select ${clickhouse.join(', ')} from deltaLakeLocal('${lake.data.dataset(id)}')`,
      );
      assert.deepEqual(
        Object.values(sumsRow),
        duckdb.columns.map(([value]) => value),
      );
      assert.ok(sumsRow.c0 > 0);
    });
  });
}

await check('the example of docs/tables.md counts what is in the file', async () => {
  const page = await readFile(join(project, 'docs/tables.md'), 'utf8');
  const [, sql] = /^```sql\n(-- ClickHouse\n[^]*?)^```$/m.exec(page);
  const name = 'clinvar_grch38.vcf.gz';
  const file = join(project, 'test/fixtures/vcf', name);
  const lines = gunzipSync(await readFile(file))
    .toString()
    .matchAll(/;CLNVC=([^;\n]+)/g);
  const expectedCounts = Object.entries(Object.groupBy(lines, ([, kind]) => kind))
    .map(([kind, all]) => ({ kind, records: all.length }))
    .toSorted((a, b) => b.records - a.records);
  assert.ok(expectedCounts.length > 2);
  const folderPattern = /'[^']*<dataset id>'/;
  assert.match(sql, folderPattern);
  await withImportedFile(file, name, async (lake, id) => {
    const rows = run(sql.replace(folderPattern, `'${lake.data.dataset(id)}'`));
    assert.deepEqual(
      rows.map(({ kind, records: found }) => ({ kind, records: Number(found) })),
      expectedCounts,
    );
  });
});

await compareDialects(project, queryBind, check);

await rm(root, { recursive: true });
console.log(`${passedCount} passed, ${failedCount} failed`);
process.exit(failedCount === 0 ? 0 : 1);

async function check(claim, work) {
  try {
    await work();
    passedCount += 1;
    console.log(`  ✓ ${claim}`);
  } catch (error) {
    failedCount += 1;
    console.log(`  ✗ ${claim}\n${error.stack}`);
  }
}

/** Imports a file into a dataset of its own, with a worker process and its pool, and calls `work` with the lake and the dataset's id. */
async function withImportedFile(file, name, work) {
  const lake = await Lake.make();
  const { catalog, store: lakeStore, data } = lake;
  const report = (message) => console.log(message);
  const config = { threads: 2, workerMemoryMb: 1024 };
  const scheduler = createScheduler({ catalog, store: lakeStore, data, config, report });
  try {
    await scheduler.start();
    const datasetId = await lake.createDataset();
    const task = await lake.queueFileImport(
      datasetId,
      await lake.createFile(name, await readFile(file)),
    );
    scheduler.wake();
    const { status } = await scheduler.wait(task.id);
    const { errorMessage } = await catalog.imports.get(task.resourceId);
    assert.equal(status, 'completed', errorMessage);
    await work(lake, datasetId);
  } finally {
    await scheduler.close();
    await lake.remove();
  }
}

/** Returns the scalar columns, those of objects included, that both engines can count and sum. */
function scalarColumns(columns, above = []) {
  return columns.flatMap((c) => {
    const path = [...above, c.physical];
    if (c.isList) return [];
    if (c.type === 'object') return scalarColumns(c.children, path);
    if (c.type === 'boolean' || c.type === 'date') return [];
    return [{ path, isText: ['string', 'text', 'blob', 'json'].includes(c.type) }];
  });
}

function quote(name) {
  return `"${name}"`;
}

/** Commits chunks of columns of values, each as a segment of its own. */
async function commit(id, columns, chunks, commitId) {
  const scratch = folder.taskScratch(Number(commitId), 1);
  await makeFolder(scratch);
  const add = [];
  for (const [i, values] of chunks.entries()) {
    const rows = values[0].length;
    const data = batchOf(columns, values, rows, commitId, i);
    add.push(await writeSegment({ columns, data, rows }, join(scratch, `${i}.parquet`)));
  }
  return store.commit(id, { columns, add, remove: [], info: {} }, scratch);
}

/** Returns the rows of the model that DuckDB finds in the segments, without the deleted rows that the snapshot names. */
async function readModelRows({ segments, files }, knownRows) {
  const byNumber = new Map(knownRows.map((row) => [row.n, row]));
  const modelRows = [];
  for (const [i, { deletion }] of segments.entries()) {
    const deletedSet = new Set(deletion ? deletedRows(deletion) : []);
    const {
      columns: [storedNumbers],
    } = await readWithDuckdb([files[0], files[i + 1]], 'n::double n');
    modelRows.push(
      ...storedNumbers.filter((_, row) => !deletedSet.has(row)).map((n) => byNumber.get(n)),
    );
  }
  return modelRows;
}

function makeVariantValues(seed, rows) {
  const next = random(seed);
  const values = variantColumns.map(() => []);
  for (let i = 0; i < rows; i++) {
    const pos = 10_000 + i * 37;
    const rare = next() < 0.05;
    const row = [
      `chr${seed}`,
      BigInt(pos),
      `GRCh38-${seed}-${pos}-A-${'CGT'[Math.floor(next() * 3)]}`,
      rare ? null : Math.round(next() * 10_000) / 100,
      { AC: rare ? null : Math.floor(next() * 5_000), gene: `GENE${i >> 6}` },
    ];
    for (const [c, value] of row.entries()) values[c].push(value);
  }
  return values;
}

function columnsOf(columns, rows) {
  return columns.map((_, i) => rows.map((row) => row[i]));
}

/** Compares the number of rows and the sums of the columns of a version, as ClickHouse computes them, with those of the written values. */
function checkSums(id, version, columns, chunks) {
  const [chrom, pos, variant, qual, info] = columns.map((_, i) => chunks.flatMap((c) => c[i]));
  const [sums] = run(
    `select count() n, uniqExact(_id) ids, uniqExact(_commit) commits, sum(length(chrom)) chroms,
      sum(pos) poss, sum(length(variant)) letters, uniqExact(variant) variants,
      round(sum(qual), 2) qualsum, count(qual) quals, sum(tupleElement(info, 'AC')) ac,
      uniqExact(tupleElement(info, 'gene')) genes, countIf(endsWith(variant, 'T')) t
     from ${table(id)} settings delta_lake_snapshot_version = ${version}`,
  );
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const present = (values) => values.filter((value) => value !== null);
  assert.deepEqual(Object.fromEntries(Object.entries(sums).map(([k, v]) => [k, Number(v)])), {
    n: pos.length,
    ids: pos.length,
    commits: version === 0 ? 1 : 2,
    chroms: sum(chrom.map((value) => value.length)),
    poss: sum(pos.map(Number)),
    letters: sum(variant.map((value) => value.length)),
    variants: new Set(variant).size,
    qualsum: Math.round(sum(present(qual)) * 100) / 100,
    quals: present(qual).length,
    ac: sum(present(info.map((value) => value.AC))),
    genes: new Set(info.map((value) => value.gene)).size,
    t: variant.filter((value) => value.endsWith('T')).length,
  });
}

function table(id) {
  return `deltaLakeLocal('${folder.dataset(id)}')`;
}

function run(sql) {
  const text = String(query(`${sql.replace(/;$/, '')}`, 'JSONEachRow'));
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Returns what ClickHouse reads: every value as JSON text that loses nothing, in the order of the records. */
function selectTexts(id, columns) {
  const list = columns.map((c) => `toJSONString(${c.physical}) as ${c.physical}_`).join(', ');
  return run(`select ${list} from ${table(id)} order by _id`);
}

/** Returns the texts that `selectTexts` must return, computed from the written values. */
function expectedTexts(columns, rows) {
  return rows.map((row) =>
    Object.fromEntries(columns.map((c, i) => [`${c.physical}_`, jsonTextOf(c, row[i])])),
  );
}

/** Returns the JSON text of a value. Arrays and tuples cannot be null in ClickHouse: it shows an empty array, and a tuple of nulls. */
function jsonTextOf(column, value) {
  if (column.isList) {
    const items = (value ?? []).map(
      (item) => jsonTextOf({ ...column, isList: false }, item) ?? 'null',
    );
    return `[${items.join(',')}]`;
  }
  if (column.type === 'object') {
    const members = column.children.map((child) => {
      const member = jsonTextOf(child, value?.[child.physical] ?? null);
      return `${JSON.stringify(child.physical)}:${member ?? 'null'}`;
    });
    return `{${members.join(',')}}`;
  }
  if (value === null) return null;
  if (column.type === 'date') return `"${dateText(value)}"`;
  if (column.type === 'double' && value === -1e308) return '-1e308'; // no plus sign there
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

function dateText(micros) {
  const second = micros / 1_000_000n - (micros % 1_000_000n < 0n ? 1n : 0n);
  const fraction = String(micros - second * 1_000_000n).padStart(6, '0');
  const text = new Date(Number(second) * 1000).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 19)}.${fraction}`;
}
