import type { CommitMode } from '../../../engine/catalog/commits.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import {
  genomeBuildNamed,
  knownBuildsText,
  buildSuggestionText,
} from '../../../engine/core/build-names.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { Form } from '../../http/form.js';
import { omitUndefined } from '../../http/list-query.js';
import { readFieldDefinition } from '../fields/read-field.js';

/*
 * Reads and checks the options of an import request (contract 10.2). Errors are added to the form; a function that reads an option returns
 * undefined if the option is absent or invalid.
 */

/** Reads the names of the fields that identify records; returns undefined if records are identified by their `_id`. */
export function readIdFields(form: Form, key: string): readonly string[] | null | undefined {
  const names = form.textList(key);
  if (names === undefined || names.length === 0) return undefined;
  if (names.length > maxIdFields)
    return form.fail(key, `At most ${maxIdFields} fields can be a key, not ${names.length}.`);
  if (new Set(names).size < names.length) return form.fail(key, 'A field is named twice.');
  if (names.includes('_id'))
    return names.length === 1
      ? undefined
      : form.fail(key, 'Name "_id" alone or other fields; an _id is unique by itself.');
  return names;
}

const maxIdFields = 16;

/**
 * Adds an error to the form if the request has `id_fields` but its commit mode only adds records, or if it has expressions over whole
 * records but deletes records by `_id`, so that no other field is read.
 */
export function checkCommitMode(
  form: Form,
  { commitMode, idFields, annotatorParams }: { readonly commitMode?: CommitMode | undefined; readonly idFields?: readonly string[] | null | undefined; readonly annotatorParams?: JsonObject | null | undefined }, // prettier-ignore
): void {
  if (idFields && (commitMode ?? 'append') === 'append')
    form.fail('id_fields', 'Only with commit_mode overwrite, upsert or delete: append adds all records.'); // prettier-ignore
  if (commitMode !== 'delete' || idFields) return;
  const sourceText = form.raw('template_id') === undefined ? '' : ' of the request or its template';
  for (const key of ['pre_annotation_expression', 'post_annotation_expression'])
    if (annotatorParams?.[key])
      form.fail(
        'annotator_params',
        `${key}${sourceText}: Not with commit_mode delete by _id, which reads no other field: select the records by a query (a migration with source_params.filters), or delete by id_fields.`,
      );
}

/** Reads definitions of fields; the result has no expressions and no unknown keys. */
export function readTargetFields(form: Form, key: string): readonly JsonObject[] | undefined {
  return form.objectList(key)?.map((definition, index) => {
    const fieldForm = new Form(definition);
    const field = readFieldDefinition(fieldForm);
    const isTransient = fieldForm.boolean('is_transient');
    const label = `Field ${index + 1} ${JSON.stringify(field.name.slice(0, 100))}`;
    form.collectErrorsOfPart(key, fieldForm, (name, messages) => `${label}, ${name}: ${messages}`);
    return omitUndefined<JsonObject>({
      name: field.name,
      title: field.title,
      description: field.description,
      data_type: field.dataType,
      entity_type: field.entityType,
      is_hidden: field.isHidden,
      is_list: field.isList,
      is_transient: isTransient,
      ordering: field.ordering,
      depends_on: field.dependsOn,
      url_template: field.urlTemplate,
    });
  });
}

/**
 * Adds an error to the form for each repeated name, and for each target field that would change the type of a field of the dataset, unless
 * that is `auto`, or, once the field holds data, make it a list, no list or transient. The other properties of the target field replace
 * those of the dataset's field.
 */
export function checkTargetFields(
  form: Form,
  targetFields: readonly JsonObject[],
  fields: readonly FieldRow[],
): void {
  const fieldsByName = new Map(fields.map((field) => [field.name, field]));
  const names = new Set<unknown>();
  for (const [index, target] of targetFields.entries()) {
    const { name, data_type: type, is_list: isList, is_transient: isTransient } = target;
    const fail = (message: string): undefined =>
      form.fail(
        'target_fields',
        `Field ${index + 1} ${JSON.stringify(String(name).slice(0, 100))}, ${message}`,
      );
    if (names.has(name)) fail('name: The name is given twice.');
    names.add(name);
    const field = fieldsByName.get(String(name));
    if (field === undefined) continue;
    if (typeof type === 'string' && !['auto', field.dataType].includes(type)) {
      if (field.dataType !== 'auto')
        fail(
          `data_type: The field is of type ${field.dataType} in this dataset. Choose another name, or migrate the dataset into a new one, in which the field has the other type.`,
        );
    }
    if (typeof isList === 'boolean' && isList !== (field.isList ?? false) && field.isValid) {
      fail(`is_list: The field is ${field.isList ? 'a' : 'no'} list in this dataset.`);
    }
    if (isTransient === true && field.isValid) {
      fail('is_transient: The field is stored in this dataset.');
    }
  }
}

export function readGenomeBuild(form: Form, key: string): string | undefined {
  const build = form.text(key);
  if (build === undefined || build === '') return undefined;
  return (
    genomeBuildNamed(build) ??
    form.fail(key, `Must be ${knownBuildsText}.${buildSuggestionText(build)}`)
  );
}
