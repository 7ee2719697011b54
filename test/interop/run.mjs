/*
 * Opens datasets that the store wrote with ClickHouse (chdb, the same engine embedded), which knows nothing of us, and
 * proves that it sees the same rows in every version, and that queries have the same answers in its dialect.
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
const built = new URL('../../dist/', import.meta.url);
const { openDataFolder, makeFolder } = await import(new URL('engine/core/files.js', built));
const { deletedRows, deletionVector } = await import(
  new URL('engine/store/deletion-vector.js', built)
);
const { openStore } = await import(new URL('engine/store/open-store.js', built));
const { rowIdColumn } = await import(new URL('engine/store/row-ids.js', built));
const { writeCheckpoint } = await import(new URL('engine/store/checkpoints.js', built));
const { mergeSegments } = await import(new URL('engine/store/merge-segments.js', built));
const { writeSegment } = await import(new URL('test/engine/store/write-segment.js', built));
const { readWithDuckdb } = await import(new URL('test/engine/store/duckdb.js', built));
const { Lake } = await import(new URL('test/scheduler/lake.js', built));
const { createScheduler } = await import(new URL('scheduler/queue/scheduler.js', built));
const { compareDialects } = await import(new URL('test/interop/dialects.js', built));
const { batchOf, random } = await import(new URL('test/engine/store/random.js', built));

/** Number of random histories; STRANDLAKE_HISTORIES overrides it. */
const histories = Number(process.env.STRANDLAKE_HISTORIES ?? 200);

const root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-interop-')));
// ClickHouse opens files below its working folder only.
process.chdir(await realpath(tmpdir()));
const folder = await openDataFolder(root);
const store = openStore(folder);
let passed = 0;
let failed = 0;

const column = (name, type, more = {}) => ({ name, physical: name, type, isList: false, ...more });

