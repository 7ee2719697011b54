import type { Type } from '@nestjs/common';
import type { OperationRow } from '../http/operation-row.js';
import type { NamedSchema } from '../http/json-schema.js';
import { auditEntry } from './audit-log/audit-entry.js';
import { AuditLogController, auditLogOperations } from './audit-log/audit-log.controller.js';
import { group, groupSummary, groupVault } from './groups/group.js';
import { GroupsController, groupOperations } from './groups/groups.controller.js';
import {
  MembershipsController,
  groupVaultOperations,
  membershipOperations,
} from './groups/memberships.controller.js';
import { acceptanceBody, invitation } from './invitations/invitation.js';
import {
  InvitationsController,
  invitationOperations,
} from './invitations/invitations.controller.js';
import {
  restoreOperations,
  restoreTask,
  snapshotOperations,
  snapshotTask,
} from './archives/archive-task.js';
import { RestoresController, SnapshotsController } from './archives/archives.controller.js';
import { beacon, beaconSet } from './beacons/beacon.js';
import {
  BeaconQueriesController,
  beaconQueryOperations,
  beaconQuerySchemas,
  beaconSetQueryOperations,
} from './beacons/beacon-queries.controller.js';
import {
  BeaconSetsController,
  BeaconsController,
  beaconOperations,
  beaconSetOperations,
} from './beacons/beacons.controller.js';
import { commit } from './commits/commit.js';
import { rollbackBody, rollbackCheck } from './commits/rollback-check.js';
import { CommitsController } from './commits/commits.controller.js';
import {
  ChangelogController,
  changelogOperations,
  changelogSchemas,
} from './datasets/changelog.controller.js';
import {
  DatasetBeaconController,
  datasetBeaconOperations,
  datasetBeaconSchemas,
} from './datasets/dataset-beacon.controller.js';
import { dataset } from './shared/dataset.js';
import { DatasetsController } from './datasets/datasets.controller.js';
import { datasetOperations } from './datasets/datasets.operations.js';
import {
  DiskUseController,
  diskUseOperations,
  diskUseSchemas,
} from './datasets/disk-use.controller.js';
import { VerifyController, verifyOperations, verifySchemas } from './datasets/verify.controller.js';
import { DownloadsController } from './downloads/downloads.controller.js';
import { exportProvenance, exportResource } from './exports/export.js';
import { ExportsController } from './exports/exports.controller.js';
import { ExpressionsController } from './expressions/expressions.controller.js';
import { expressionOperations, expressionSchemas } from './expressions/expressions.operations.js';
import { field, fieldCreate, fieldUpdate, targetField } from './fields/field.js';
import { FieldsController } from './fields/fields.controller.js';
import { fieldFacets, fieldOperations } from './fields/fields.operations.js';
import {
  fileVersion,
  fileVersionOperations,
  restoreVersionBody,
} from './file-versions/file-version.js';
import { FileVersionsController } from './file-versions/file-versions.controller.js';
import { Ga4ghBeaconController } from './ga4gh-beacon/ga4gh-beacon.controller.js';
import {
  ga4ghBeaconOperations,
  ga4ghBeaconSchemas,
} from './ga4gh-beacon/ga4gh-beacon.operations.js';
import { globalBeacon } from './shared/global-beacon.js';
import {
  GlobalBeaconsController,
  globalBeaconOperations,
} from './global-beacons/global-beacons.controller.js';
import { importChangeBody, importResource } from './imports/import.js';
import { ImportsController } from './imports/imports.controller.js';
import { createdMigrationSchema, migrationResource } from './migrations/migration.js';
import { MigrationsController } from './migrations/migrations.controller.js';
import { objectCopy, objectCopyOperations } from './object-copies/object-copy.js';
import { ObjectCopiesController } from './object-copies/object-copies.controller.js';
import { object, objectSummary } from './shared/object.js';
import { ObjectsController } from './objects/objects.controller.js';
import {
  downloadOperations,
  signedDownload,
  uploadOperations,
} from './downloads/content.operations.js';
import { objectOperations, objectSchemas } from './objects/objects.operations.js';
import { recordSchemas } from './records/record-schemas.js';
import { RecordsController } from './records/records.controller.js';
import { recordOperations } from './records/records.operations.js';
import { savedQuery } from './saved-queries/saved-query.js';
import {
  SavedQueriesController,
  savedQueryOperations,
} from './saved-queries/saved-queries.controller.js';
import { SearchController, searchOperations, searchSchemas } from './search/search.controller.js';
import { ServiceController } from './service/service.controller.js';
import {
  MonitoringController,
  monitoringOperations,
  monitoringSchemas,
} from './service/monitoring.controller.js';
import { rootOperations, serviceOperations, serviceSchemas } from './service/service.operations.js';
import { cancelBody } from './jobs/job-view.js';
import { commitOperations } from './commits/commits.operations.js';
import { exportOperations } from './exports/exports.operations.js';
import { importOperations } from './imports/imports.operations.js';
import { migrationOperations } from './migrations/migrations.operations.js';
import { taskOperations } from './tasks/tasks.operations.js';
import { task } from './tasks/task.js';
import { TasksController } from './tasks/tasks.controller.js';
import { application, applicationSecret } from './applications/application.js';
import {
  ApplicationSecretsController,
  ApplicationsController,
  applicationOperations,
  applicationSecretOperations,
} from './applications/applications.controller.js';
import { AuthorizationController } from './oauth/authorization.controller.js';
import { OauthController } from './oauth/oauth.controller.js';
import {
  authorizationOperations,
  oauthOperations,
  oauthSchemas,
} from './oauth/oauth.operations.js';
import {
  PasswordsController,
  passwordOperations,
  passwordSchemas,
} from './passwords/passwords.controller.js';
import { token } from './tokens/token.js';
import { TokensController, tokenOperations } from './tokens/tokens.controller.js';
import {
  MultipartController,
  multipartOperations,
  multipartSchemas,
} from './uploads/multipart.controller.js';
import { UploadsController } from './uploads/uploads.controller.js';
import { newMemberBody } from './users/named-user.js';
import { createdUser, user, userSummary } from './shared/user.js';
import {
  DatasetTemplateController,
  datasetTemplateOperations,
} from './templates/dataset-template.controller.js';
import { template } from './templates/template.js';
import { TemplatesController, templateOperations } from './templates/templates.controller.js';
import {
  UsersController,
  currentUserOperations,
  userOperations,
} from './users/users.controller.js';
import {
  VaultSyncsController,
  vaultSyncOperations,
  vaultSyncSchemas,
} from './vaults/vault-syncs.controller.js';
import { PermissionsController, permissionOperations } from './vaults/permissions.controller.js';
import { permissionGrant, vaultPermission } from './vaults/vault-permission.js';
import { UsageController, usageOperations, usageSchemas } from './vaults/usage.controller.js';
import { vault, vaultSummary } from './shared/vault.js';
import { VaultsController, vaultOperations } from './vaults/vaults.controller.js';

