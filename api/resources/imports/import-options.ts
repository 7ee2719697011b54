import type { JsonObject } from '../../../engine/core/types.js';
import type { CommitMode } from '../../../engine/catalog/commits.js';
import type { NewImport } from '../../../engine/catalog/imports.js';
import { entityParams } from './entity-params.js';
import { fieldNew } from '../fields/field-shape.js';
import { Form, readBoolean } from '../../http/form.js';
import { omitUndefined } from '../shape.js';

/** How an import is to run, apart from where its records come from and go to. */
export type ImportOptions = Pick<
  NewImport,
  | 'commitMode'
  | 'targetFields'
  | 'description'
  | 'entityParams'
  | 'readerParams'
  | 'validationParams'
  | 'annotatorParams'
  | 'includeErrors'
  | 'genomeBuild'
  | 'priority'
  | 'isDryRun'
  | 'tags'
>;

/** Reads the options of an import request; all are optional, and null means not given (contract 10.2). */
export function importOptions(form: Form): ImportOptions {
  return omitUndefined<ImportOptions>({
    commitMode: commitMode(form),
    targetFields: targetFields(form),
    description: form.text('description'),
    entityParams: entityParams(form),
    readerParams: form.object('reader_params'),
    validationParams: flags(form, 'validation_params'),
    annotatorParams: annotatorParams(form),
    includeErrors: form.boolean('include_errors'),
    genomeBuild: genomeBuild(form),
    priority: priority(form),
    isDryRun: form.boolean('dry_run'),
    tags: form.textList('tags'),
  });
}

/** Task priorities: a lower number runs first. */
export function priority(form: Form): number | undefined {
  const number = form.integer('priority');
  if (number === undefined || Math.abs(number) <= 1_000_000) return number;
  return form.fail('priority', 'Must be between -1,000,000 and 1,000,000.');
}

function commitMode(form: Form): CommitMode | undefined {
  const mode = form.choice<CommitMode>('commit_mode', ['append', 'overwrite', 'upsert', 'delete']);
  if (mode === undefined || mode === 'append') return mode;
  return form.fail('commit_mode', `Commit mode "${mode}" is not available yet; use "append".`);
}

/** The fields to create, each with the keys that the interface knows. */
function targetFields(form: Form): readonly JsonObject[] | undefined {
  return form.objectList('target_fields')?.map((definition, index) => {
    const own = new Form(definition);
    const field = fieldNew(own);
    const isTransient = own.boolean('is_transient');
    if (field.expression) own.fail('expression', 'Expressions are not available yet.');
    try {
      own.done();
    } catch (error) {
      const { fields } = error as { fields: Readonly<Record<string, readonly string[]>> };
      for (const [key, messages] of Object.entries(fields)) {
        const name = JSON.stringify(field.name.slice(0, 100));
        form.fail('target_fields', `Field ${index + 1} ${name}, ${key}: ${messages.join(' ')}`);
      }
    }
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

/** An object of switches: what is not a boolean is named. */
export function flags(form: Form, key: string): JsonObject | undefined {
  const given = form.object(key);
  if (!given) return undefined;
  const read = new Map<string, boolean>();
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined) continue;
    const flag = readBoolean(value);
    if (flag !== undefined) read.set(name, flag);
    else form.fail(key, `${JSON.stringify(name.slice(0, 100))} must be a boolean.`);
  }
  return Object.fromEntries(read);
}

function annotatorParams(form: Form): JsonObject | undefined {
  const params = form.object('annotator_params');
  for (const key of ['pre_annotation_expression', 'post_annotation_expression']) {
    if (params?.[key]) form.fail('annotator_params', `"${key}" is not available yet.`);
  }
  return params;
}

function genomeBuild(form: Form): string | undefined {
  const text = form.text('genome_build');
  if (text === undefined || text === '') return undefined;
  const builds = new Map([
    ['GRCH37', 'GRCh37'],
    ['GRCH38', 'GRCh38'],
  ]);
  return builds.get(text.toUpperCase()) ?? form.fail('genome_build', 'Must be GRCh37 or GRCh38.');
}