/** A small dataset: every type, nested, with nulls and extremes. */
const everything = [
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

/** A larger one, as a VCF would give it. */
const variants = [
  column('chrom', 'string'),
  column('pos', 'long'),
  column('variant', 'string'),
  column('qual', 'double'),
  column('info', 'object', { children: [column('AC', 'integer'), column('gene', 'string')] }),
];

await check('ClickHouse reads every value of every type', async () => {
  const id = 1;
  await commit(id, everything, [columnsOf(everything, records)], 1n);
  assert.deepEqual(select(id, everything), shown(everything, records));
});

await check('two commits and a remove are three versions with the right rows', async () => {
  const id = 2;
  const first = await commit(id, variants, [made(1, 60_000), made(2, 60_000)], 10n);
  const second = await commit(id, variants, [made(3, 150_000)], 11n);
  const remove = [first.segments[1].path];
  const change = { columns: variants, add: [], remove, info: {} };
  const third = await store.commit(id, change, folder.scratch);
  for (const [snapshot, seeds] of [
    [first, [1, 2]],
    [second, [1, 2, 3]],
    [third, [1, 3]],
  ]) {
    const values = seeds.map((seed) => made(seed, seed === 3 ? 150_000 : 60_000));
    sameSums(id, snapshot.version, variants, values);
  }
  assert.equal(third.rows, 210_000);
});

await check('a column that came later is null in earlier rows', async () => {
  const id = 3;
  await commit(id, [column('n', 'long')], [[[1n, 2n]]], 20n);
  const wider = [
    column('n', 'long'),
    column('t', 'string'),
    column('info', 'object', { children: [column('a', 'long')] }),
  ];
  await commit(id, wider, [[[3n], ['x'], [{ a: 5n }]]], 21n);
  const rows = run(`select n, t from ${table(id)} order by n`);
  assert.deepEqual(rows, [
    { n: 1, t: null },
    { n: 2, t: null },
    { n: 3, t: 'x' },
  ]);
  const nested = run(`select tupleElement(info, 'a') a from ${table(id)} order by n`);
  assert.deepEqual(nested.at(-1), { a: 5 });
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
  await store.commit(id, { columns: variants, add: [], remove: [], info: {} }, folder.scratch);
  assert.deepEqual(run(`select count() n from ${table(id)}`), [{ n: 0 }]);
  const names = run(`describe ${table(id)}`).map((row) => row.name);
  assert.deepEqual(names, ['_id', '_commit', ...variants.map((c) => c.physical)]);
});

await check(
  'merged segments are the same rows to ClickHouse, in the versions before and after',
  async () => {
    const id = 6;
    let before;
    for (let i = 0; i < 20; i++) {
      const own = records.map((record) => record.with(5, BigInt(i)));
      before = await commit(id, everything, [columnsOf(everything, own)], BigInt(40 + i));
    }
    const all = select(id, ['_id', '_commit'].map((name) => column(name)).concat(everything));
    const { segments, columns } = await store.nextMerge(id);
    assert.equal(segments.length, 20);
    const scratch = folder.taskScratch(60, 1);
    await makeFolder(scratch);
    const sources = segments.map((segment) => ({
      file: folder.datasetFile(id, segment.path),
      segment,
    }));
    const merged = await mergeSegments(sources, columns, join(scratch, '0.parquet'));
    const rewrite = { replace: segments, add: [merged], info: {} };
    const after = await store.rewrite(id, rewrite, scratch);
    assert.deepEqual([after.segments.length, after.version], [1, before.version + 1]);
    const rows = select(id, ['_id', '_commit'].map((name) => column(name)).concat(everything));
    assert.equal(rows.length, 20 * records.length);
    assert.deepEqual(rows, all);
    for (const { version } of [before, after]) {
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
    const own = openStore(folder, { keepVersionsMs: 0, pinMs: 0, now: () => (time += 1) });
    const fields = [column('n', 'long')];
    for (let i = 0; i < 20; i++)
      await commit(id, fields, [[[0n, 1n, 2n].map((n) => n + BigInt(3 * i))]], BigInt(200 + i));
    let snapshot = await own.snapshot(id);
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
    snapshot = await own.commit(id, change, folder.scratch);
    const gone = { columns: fields, add: [], remove: [snapshot.segments[7].path], info: {} };
    await own.commit(id, gone, folder.scratch);
    const left = Array.from({ length: 60 }, (_, n) => n).filter((n) => n !== 9 && n !== 11 && (n < 21 || n > 23)); // prettier-ignore
    const numbers = () => run(`select n from ${table(id)} order by n`).map(({ n }) => Number(n));
    assert.deepEqual(numbers(), left);
    const { files } = await own.beginVacuum(id, { since: undefined, versions: [] });
    for (const { path } of files) await rm(folder.datasetFile(id, path));
    const version = await own.endVacuum(id);
    assert.deepEqual(numbers(), left);
    const scratch = folder.taskScratch(200, 1);
    await makeFolder(scratch);
    const file = join(scratch, 'checkpoint.parquet');
    await own.publishCheckpoint(id, file, await writeCheckpoint(folder, id, version, file));
    assert.deepEqual(numbers(), left);
    // Without the entries that it replaces, the table is known from it alone.
    for (let entry = 0; entry < version; entry++) await rm(folder.logEntry(id, entry));
    assert.deepEqual(numbers(), left);
  },
);

await check(
  'deleted rows are gone to ClickHouse, in every form of a bitmap and every version',
  async () => {
    const id = 7;
    const rows = 150_000;
    const n = [column('n', 'long')];
    const all = Array.from({ length: rows }, (_, row) => row);
    let snapshot = await commit(id, n, [[all.map(BigInt)], [[BigInt(rows)]]], 70n);
    const next = random(7);
    const deletions = {
      few: [0, 7, 65_535, 65_536, rows - 1],
      half: all.filter(() => next() < 0.5),
      runs: all.filter((row) => row % 70_000 < 30_000),
      'runs and a list': all.filter((row) => row < 5_000 || row === 140_000),
      'all but one': all.slice(1),
      all,
    };
    const wanted = new Map([[snapshot.version, [...all, rows]]]);
    for (const gone of Object.values(deletions)) {
      const deletion = deletionVector(Int32Array.from(gone));
      const update = [{ ...snapshot.segments[0], deletion }];
      const change = { columns: n, add: [], remove: [], update, info: {}, base: snapshot.version };
      snapshot = await store.commit(id, change, folder.scratch);
      const known = new Set(gone);
      wanted.set(snapshot.version, [...all.filter((row) => !known.has(row)), rows]);
      assert.equal(snapshot.rows, wanted.get(snapshot.version).length);
    }
    for (const [version, left] of wanted) {
      const found = run(
        `select n from ${table(id)} order by n settings delta_lake_snapshot_version = ${version}`,
      );
      assert.deepEqual(
        found.map((row) => Number(row.n)),
        left,
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
    for (let id = 1_000; id < 1_000 + histories; id++) {
      const where = `STRANDLAKE_SEED=${seed}, history ${id - 1_000}`;
      /** By version: the rows of the model. */
      const wanted = new Map();
      const undone = new Set();
      let rows = [];
      let snapshot;
      for (let step = 0; step < 12; step++) {
        const what = snapshot === undefined ? 0 : next();
        const change = { columns, add: [], remove: [], info: {}, base: snapshot?.version };
        if (what < 0.4) {
          const made = Array.from({ length: 1 + Math.floor(next() * 300) }, () => ++last);
          snapshot = await commit(id, columns, [[made]], 1_000n + last);
          rows = [...rows, ...made.map((n) => ({ n: Number(n), by: snapshot.version }))];
        } else if (what < 0.7) {
          const share = next();
          const update = snapshot.segments.map((segment) => {
            const earlier = segment.deletion ? [...deletedRows(segment.deletion)] : [];
            const more = Array.from({ length: segment.rows }, (_, row) => row).filter(
              (row) => next() < share || earlier.includes(row),
            );
            return more.length > 0
              ? { ...segment, deletion: deletionVector(Int32Array.from(more)) }
              : segment;
          });
          const changed = update.filter((segment, i) => segment !== snapshot.segments[i]);
          const add = [];
          const made = Array.from({ length: 1 + Math.floor(next() * 300) }, () => ++last);
          if (next() < 0.5) {
            // As an upsert does it: the rows that replace others store their row ids.
            const ids = made.map((_, i) => BigInt(3 * i));
            const own = [rowIdColumn, ...columns];
            const data = batchOf(own, [ids, made], made.length, 1_000n + last);
            const path = join(folder.scratch, 'replacing.parquet');
            add.push(await writeSegment({ columns: own, data, rows: made.length }, path));
          }
          snapshot = await store.commit(id, { ...change, add, update: changed }, folder.scratch);
          const added = add.length === 0 ? [] : made;
          const all = [...rows, ...added.map((n) => ({ n: Number(n), by: snapshot.version }))];
          rows = await numbers(snapshot, all);
        } else if (what < 0.85) {
          const version = Math.floor(next() * (snapshot.version + 1));
          const found = await store.rollback(id, version);
          if (undone.has(version) || found.blockers.length > 0) continue;
          undone.add(version);
          snapshot = await store.commit(id, { ...change, ...found, info: {} }, folder.scratch);
          undone.add(snapshot.version);
          assert.equal(snapshot.rows, rows.length - found.removed + found.restored, where);
          rows = await numbers(snapshot, [...wanted.values()].flat());
        } else {
          if (snapshot.segments.length < 2) continue;
          const scratch = folder.taskScratch(id, step);
          await makeFolder(scratch);
          const segments = snapshot.segments.slice(0, 2);
          const sources = segments.map((segment) => ({
            file: folder.datasetFile(id, segment.path),
            segment,
          }));
          const merged = await mergeSegments(sources, columns, join(scratch, '0.parquet'), false);
          snapshot = await store.rewrite(
            id,
            { replace: segments, add: [merged], info: {} },
            scratch,
          );
          undone.add(snapshot.version);
        }
        wanted.set(snapshot.version, rows);
      }
      for (const [version, model] of wanted) {
        const found = run(
          `select n from ${table(id)} order by n settings delta_lake_snapshot_version = ${version}`,
        );
        assert.deepEqual(
          found.map((row) => Number(row.n)),
          model.map(({ n }) => n).sort((a, b) => a - b),
          where,
        );
      }
    }
  },
);

for (const name of ['clinvar_grch38.vcf.gz', 'freebayes_7_samples.vcf']) {
  await check(`${name}, imported by the pool, has the same values there as in DuckDB`, async () => {
    await imported(join(project, 'test/fixtures/vcf', name), name, async (lake, id) => {
      const { columns, files } = await lake.store.snapshot(id);
      const sums = scalars(columns);
      assert.ok(sums.length > 5);
      const duckdb = await readWithDuckdb(
        files,
        sums
          .map(({ path, isText }, i) => {
            const value = path.map(quoted).join('.');
            const sum = isText ? `sum(strlen(${value}))` : `round(sum(${value}), 3)`;
            return `count(${value})::double c${i}, coalesce(${sum}, 0)::double s${i}`;
          })
          .join(', '),
      );
      const clickhouse = sums.map(({ path, isText }, i) => {
        const [top, ...below] = path;
        const value = below.reduce((at, b) => `tupleElement(${at}, '${b}')`, quoted(top));
        const sum = isText ? `sum(length(${value}))` : `round(sum(${value}), 3)`;
        return `toFloat64(count(${value})) c${i}, toFloat64(coalesce(${sum}, 0)) s${i}`;
      });
      const [found] = run(
        `select ${clickhouse.join(', ')} from deltaLakeLocal('${lake.data.dataset(id)}')`,
      );
      assert.deepEqual(
        Object.values(found),
        duckdb.columns.map(([value]) => value),
      );
      assert.ok(found.c0 > 0);
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
  const wanted = Object.entries(Object.groupBy(lines, ([, kind]) => kind))
    .map(([kind, all]) => ({ kind, records: all.length }))
    .toSorted((a, b) => b.records - a.records);
  assert.ok(wanted.length > 2);
  const place = /'[^']*<dataset id>'/;
  assert.match(sql, place);
  await imported(file, name, async (lake, id) => {
    const rows = run(sql.replace(place, `'${lake.data.dataset(id)}'`));
    assert.deepEqual(
      rows.map(({ kind, records: found }) => ({ kind, records: Number(found) })),
      wanted,
    );
  });
});

await compareDialects(project, queryBind, check);

await rm(root, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function check(claim, work) {
  try {
    await work();
    passed += 1;
    console.log(`  ✓ ${claim}`);
  } catch (error) {
    failed += 1;
    console.log(`  ✗ ${claim}\n${error.stack}`);
  }
}

/** A file imported into a dataset of its own, by worker process and pool. */
async function imported(file, name, work) {
  const made = await Lake.make();
  const { catalog, store: lakeStore, data } = made;
  const report = (message) => console.log(message);
  const config = { threads: 2, workerMemoryMb: 1024 };
  const scheduler = createScheduler({ catalog, store: lakeStore, data, config, report });
  try {
    await scheduler.start();
    const datasetId = await made.createDataset();
    const task = await made.queueFileImport(
      datasetId,
      await made.createFile(name, await readFile(file)),
    );
    scheduler.wake();
    const { status } = await scheduler.wait(task.id);
    const { errorMessage } = await catalog.imports.get(task.resourceId);
    assert.equal(status, 'completed', errorMessage);
    await work(made, datasetId);
  } finally {
    await scheduler.close();
    await made.remove();
  }
}

/** The scalar columns, those of objects included, that both engines can count and sum. */
function scalars(columns, above = []) {
  return columns.flatMap((c) => {
    const path = [...above, c.physical];
    if (c.isList) return [];
    if (c.type === 'object') return scalars(c.children, path);
    if (c.type === 'boolean' || c.type === 'date') return [];
    return [{ path, isText: ['string', 'text', 'blob', 'json'].includes(c.type) }];
  });
}

function quoted(name) {
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

/** The rows of the model that DuckDB finds in the segments, without the deleted rows that the snapshot names. */
async function numbers({ segments, files }, known) {
  const byNumber = new Map(known.map((row) => [row.n, row]));
  const left = [];
  for (const [i, { deletion }] of segments.entries()) {
    const gone = new Set(deletion ? deletedRows(deletion) : []);
    const {
      columns: [stored],
    } = await readWithDuckdb([files[0], files[i + 1]], 'n::double n');
    left.push(...stored.filter((_, row) => !gone.has(row)).map((n) => byNumber.get(n)));
  }
  return left;
}

function made(seed, rows) {
  const next = random(seed);
  const values = variants.map(() => []);
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

/** Count and per-column sums of a version, there and here. */
function sameSums(id, version, columns, chunks) {
  const [chrom, pos, variant, qual, info] = columns.map((_, i) => chunks.flatMap((c) => c[i]));
  const [found] = run(
    `select count() n, uniqExact(_id) ids, uniqExact(_commit) commits, sum(length(chrom)) chroms,
      sum(pos) poss, sum(length(variant)) letters, uniqExact(variant) variants,
      round(sum(qual), 2) qualsum, count(qual) quals, sum(tupleElement(info, 'AC')) ac,
      uniqExact(tupleElement(info, 'gene')) genes, countIf(endsWith(variant, 'T')) t
     from ${table(id)} settings delta_lake_snapshot_version = ${version}`,
  );
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const present = (values) => values.filter((value) => value !== null);
  assert.deepEqual(Object.fromEntries(Object.entries(found).map(([k, v]) => [k, Number(v)])), {
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

/** Every value as JSON text that loses nothing, in the order of the records. */
function select(id, columns) {
  const list = columns.map((c) => `toJSONString(${c.physical}) as ${c.physical}_`).join(', ');
  return run(`select ${list} from ${table(id)} order by _id`);
}

/** The same from the values that were written. */
function shown(columns, rows) {
  return rows.map((row) =>
    Object.fromEntries(columns.map((c, i) => [`${c.physical}_`, json(c, row[i])])),
  );
}

/** ClickHouse's arrays and tuples cannot be null themselves: it shows an empty array, and a tuple of nulls. */
function json(column, value) {
  if (column.isList) {
    const items = (value ?? []).map((item) => json({ ...column, isList: false }, item) ?? 'null');
    return `[${items.join(',')}]`;
  }
  if (column.type === 'object') {
    const members = column.children.map((child) => {
      const member = json(child, value?.[child.physical] ?? null);
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
