import { viewerOf } from '../../../engine/catalog/access.js';
import type { SavedResourceFilter } from '../../../engine/catalog/saved-resource.js';
import { crudController } from '../../http/crud.js';
import { readBoolean, type Form } from '../../http/form.js';
import { omitUndefined, firstParamValue, paramValues } from '../../http/list-query.js';
import { crudOperations } from '../../http/operation-row.js';
import type { QueryParams } from '../../http/page.js';
import type { Caller } from '../../http/api-request.js';
import { presenterFor } from '../shared/presenter.js';
import { template, type TemplateContext } from './template.js';

export const templateOperations = crudOperations('templates', {
  tag: 'Templates',
  path: '/v2/dataset_templates',
  noun: 'a template',
  resource: template,
  query: {
    name: 'Exact name.',
    template_type: 'Such as dataset.',
    is_public: 'true or false.',
    tags: 'Templates with all of these tags.',
  },
  summaries: {
    create: 'Saves a template of datasets and imports.',
    list: "Lists the user's own templates, those of the account, and public ones.",
  },
});

/** Templates (contract 13). */
export const TemplatesController = crudController<'template', TemplateContext, SavedResourceFilter>(
  {
    kind: 'template',
    operations: templateOperations,
    declaration: template,
    table: ({ templates }) => templates,
    filter: templateFilter,
    contexts: (context, request, rows) => {
      const presenter = presenterFor(context, request);
      return Promise.all(
        rows.map(async ({ userId }) => ({
          user: await presenter.loadUser(userId),
          origin: request.origin,
        })),
      );
    },
    resolve: (_context, caller, form, _values, row) =>
      Promise.resolve({ isShared: readIsShared(form, caller) ?? row?.isShared ?? true }),
    delete: (context, { id }) => context.catalog.templates.delete(id),
  },
);

/** Returns whether `account_id` shares the template with the account; undefined if the request has no `account_id`. */
function readIsShared(form: Form, { account }: Caller): boolean | undefined {
  if (!form.has('account_id')) return undefined;
  const rawAccountId = form.raw('account_id') ?? '';
  if (rawAccountId === '') return false;
  if (Number(rawAccountId) !== account.id)
    form.fail('account_id', 'Must be null, for a private template, or the id of your account.');
  return true;
}

function templateFilter(query: QueryParams, caller: Caller): SavedResourceFilter {
  const isPublic = firstParamValue(query, 'is_public');
  const tags = paramValues(query, 'tags');
  return {
    viewer: viewerOf(caller),
    ...omitUndefined<SavedResourceFilter>({
      name: firstParamValue(query, 'name'),
      templateType: firstParamValue(query, 'template_type'),
      isPublic: isPublic === undefined ? undefined : (readBoolean(isPublic) ?? false),
      tags: tags.length === 0 ? undefined : tags.flatMap((tag) => tag.split(',')),
    }),
  };
}
