import type { NewField } from '../../engine/core/dataset-field.js';
import { AppError, invalidError } from '../../engine/core/errors.js';
import type { Column, Columns, StoredType } from '../../engine/core/types.js';
import { coordinatesColumn } from '../coordinates.js';
import type { VcfParams } from './vcf-params.js';
import type { KeyDefinition, VcfHeader } from './vcf-header.js';
import { symbolsFieldName } from './known-sources.js';

/** Returns the columns that a header declares, in the order of the record (contract 10.6). */
export function declaredColumns(header: VcfHeader, params: VcfParams): Columns {
  const columns: Column[] = [
    coordinatesColumn,
    scalarColumn('variant', 'string'),
    scalarColumn('allele', 'string'),
    scalarColumn('row_id', 'string'),
    scalarColumn('reference_allele', 'string'),
    { ...scalarColumn('alternate_alleles', 'string'), isList: true },
    scalarColumn('qual', 'double'),
    { ...scalarColumn('filter', 'string'), isList: true },
  ];
  if (header.info.length > 0) {
    const keys = subfieldsByAnnotationKey(header, params);
    columns.push(
      objectColumn(
        'info',
        header.info.flatMap((one) => {
          const column = infoColumn(one, keys.get(one.id));
          if (params.explodes && one.id === params.annotationsKey && column.type !== 'boolean')
            return [{ ...column, isList: false }];
          const meaning = header.meanings.find(({ id }) => id === one.id);
          if (meaning === undefined || column.children) return [column];
          const symbols = { ...scalarColumn(symbolsFieldName(one.id), 'string'), isList: true };
          return [
            meaning.separator === undefined ? column : { ...column, isList: true },
            ...(meaning.symbolTerminator === undefined ? [] : [symbols]),
          ];
        }),
      ),
    );
  }
  if (header.samples.length > 0) {
    const format = header.format.map((one) => columnOfDefinition(one));
    const key = params.sampleKey;
    // Without declared INFO keys, the column `info` is created at the first key of a record.
    if (key === 'info' || columns.some((column) => column.name === key))
      throw invalidError(
        'reader_params',
        `sample_key: "${key}" is the name of another column of a VCF record`,
      );
    const name = scalarColumn('name', 'string');
    columns.push({
      ...objectColumn(key, [name, ...format.filter((one) => one.name !== 'name')]),
      isList: true,
    });
  }
  return withPhysicalNames(columns);
}

/** Returns the descriptions that a VCF header gives its fields, and the entity types of `variant` and of the fields of gene symbols. */
export function declaredFields(header: VcfHeader, params: VcfParams): readonly Partial<NewField>[] {
  const definitionsOf = (root: string, definitions: readonly KeyDefinition[]) =>
    definitions
      .filter((one) => one.description !== '')
      .map((one) => ({
        name: `${root}.${one.id}`,
        path: [root, one.id],
        description: one.description,
      }));
  return [
    { name: 'variant', path: ['variant'], entityType: 'variant' },
    ...definitionsOf('info', header.info),
    ...header.meanings.flatMap(({ id, genes }) => {
      if (genes === undefined) return [];
      const path = ['info', ...genes];
      const description = `The gene symbols of ${id}`;
      return [{ name: path.join('.'), path, entityType: 'gene' as const, description }];
    }),
    ...(header.samples.length > 0 ? definitionsOf(params.sampleKey, header.format) : []),
  ];
}

/** Returns the names of the subfields of each annotation key, from the key's description in the header. */
export function subfieldsByAnnotationKey(
  header: VcfHeader,
  params: VcfParams,
): ReadonlyMap<string, readonly string[]> {
  const annotationKeys = new Set([params.annotationsKey, 'ANN', 'CSQ', 'vep', 'EFF']);
  const keys = new Map<string, readonly string[]>();
  for (const { id, description } of header.info) {
    if (!annotationKeys.has(id)) continue;
    const names = subfieldNames(description);
    if (names.length > 1) keys.set(id, names);
  }
  return keys;
}

/**
 * Returns the names between the bars in `Functional annotations: 'Allele | Annotation | …'` (SnpEff) or `… Format: Allele|Consequence|…`
 * (VEP), with `.` and `/` replaced by `_` and without spaces (contract 10.6). SnpEff before 4.1 writes descriptions as `Format: 'Effect (
 * Effect_Impact | … [ | ERRORS ] )'`, and its values in the same form.
 */
