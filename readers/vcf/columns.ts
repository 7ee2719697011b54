import type { NewField } from '../../engine/core/dataset-field.js';
import { AppError, invalidError } from '../../engine/core/errors.js';
import type { Column, Columns, StoredType } from '../../engine/core/types.js';
import { coordinatesColumn } from '../coordinates.js';
import type { VcfParams } from './vcf-params.js';
import type { KeyDefinition, VcfHeader } from './vcf-header.js';
import { symbolsFieldName } from './known-sources.js';

/** Returns the columns of VCF records, those of the fixed fields and those that the header declares, in order (contract 10.6). */
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
    const subfieldsByKey = subfieldsByAnnotationKey(header, params);
    columns.push(
      objectColumn(
        'info',
        header.info.flatMap((definition) => {
          const column = infoColumn(definition, subfieldsByKey.get(definition.id));
          if (
            params.explodes &&
            definition.id === params.annotationsKey &&
            column.type !== 'boolean'
          )
            return [{ ...column, isList: false }];
          const interpretation = header.meanings.find(({ id }) => id === definition.id);
          if (interpretation === undefined || column.children) return [column];
          const symbolsColumn = {
            ...scalarColumn(symbolsFieldName(definition.id), 'string'),
            isList: true,
          };
          return [
            interpretation.separator === undefined ? column : { ...column, isList: true },
            ...(interpretation.symbolTerminator === undefined ? [] : [symbolsColumn]),
          ];
        }),
      ),
    );
  }
  if (header.samples.length > 0) {
    const formatColumns = header.format.map((one) => columnOfDefinition(one));
    const { sampleKey } = params;
    // Without declared INFO keys, the column `info` is created at the first key of a record.
    if (sampleKey === 'info' || columns.some((column) => column.name === sampleKey))
      throw invalidError(
        'reader_params',
        `sample_key: "${sampleKey}" is the name of another column of a VCF record`,
      );
    const nameColumn = scalarColumn('name', 'string');
    columns.push({
      ...objectColumn(sampleKey, [
        nameColumn,
        ...formatColumns.filter((one) => one.name !== 'name'),
      ]),
      isList: true,
    });
  }
  return withPhysicalNames(columns);
}

/** Returns the descriptions that a VCF header gives its fields, and the entity types of `variant` and of the fields of gene symbols. */
export function declaredFields(header: VcfHeader, params: VcfParams): readonly Partial<NewField>[] {
  const fieldsOf = (root: string, definitions: readonly KeyDefinition[]) =>
    definitions
      .filter((one) => one.description !== '')
      .map((one) => ({
        name: `${root}.${one.id}`,
        path: [root, one.id],
        description: one.description,
      }));
  return [
    { name: 'variant', path: ['variant'], entityType: 'variant' },
    ...fieldsOf('info', header.info),
    ...header.meanings.flatMap(({ id, genesPath }) => {
      if (genesPath === undefined) return [];
      const path = ['info', ...genesPath];
      const description = `The gene symbols of ${id}`;
      return [{ name: path.join('.'), path, entityType: 'gene' as const, description }];
    }),
    ...(header.samples.length > 0 ? fieldsOf(params.sampleKey, header.format) : []),
  ];
}

/** Returns, for each annotation key whose description in the header lists several subfields, their names. */
export function subfieldsByAnnotationKey(
  header: VcfHeader,
  params: VcfParams,
): ReadonlyMap<string, readonly string[]> {
  const annotationKeys = new Set([params.annotationsKey, 'ANN', 'CSQ', 'vep', 'EFF']);
  const subfieldsByKey = new Map<string, readonly string[]>();
  for (const { id, description } of header.info) {
    if (!annotationKeys.has(id)) continue;
    const names = subfieldNames(description);
    if (names.length > 1) subfieldsByKey.set(id, names);
  }
  return subfieldsByKey;
}

/**
 * Returns the names between the bars in `Functional annotations: 'Allele | Annotation | …'` (SnpEff) or `… Format: Allele|Consequence|…`
 * (VEP), with `.` and `/` replaced by `_` and without spaces (contract 10.6); an empty or repeated name becomes `field_<n>`. SnpEff before
 * 4.1 writes descriptions as `Format: 'Effect ( Effect_Impact | … [ | ERRORS ] )'`, and its values in the same form.
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

/** The subfields that are stored as lists; `&` separates their values. */
const listSubfields = new Set(['Annotation', 'Consequence']);

function infoColumn(definition: KeyDefinition, subfields: readonly string[] | undefined): Column {
  if (subfields === undefined) return columnOfDefinition(definition);
  const children = subfields.map((name) => ({
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
export function refuseObjectColumns(
  headerColumns: Columns,
  columns: Columns,
  pathPrefix = '',
): void {
  for (const [i, { name, type, children }] of columns.entries()) {
    const headerColumn = headerColumns[i]!;
    if (type === 'object' && headerColumn.type !== 'object')
      throw typeConflictError(`${pathPrefix}${name}`, type, headerColumn.type);
    if (type === 'object')
      refuseObjectColumns(headerColumn.children ?? [], children ?? [], `${pathPrefix}${name}.`);
  }
}

/** Returns the columns, with the integers at the dotted paths `widenedPaths` as doubles. */
export function widenIntegerColumns(
  columns: Columns,
  widenedPaths: ReadonlySet<string>,
  pathPrefix = '',
): Columns {
  if (widenedPaths.size === 0) return columns;
  return columns.map((column) => {
    const path = `${pathPrefix}${column.name}`;
    if (column.children)
      return {
        ...column,
        children: widenIntegerColumns(column.children, widenedPaths, `${path}.`),
      };
    return widenedPaths.has(path) ? { ...column, type: 'double' } : column;
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
  const [wantedType, wantsList] = coreFieldTypes[name]!;
  const isLongerText = wantedType === 'string' && (type === 'text' || type === 'blob');
  if ((type !== wantedType && !isLongerText) || isList !== wantsList)
    throw typeConflictError(
      name,
      describeType({ type, isList }),
      describeType({ type: wantedType, isList: wantsList }),
    );
}

/** Returns the description of a type for messages. */
export function describeType({ type, isList }: { type: string; isList: boolean }): string {
  return isList ? `list of ${type}` : type;
}

/** Returns the error for a field whose type in the dataset cannot store the values of VCF records. */
export function typeConflictError(name: string, datasetType: string, neededType: string): AppError {
  return new AppError(
    'invalid',
    `field ${name} is of type ${datasetType} in this dataset, a VCF record needs ${neededType}: import into another dataset`,
    {
      dataset_id: [`Field ${name} is of type ${datasetType}, a VCF record needs ${neededType}`],
    },
  );
}
