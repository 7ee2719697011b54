import { type DatasetField, fieldNameProblem } from '../core/dataset-field.js';
import { AppError, invalidError } from '../core/errors.js';
import { RowCache } from './cache.js';
import type { Database } from './database.js';
import { recordCreatedId } from './idempotency-keys.js';
import { nextSmallId } from './ids.js';
import { listPage, type AccessFilter, type ListedRows, type Page } from './list-page.js';
import { mayAccess } from './permission.js';
import { conjunctionOf, sql, type Sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

export interface FieldRow extends DatasetField {
  readonly id: number;
  readonly datasetId: number;
  readonly description: string;
  readonly expression: string | null;
  readonly isHidden: boolean;
  readonly isReadOnly: boolean;
  /**
   * True once a commit has added the column of the field. From then on, only later data can change the type of the field, by widening it.
   */
  readonly isValid: boolean;
  /** True if a user has declared the type, so that values must fit it. For other fields, values can widen the type. */
  readonly isDeclared: boolean;
  readonly dependsOn: readonly string[];
  readonly urlTemplate: string | null;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** A field to insert. Users may declare a field before or after it has data. */
export interface NewFieldRow extends Partial<
  Omit<FieldRow, 'id' | 'datasetId' | 'name' | 'createdAt' | 'updatedAt'>
> {
  readonly datasetId: number;
  readonly name: string;
}

export type FieldPatch = Partial<Omit<FieldRow, 'id' | 'datasetId' | 'createdAt' | 'updatedAt'>>;

export interface FieldFilter extends AccessFilter {
  readonly datasetId?: number;
  readonly name?: string;
}

interface FieldTable {
  get(id: number): Promise<FieldRow | undefined>;
  /** Lists the fields, ordered by `ordering` (fields without it last), then by name. */
  list(filter: FieldFilter, page: Page): Promise<ListedRows<FieldRow>>;
  /** All fields of one dataset, in the order of `list`. */
  all(datasetId: number): Promise<readonly FieldRow[]>;
  /** Creates a field of a user; throws if its name is not allowed or taken. */
  create(field: NewFieldRow): Promise<FieldRow>;
  /** Creates a field whose name is not checked: `_commit`, a field found in data, or one that the request of a commit declares. */
  createInternal(field: NewFieldRow, now?: number): Promise<FieldRow>;
  /** Changes a field; whether its name and type may change is not checked. */
  update(id: number, patch: FieldPatch, now?: number): Promise<FieldRow | undefined>;
  /** Deletes a field; throws if the dataset has a commit. */
  delete(id: number): Promise<void>;
}

const fields = tableCodec<FieldRow>(
  'fields',
  {
    id: 'plain',
    datasetId: 'plain',
    name: 'plain',
    path: 'json',
    title: 'plain',
    description: 'plain',
    dataType: 'plain',
    isList: 'flag',
    entityType: 'plain',
    expression: 'plain',
    isHidden: 'flag',
    isReadOnly: 'flag',
    isValid: 'flag',
    isDeclared: 'flag',
    ordering: 'plain',
    dependsOn: 'json',
    urlTemplate: 'plain',
    createdAt: 'plain',
    updatedAt: 'plain',
  },
  {},
);

const orderBy = sql`CASE WHEN fields.ordering IS NULL THEN 1 ELSE 0 END, fields.ordering, fields.name, fields.id`;

/** Returns access to the table of fields. */
export function fieldTable(db: Database): FieldTable {
  // The cache exists because every query needs the fields; reading them from the database took a third of the time that a query spends
  // outside the room engine/query.
  const cache = new RowCache<number, readonly FieldRow[]>(db, 200);
  const get = async (id: number): Promise<FieldRow | undefined> => {
    const row = await db.get(sql`SELECT ${fields.columns} FROM fields WHERE id = ${id}`);
    return row && fields.parse(row);
  };
  const createInternal = async (field: NewFieldRow, now = Date.now()): Promise<FieldRow> => {
    const row: FieldRow = {
      id: await nextSmallId(db, 'field'),
      datasetId: field.datasetId,
      name: field.name,
      path: field.path ?? [field.name],
      title: field.title ?? field.name,
      description: field.description ?? '',
      dataType: field.dataType ?? 'auto',
      isList: field.isList ?? null,
      entityType: field.entityType ?? null,
      expression: field.expression ?? null,
      isHidden: field.isHidden ?? false,
      isReadOnly: field.isReadOnly ?? false,
      isValid: field.isValid ?? false,
      isDeclared: field.isDeclared ?? (field.isValid !== true && isTyped(field)),
      ordering: field.ordering ?? null,
      dependsOn: field.dependsOn ?? [],
      urlTemplate: field.urlTemplate ?? null,
      createdAt: now,
      updatedAt: now,
    };
    await db.run(fields.insert(row));
    return row;
  };
  const update = async (
    id: number,
    patch: FieldPatch,
    now = Date.now(),
  ): Promise<FieldRow | undefined> => {
    const declaredPatch = patch.isValid !== true && isTyped(patch) && { isDeclared: true };
    const change = fields.update(id, { ...declaredPatch, ...patch, updatedAt: now });
    if (change !== undefined) await db.run(change);
    return get(id);
  };
  return {
    get,
    createInternal,
    list: async (filter, page) =>
      listPage(
        db,
        fields,
        {
          from: sql`fields JOIN objects ON objects.id = fields.dataset_id
            JOIN vaults ON vaults.id = objects.vault_id`,
          where: conjunctionOf(fieldConditions(filter)),
          orderBy,
        },
        page,
      ),
    all: async (datasetId) => {
      const rows = await cache.get(datasetId, async () => {
        const rows = await db.all(
          sql`SELECT ${fields.columns} FROM fields WHERE fields.dataset_id = ${datasetId} ORDER BY ${orderBy}`,
        );
        return rows.map((row) => fields.parse(row));
      });
      return rows ?? [];
    },
    create: (field) =>
      db.atomic(async (tx) => {
        const problem = fieldNameProblem(field.name);
        if (problem !== null) throw invalidError('name', problem);
        const fieldWithName = await tx.get(
          sql`SELECT id FROM fields WHERE dataset_id = ${field.datasetId} AND name = ${field.name}`,
        );
        if (fieldWithName !== undefined) {
          throw invalidError('name', `A field named ${JSON.stringify(field.name)} exists already.`);
        }
        const row = await fieldTable(tx).createInternal(field);
        await recordCreatedId(tx, row.id);
        return row;
      }),
    update,
    delete: async (id) => {
      const usingDataset = await db.get(sql`SELECT datasets.id FROM datasets
        JOIN fields ON fields.dataset_id = datasets.id
        WHERE fields.id = ${id} AND datasets.log_version >= 0`);
      if (usingDataset !== undefined) {
        throw new AppError('invalid', 'A field can be deleted only while its dataset is empty.');
      }
      await db.run(sql`DELETE FROM fields WHERE id = ${id}`);
    },
  };
}

function isTyped({ dataType }: Partial<Pick<FieldRow, 'dataType'>>): boolean {
  return dataType !== undefined && dataType !== 'auto';
}

function fieldConditions(filter: FieldFilter): Sql[] {
  const clauses: Sql[] = [mayAccess(filter.viewer)];
  if (filter.datasetId !== undefined) clauses.push(sql`fields.dataset_id = ${filter.datasetId}`);
  if (filter.name !== undefined) clauses.push(sql`fields.name = ${filter.name}`);
  return clauses;
}
