import { Controller, Req } from '@nestjs/common';
import { requireUserItself, viewerOf } from '../../../engine/catalog/access.js';
import { clientSecretOf, type ApplicationRow } from '../../../engine/catalog/applications.js';
import {
  recordAudit,
  auditDifferences,
  type AuditSubject,
} from '../../../engine/catalog/audit-log.js';
import type { NewResource, SavedResourceFilter } from '../../../engine/catalog/saved-resource.js';
import { notFoundError } from '../../../engine/core/errors.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { crudController } from '../../http/crud.js';
import { idParam, omitUndefined, firstParamValue, paramValues } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import { crudOperations, declareOperations } from '../../http/operation-row.js';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import { presenterFor, type Presenter } from '../shared/presenter.js';
import { application, applicationSecret, type ApplicationContext } from './application.js';

export const applicationOperations = crudOperations('applications', {
  tag: 'Applications',
  path: '/v2/applications',
  noun: 'an application',
  resource: application,
  query: {
    name: 'Exact name.',
    q: { description: 'Part of the name or the description.', example: 'browser' },
    user_id: 'Id of the owner.',
    user: { sameAs: 'user_id' },
    tags: 'Applications with all of these tags.',
  },
  summaries: {
    create: 'Registers an application, whose secret GET /v2/applications/{client_id}/secret shows.',
    list: 'Lists the applications of the account, and public ones.',
    delete: 'Deletes an application, and all that users have granted it.',
  },
});

/** Applications (contract 18). They are visible to the users of their account, public ones to all users; only the owner may change one. */
export const ApplicationsController = crudController<
  'application',
  ApplicationContext,
  SavedResourceFilter
>({
  kind: 'application',
  operations: applicationOperations,
  declaration: application,
  table: ({ applications }) => applications,
  filter: (query, caller) => {
    const tags = paramValues(query, 'tags');
    return {
      viewer: viewerOf(caller),
      ...omitUndefined<SavedResourceFilter>({
        name: firstParamValue(query, 'name'),
        text: firstParamValue(query, 'q'),
        userId: idParam(query, 'user') ?? idParam(query, 'user_id'),
        tags: tags.length === 0 ? undefined : tags.flatMap((tag) => tag.split(',')),
      }),
    };
  },
  contexts: (context, request, rows) => {
    const presenter = presenterFor(context, request);
    return Promise.all(rows.map((row) => loadApplicationContext(row, presenter)));
  },
  create: ({ catalog }, { caller, form, values }) => {
    form.throwIfInvalid();
    requireUserItself(caller);
    const owner = { userId: caller.user.id, accountId: caller.account.id };
    const newApplication = {
      ...(values as NewResource<ApplicationRow>),
      ...owner,
      isShared: true,
      secretVersion: 1,
    };
    return catalog.transaction(async (tx) => {
      const row = await tx.applications.create(newApplication);
      await recordAudit(tx, {
        actor: caller.user,
        action: 'application.create',
        subject: auditSubjectOf(row),
      });
      return row;
    });
  },
  update: async ({ catalog }, { caller: { user }, form, values }, { id }) => {
    form.throwIfInvalid();
    return catalog.transaction(async (tx) => {
      const previousRow = await tx.applications.get(id);
      const row = await tx.applications.update(id, values);
      if (previousRow === undefined || row === undefined) return undefined;
      const details = auditDifferences(previousRow, row, auditedFieldNames);
      const subject = auditSubjectOf(row);
      if (Object.keys(details).length > 0)
        await recordAudit(tx, { actor: user, action: 'application.update', subject, details });
      return row;
    });
  },
  delete: ({ catalog }, row, { user }) =>
    catalog.transaction(async (tx) => {
      await tx.applications.delete(row.id);
      await recordAudit(tx, {
        actor: user,
        action: 'application.delete',
        subject: auditSubjectOf(row),
      });
    }),
});

/** The properties whose changes are audited, with their names in the audit log. */
const auditedFieldNames = {
  name: 'name',
  redirectUris: 'redirect_uris',
  scopes: 'scopes',
  clientType: 'client_type',
  isPublic: 'is_public',
} as const;

export const applicationSecretOperations = declareOperations('applicationSecrets', 'Applications', {
  get: {
    method: 'GET',
    paths: ['/v2/applications/:id/secret'],
    summary: 'Returns the secret of an application; for its owner.',
    answer: applicationSecret.schema,
  },
  replace: {
    method: 'POST',
    paths: ['/v2/applications/:id/secret'],
    summary: 'Replaces the secret of an application; the one before is refused from then on.',
    answer: applicationSecret.schema,
  },
});

/** Shows and replaces the secrets of applications, for their owners. */
@Controller()
export class ApplicationSecretsController {
  constructor(private readonly context: AppContext) {}

  @Operation(applicationSecretOperations.get)
  @Access('read', 'application', 'write')
  get(@Resource() row: ApplicationRow, @Req() request: ApiRequest): Promise<object> {
    return this.#view(row, request);
  }

  @Operation(applicationSecretOperations.replace)
  @Access('write', 'application')
  async replace(
    @Resource() { id, secretVersion }: ApplicationRow,
    @CurrentCaller() { user }: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const patch = { secretVersion: secretVersion + 1 };
    const updatedRow = await this.context.catalog.transaction(async (tx) => {
      const row = await tx.applications.update(id, patch);
      if (row === undefined) throw notFoundError(); // the application was deleted meanwhile
      const subject = auditSubjectOf(row);
      await recordAudit(tx, { actor: user, action: 'application.replace_secret', subject });
      return row;
    });
    return this.#view(updatedRow, request);
  }

  async #view(row: ApplicationRow, request: ApiRequest): Promise<object> {
    const clientSecret = clientSecretOf(row, this.context.signingKey);
    return applicationSecret.view(row, {
      ...(await loadApplicationContext(row, presenterFor(this.context, request))),
      clientSecret,
    });
  }
}

async function loadApplicationContext(
  { userId }: ApplicationRow,
  presenter: Presenter,
): Promise<ApplicationContext> {
  return { user: await presenter.loadUser(userId), origin: presenter.origin };
}

function auditSubjectOf({ id, name, accountId }: ApplicationRow): AuditSubject {
  return { type: 'application', id, name, accountId };
}
