import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import { requirePermission as requireAccess } from '../../../engine/catalog/access.js';
import type { TemplateRow } from '../../../engine/catalog/templates.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { AppError } from '../../../engine/core/errors.js';
import type { Form } from '../../http/form.js';
import type { Caller } from '../../http/api-request.js';
import { id, nullable } from '../../http/json-schema.js';

/** The key of a request that names a template. */
export const templateIdField = {
  type: nullable(id),
  lookup: true,
  description: 'A template: its fields and parameters apply where the request gives none of its own.', // prettier-ignore
  example: null,
  create: 'optional',
  show: null,
} as const;

/** Returns the template that a request names, if any. If it is missing, or the caller may not read it, a mistake is noted in the form. */
export async function readTemplate(
  tables: Tables,
  caller: Caller,
  form: Form,
): Promise<TemplateRow | undefined> {
  if ((form.raw('template_id') ?? '') === '') return undefined;
  const templateId = form.id('template_id', 'Must be the id of a template.');
  if (templateId === undefined) return undefined;
  try {
    return await requireAccess(tables, caller, 'template', templateId, 'read');
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not-found') throw error;
    return form.fail('template_id', `There is no template ${templateId}.`);
  }
}

/** Returns the fields of the template that the request does not define, followed by those of the request. */
export function withTemplateFields(
  template: TemplateRow | undefined,
  requestFields: readonly JsonObject[],
): readonly JsonObject[] {
  const names = new Set(requestFields.map(({ name }) => name));
  return [...(template?.fields ?? []).filter(({ name }) => !names.has(name)), ...requestFields];
}