/** The parts of a resource that are registered with the server. */
interface ResourceEntry {
  readonly controller: Type;
  readonly operations: readonly Readonly<Record<string, OperationRow>>[];
  /** The declarations whose schemas are part of the OpenAPI description. */
  readonly declarations?: readonly {
    readonly schema: NamedSchema;
    readonly createSchema: NamedSchema;
    readonly updateSchema: NamedSchema;
  }[];
  /** Further schemas of bodies and answers. */
  readonly schemas?: readonly NamedSchema[];
}

/** All resources of the interface. */
// prettier-ignore
const resources: readonly ResourceEntry[] = [
  { controller: ServiceController, operations: [rootOperations, serviceOperations], schemas: serviceSchemas },
  { controller: MonitoringController, operations: [monitoringOperations], schemas: monitoringSchemas },
  { controller: UsersController, operations: [currentUserOperations, userOperations], declarations: [user, createdUser, userSummary] },
  { controller: GroupsController, operations: [groupOperations], declarations: [group, groupSummary] },
  { controller: MembershipsController, operations: [membershipOperations, groupVaultOperations], declarations: [groupVault], schemas: [newMemberBody] },
  { controller: InvitationsController, operations: [invitationOperations], declarations: [invitation], schemas: [acceptanceBody] },
  { controller: AuditLogController, operations: [auditLogOperations], declarations: [auditEntry] },
  { controller: TokensController, operations: [tokenOperations], declarations: [token] },
  { controller: PasswordsController, operations: [passwordOperations], schemas: passwordSchemas },
  { controller: ApplicationsController, operations: [applicationOperations], declarations: [application] },
  { controller: ApplicationSecretsController, operations: [applicationSecretOperations], schemas: [applicationSecret.schema] },
  { controller: AuthorizationController, operations: [authorizationOperations] },
  { controller: OauthController, operations: [oauthOperations], schemas: oauthSchemas },
  { controller: VaultsController, operations: [vaultOperations], declarations: [vault, vaultSummary] },
  { controller: UsageController, operations: [usageOperations], schemas: usageSchemas },
  { controller: VaultSyncsController, operations: [vaultSyncOperations], schemas: vaultSyncSchemas },
  { controller: PermissionsController, operations: [permissionOperations], declarations: [vaultPermission], schemas: [permissionGrant] },
  { controller: ObjectsController, operations: [objectOperations], declarations: [object, objectSummary], schemas: objectSchemas },
  { controller: ObjectCopiesController, operations: [objectCopyOperations], declarations: [objectCopy] },
  { controller: FileVersionsController, operations: [fileVersionOperations], declarations: [fileVersion], schemas: [restoreVersionBody] },
  { controller: UploadsController, operations: [uploadOperations] },
  { controller: MultipartController, operations: [multipartOperations], schemas: multipartSchemas },
  { controller: DownloadsController, operations: [downloadOperations] },
  { controller: DatasetsController, operations: [datasetOperations], declarations: [dataset] },
  { controller: VerifyController, operations: [verifyOperations], schemas: verifySchemas },
  { controller: DiskUseController, operations: [diskUseOperations], schemas: diskUseSchemas },
  { controller: DatasetBeaconController, operations: [datasetBeaconOperations], schemas: datasetBeaconSchemas },
  { controller: ChangelogController, operations: [changelogOperations], schemas: changelogSchemas },
  { controller: RecordsController, operations: [recordOperations], schemas: recordSchemas },
  { controller: SearchController, operations: [searchOperations], schemas: searchSchemas },
  { controller: GlobalBeaconsController, operations: [globalBeaconOperations], declarations: [globalBeacon] },
  { controller: Ga4ghBeaconController, operations: [ga4ghBeaconOperations], schemas: ga4ghBeaconSchemas },
  { controller: FieldsController, operations: [fieldOperations], declarations: [field], schemas: [fieldCreate, fieldUpdate, targetField, fieldFacets] },
  { controller: ImportsController, operations: [importOperations], declarations: [importResource], schemas: [importChangeBody] },
  { controller: ExportsController, operations: [exportOperations], declarations: [exportResource], schemas: [signedDownload, exportProvenance] },
  { controller: MigrationsController, operations: [migrationOperations], declarations: [migrationResource], schemas: [createdMigrationSchema] },
  { controller: CommitsController, operations: [commitOperations], declarations: [commit], schemas: [rollbackBody, rollbackCheck] },
  { controller: SnapshotsController, operations: [snapshotOperations], declarations: [snapshotTask] },
  { controller: RestoresController, operations: [restoreOperations], declarations: [restoreTask] },
  { controller: TasksController, operations: [taskOperations], declarations: [task], schemas: [cancelBody] },
  { controller: SavedQueriesController, operations: [savedQueryOperations], declarations: [savedQuery] },
  { controller: TemplatesController, operations: [templateOperations], declarations: [template] },
  { controller: DatasetTemplateController, operations: [datasetTemplateOperations] },
  { controller: BeaconSetsController, operations: [beaconSetOperations], declarations: [beaconSet] },
  { controller: BeaconsController, operations: [beaconOperations], declarations: [beacon] },
  { controller: ExpressionsController, operations: [expressionOperations], schemas: expressionSchemas },
  { controller: BeaconQueriesController, operations: [beaconSetQueryOperations, beaconQueryOperations], schemas: beaconQuerySchemas },
];

/** Every controller of the interface. */
export const controllers = resources.map(({ controller }) => controller);

/** Every operation that this server serves, by id. */
export const operations: Readonly<Record<string, OperationRow>> = Object.fromEntries(
  resources.flatMap((entry) =>
    entry.operations.flatMap((rows) => Object.values(rows).map((row) => [row.id, row])),
  ),
);

const requestBodies = new Set(Object.values(operations).map(({ body }) => body));

/** Every schema of the OpenAPI description: those of answers, and those of bodies that operations have. */
export const schemas: readonly NamedSchema[] = resources.flatMap(
  ({ declarations = [], schemas: more = [] }) => [
    ...declarations.flatMap(({ schema, createSchema, updateSchema }) => [
      schema,
      ...[createSchema, updateSchema].filter((one) => requestBodies.has(one)),
    ]),
    ...more,
  ],
);