function subfieldNames(description: string): string[] {
  const quotedList = /'([^']*\|[^']*)'/.exec(description)?.[1];
  const keyList = quotedList ?? /Format:\s*(\S[^"]*\|[^"]*)/i.exec(description)?.[1];
  if (keyList === undefined) return [];
  const plainList = /^\s*Effect\s*\(/.test(keyList)
    ? keyList.replace('(', '|').replaceAll(/[[\]()]/g, '')
    : keyList;
  const names = plainList
    .split('|')
    .map((name) => name.replaceAll(/[./]/g, '_').replaceAll(/\s/g, ''));
  return names.map((name, i) => (name === '' || names.indexOf(name) < i ? `field_${i + 1}` : name));
}

/** Subfields whose values are lists joined with `&`. */
const listSubfields = new Set(['Annotation', 'Consequence']);

function infoColumn(definition: KeyDefinition, parts: readonly string[] | undefined): Column {
  if (parts === undefined) return columnOfDefinition(definition);
  const children = parts.map((name) => ({
    ...scalarColumn(name, 'string'),
    isList: listSubfields.has(name),
  }));
  return { ...objectColumn(definition.id, children), isList: true };
}

const storedTypes: Readonly<Record<KeyDefinition['type'], StoredType>> = {
  Integer: 'integer',
  Float: 'double',
  Flag: 'boolean',
  Character: 'string',
  String: 'string',
};

function columnOfDefinition({ id, number, type }: KeyDefinition): Column {
  const isList = type !== 'Flag' && number !== '1' && number !== '0';
  return { ...scalarColumn(id, type === 'Flag' ? 'boolean' : storedTypes[type]), isList };
}

function scalarColumn(name: string, type: StoredType): Column {
  return { name, physical: name, type, isList: false };
}

function objectColumn(name: string, children: Columns): Column {
  return { name, physical: name, type: 'object', isList: false, children };
}

/** Returns the columns with physical names that differ in more than letter case. */
function withPhysicalNames(columns: Columns): Columns {
  const takenNames = new Set<string>();
  return columns.map((column) => ({
    ...column,
    physical: uniquePhysicalName(column.name, takenNames),
    ...(column.children && { children: withPhysicalNames(column.children) }),
  }));
}

/** Returns a physical name for `name` that is not in `usedNames`, and adds it. `usedNames` contains the names in use in lower case. */
export function uniquePhysicalName(name: string, usedNames: Set<string>): string {
  let physical = name === '' ? '~1' : name;
  for (let n = 2; usedNames.has(physical.toLowerCase()); n++) physical = `${name}~${n}`;
  usedNames.add(physical.toLowerCase());
  return physical;
}

/** Throws if the dataset has objects for a field that has plain values in the VCF file. */
export function refuseObjectColumns(declared: Columns, columns: Columns, at = ''): void {
  for (const [i, { name, type, children }] of columns.entries()) {
    const declaredType = declared[i]!;
    if (type === 'object' && declaredType.type !== 'object')
      throw typeConflictError(`${at}${name}`, type, declaredType.type);
    if (type === 'object')
      refuseObjectColumns(declaredType.children ?? [], children ?? [], `${at}${name}.`);
  }
}

/** Returns the columns, with the integers at the dotted paths `widened` as doubles. */
export function widenIntegerColumns(
  columns: Columns,
  widened: ReadonlySet<string>,
  at = '',
): Columns {
  if (widened.size === 0) return columns;
  return columns.map((column) => {
    const path = `${at}${column.name}`;
    if (column.children)
      return { ...column, children: widenIntegerColumns(column.children, widened, `${path}.`) };
    return widened.has(path) ? { ...column, type: 'double' } : column;
  });
}

/** The types of the fields that the reader derives from the fixed columns of VCF, and whether they are lists. */
const coreFieldTypes: Readonly<Record<string, readonly [string, boolean]>> = {
  genomic_coordinates: ['object', false],
  variant: ['string', false],
  allele: ['string', false],
  row_id: ['string', false],
  reference_allele: ['string', false],
  alternate_alleles: ['string', true],
  qual: ['double', false],
  filter: ['string', true],
};

/** Throws if the dataset has a field that the reader derives from the fixed columns of VCF with a type that cannot store its values. */
export function checkCoreFieldType(name: string, type: string, isList: boolean): void {
  const [wanted, wantsList] = coreFieldTypes[name]!;
  const isText = wanted === 'string' && (type === 'text' || type === 'blob');
  if ((type !== wanted && !isText) || isList !== wantsList)
    throw typeConflictError(
      name,
      describeType({ type, isList }),
      describeType({ type: wanted, isList: wantsList }),
    );
}

/** Returns the description of a type for messages. */
export function describeType({ type, isList }: { type: string; isList: boolean }): string {
  return isList ? `list of ${type}` : type;
}

/** Returns the error for a field whose type in the dataset cannot store the values of VCF records. */
export function typeConflictError(name: string, found: string, wanted: string): AppError {
  return new AppError(
    'invalid',
    `field ${name} is of type ${found} in this dataset, a VCF record needs ${wanted}: import into another dataset`,
    {
      dataset_id: [`Field ${name} is of type ${found}, a VCF record needs ${wanted}`],
    },
  );
}
